/* Runs: benchmarks. What overwriting a process's memory at its end costs: from the kill to the reaped process, plain and under lethe-guard.
 *
 *   scrub GUARD FOLDER ROUNDS
 *
 * The same process each time: a child that touched so many bytes of private memory, one page of 4 KiB after another, and waits. In turns:
 * killed and reaped by its parent; killed by the guard, overwritten, read back, and reaped; the same with three passes. Beside it the
 * time of one memset over as many bytes that are in memory already. FOLDER is an empty one for what the guard wants to be told about. */
#include "stats.h"

#include "schema/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#define TIER_BENCH 2U /* as for a region with namespaces: the child is our own, so that the guard may trace it */

typedef enum Way {
        PLAIN,
        ZERO,
        MULTIPASS,
        MEMSET,
        WAYS,
} Way;

static const char *const way_name[WAYS] = {"plain", "zero", "multipass", "memset"};

static const struct {
        const char *name;
        size_t bytes;
        size_t rounds_of; /* one round of so many that are asked for */
} sizes[] = {
        {"0.2 MB", 200UL << 10, 1},
        {"10 MB", 10UL << 20, 1},
        {"100 MB", 100UL << 20, 5},
        {"1 GB", 1UL << 30, 40},
};

extern char **environ;

static _Noreturn void die(const char *what) {
        fprintf(stderr, "scrub: %s: %s\n", what, strerror(errno));
        exit(1);
}

/* `scrub child BYTES`: holds so many bytes, says so on standard output, and waits to be killed. */
static int child(size_t bytes) {
        char *m = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (m == MAP_FAILED || madvise(m, bytes, MADV_NOHUGEPAGE) < 0)
                return 1;
        for (size_t i = 0; i < bytes; i += 4096)
                memset(m + i, 0x5a, 4096);
        if (write(1, "x", 1) != 1)
                return 1;
        for (;;)
                pause();
}

/* Executed, as a program in a region is: pages in common by fork with this process would be no region's. */
static pid_t child_make(size_t bytes) {
        char size[32], c;
        int ready[2];
        pid_t pid;

        snprintf(size, sizeof(size), "%zu", bytes);
        if (pipe2(ready, O_CLOEXEC) < 0 || (pid = fork()) < 0)
                die("fork");
        if (pid == 0) {
                if (dup2(ready[1], 1) == 1)
                        execl("/proc/self/exe", "scrub", "child", size, (char *)NULL);
                _exit(1);
        }
        close(ready[1]);
        if (read(ready[0], &c, 1) != 1)
                die("the child did not come up");
        close(ready[0]);
        return pid;
}

static void reap(pid_t pid) {
        while (waitpid(pid, NULL, 0) < 0)
                if (errno != EINTR)
                        die("waitpid");
}

typedef struct Guard {
        pid_t pid;
        int control;
        GuardEvidence *evidence;
} Guard;

static Guard guard_start(const char *program) {
        int control[2], page;
        posix_spawn_file_actions_t a;
        Guard g = {};
        char *argv[] = {"lethe-guard", NULL};

        page = memfd_create("evidence", MFD_CLOEXEC);
        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, control) < 0 || page < 0 || ftruncate(page, sizeof(GuardEvidence)) < 0)
                die("guard");
        g.evidence = mmap(NULL, sizeof(GuardEvidence), PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
        g.control = control[0];
        /* Out of the way of the numbers that they get. */
        control[1] = fcntl(control[1], F_DUPFD_CLOEXEC, 10);
        page = fcntl(page, F_DUPFD_CLOEXEC, 10);
        posix_spawn_file_actions_init(&a);
        for (int i = 0; i < 3; i++)
                posix_spawn_file_actions_addopen(&a, i, "/dev/null", O_RDWR, 0);
        posix_spawn_file_actions_adddup2(&a, control[1], GUARD_FD_CONTROL);
        posix_spawn_file_actions_adddup2(&a, page, GUARD_FD_EVIDENCE);
        errno = posix_spawn(&g.pid, program, &a, NULL, argv, environ);
        if (errno != 0 || g.evidence == MAP_FAILED)
                die(program);
        posix_spawn_file_actions_destroy(&a);
        close(control[1]);
        close(page);
        return g;
}

static void expect(const Guard *g, GuardKind kind) {
        GuardAnswer a = {};

        if (recv(g->control, &a, sizeof(a), 0) != sizeof(a) || a.kind != kind || a.error != 0) {
                fprintf(stderr, "scrub: the guard answered %u, error %d, in place of %d\n", a.kind, a.error, (int)kind);
                exit(1);
        }
}

static void order(const Guard *g, GuardKind kind) {
        GuardOrder o = {.version = GUARD_VERSION, .kind = kind};

        if (send(g->control, &o, sizeof(o), 0) != sizeof(o))
                die("send");
}

static void attach(const Guard *g, pid_t program, unsigned passes, const char *folder) {
        GuardOrder o = {.version = GUARD_VERSION, .kind = GUARD_ATTACH, .passes = passes, .tier = TIER_BENCH, .init = getpid(), .program = program,
                        .region = "bench"};
        int fds[GUARD_ATTACH_FDS];
        union {
                struct cmsghdr h;
                char room[CMSG_SPACE(sizeof(fds))];
        } control = {};
        struct iovec iov = {&o, sizeof(o)};
        struct msghdr m = {.msg_iov = &iov, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        char lock[4096];

        snprintf(lock, sizeof(lock), "%s/lock", folder);
        fds[GUARD_ATTACH_LOCK] = open(lock, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        fds[GUARD_ATTACH_RUN] = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        fds[GUARD_ATTACH_SPEC] = memfd_create("spec", MFD_CLOEXEC);
        fds[GUARD_ATTACH_SCRATCH] = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        control.h = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof(fds)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.h), fds, sizeof(fds));
        if (sendmsg(g->control, &m, 0) != sizeof(o))
                die("sendmsg");
        for (size_t i = 0; i < GUARD_ATTACH_FDS; i++)
                close(fds[i]);
        expect(g, GUARD_ATTACHED);
}

static uint64_t under_guard(const char *program, const char *folder, size_t bytes, unsigned passes) {
        Guard g = guard_start(program);
        pid_t pid = child_make(bytes);
        uint64_t begun, took;

        attach(&g, pid, passes, folder);
        begun = bench_nsec();
        order(&g, GUARD_FREEZE);
        expect(&g, GUARD_FROZEN);
        order(&g, GUARD_SCRUB);
        expect(&g, GUARD_EMPTY);
        reap(pid);
        took = bench_nsec() - begun;
        if (g.evidence->bytes_verified < bytes || g.evidence->bytes_verified != g.evidence->bytes_held) {
                fprintf(stderr, "scrub: of %llu bytes held, %llu were overwritten and read back; missed:", (unsigned long long)g.evidence->bytes_held,
                        (unsigned long long)g.evidence->bytes_verified);
                for (size_t i = 0; i < GUARD_MISSED_COUNT; i++)
                        fprintf(stderr, " %llu", (unsigned long long)g.evidence->bytes_missed[i]);
                fprintf(stderr, "\n");
                exit(1);
        }
        order(&g, GUARD_DONE);
        reap(g.pid);
        close(g.control);
        munmap(g.evidence, sizeof(GuardEvidence));
        return took;
}

static uint64_t once(Way way, const char *guard, const char *folder, size_t bytes, void *warm) {
        uint64_t begun;
        pid_t pid;

        switch (way) {
        case PLAIN:
                pid = child_make(bytes);
                begun = bench_nsec();
                kill(pid, SIGKILL);
                reap(pid);
                return bench_nsec() - begun;
        case MEMSET:
                begun = bench_nsec();
                memset(warm, (int)begun, bytes);
                __asm__ volatile("" : : "r"(warm) : "memory");
                return bench_nsec() - begun;
        case ZERO:
                return under_guard(guard, folder, bytes, 1);
        case MULTIPASS:
                return under_guard(guard, folder, bytes, 3);
        case WAYS:
                break;
        }
        abort();
}

int main(int argc, char **argv) {
        size_t asked;

        if (argc == 3 && strcmp(argv[1], "child") == 0)
                return child(strtoul(argv[2], NULL, 10));
        asked = argc == 4 ? strtoul(argv[3], NULL, 10) : 0;

        if (asked == 0) {
                fprintf(stderr, "usage: scrub GUARD FOLDER ROUNDS\n");
                return 2;
        }
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
                size_t rounds = asked / sizes[s].rounds_of < 3 ? 3 : asked / sizes[s].rounds_of, bytes = sizes[s].bytes;
                uint64_t *nsec[WAYS];

                for (Way w = 0; w < WAYS; w++)
                        if (!(nsec[w] = calloc(rounds, sizeof(uint64_t))))
                                die("calloc");
                for (size_t i = 0; i < rounds; i++)
                        for (Way k = 0; k < WAYS; k++) {
                                Way w = (k + i) % WAYS;
                                void *warm = NULL;

                                /* Only while it is measured: memory of ours would be shared with the child, and cost its fork. */
                                if (w == MEMSET) {
                                        warm = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE, -1, 0);
                                        if (warm == MAP_FAILED)
                                                die("mmap");
                                }
                                nsec[w][i] = once(w, argv[1], argv[2], bytes, warm);
                                if (warm)
                                        munmap(warm, bytes);
                        }
                for (Way w = 0; w < WAYS; w++) {
                        char name[64];

                        snprintf(name, sizeof(name), "%s, %s", way_name[w], sizes[s].name);
                        bench_print(name, nsec[w], rounds, 1);
                        free(nsec[w]);
                }
        }
        return 0;
}
