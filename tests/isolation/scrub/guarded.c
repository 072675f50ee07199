#include "tests/isolation/scrub/guarded.h"

#include "scrub/scan.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define USER 65534

uid_t guarded_uid;
bool guarded_without_scan;
pid_t guarded_init;

void guarded_lose_scan(void) {
        struct sock_filter f[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 0, 3),
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[1])),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 0xc0606610, 0, 1), /* PAGEMAP_SCAN */
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOTTY),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog prog = {ARRAY_SIZE(f), f};

        if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
                _exit(121);
}

gid_t guarded_gid(void) {
        return geteuid() == 0 ? USER : getegid();
}

bool guarded_user(int i) {
        guarded_uid = i == 0 ? geteuid() : USER;
        return i == 0 || (i == 1 && geteuid() == 0);
}

/* Returns false when that user cannot be had. */
static bool become(void) {
        return geteuid() != 0 || guarded_uid == 0 ||
               (setgroups(0, NULL) == 0 && setresgid(USER, USER, USER) == 0 && setresuid(guarded_uid, guarded_uid, guarded_uid) == 0);
}

static pid_t start(const char *path, const char *const *args, const int *fds, size_t n, bool scan) {
        char *argv[8] = {(char *)path};
        pid_t pid;

        for (size_t i = 0; args && args[i]; i++)
                argv[i + 1] = (char *)args[i];
        pid = fork();
        if (pid == 0) {
                int copies[8];

                for (size_t i = 0; i < n; i++)
                        copies[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 50);
                for (size_t i = 0; i < n; i++)
                        if (dup2(copies[i], (int)i) < 0)
                                _exit(120);
                if (!scan)
                        guarded_lose_scan();
                if (!become())
                        _exit(122);
                execv(path, argv);
                _exit(127);
        }
        return pid;
}

static void start_guard(Guarded *g) {
        int sockets[2], null = open("/dev/null", O_RDWR | O_CLOEXEC);

        g->evidence_fd = memfd_create("evidence", MFD_CLOEXEC);
        cr_assert(g->evidence_fd >= 0 && ftruncate(g->evidence_fd, sizeof(GuardEvidence)) == 0);
        g->evidence = mmap(NULL, sizeof(GuardEvidence), PROT_READ | PROT_WRITE, MAP_SHARED, g->evidence_fd, 0);
        cr_assert(g->evidence != MAP_FAILED);
        cr_assert(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) == 0);
        g->control = sockets[0];
        g->guard = start(getenv("LETHE_GUARD"), NULL, (int[]){null, null, null, sockets[1], g->evidence_fd}, 5, !guarded_without_scan);
        close(sockets[1]);
        close(null);
}

static void attach(Guarded *g, unsigned flags, unsigned passes, unsigned tier) {
        GuardOrder o = {.version = GUARD_VERSION, .kind = GUARD_ATTACH, .flags = flags, .passes = passes, .tier = tier,
                        .init = guarded_init, .program = g->traced};
        int fds[GUARD_ATTACH_FDS] = {g->lock, g->run, g->spec, g->scratch};
        size_t n = g->scratch >= 0 ? GUARD_ATTACH_FDS : GUARD_ATTACH_SCRATCH;
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(fds))];
        } control = {};
        struct iovec v = {&o, sizeof(o)};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        snprintf(o.region, sizeof(o.region), "%s", g->region);
        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        memcpy(CMSG_DATA(c), fds, n * sizeof(int));
        cr_assert(sendmsg(g->control, &m, MSG_NOSIGNAL) == sizeof(o));
}

void guarded_hear(Guarded *g, char *line, size_t n) {
        size_t at = 0;

        for (char c = 0; c != '\n';) {
                struct pollfd p = {.fd = g->said, .events = POLLIN};

                cr_assert(poll(&p, 1, 30000) == 1, "the prey says nothing");
                cr_assert(read(g->said, &c, 1) == 1, "the prey is gone");
                if (at + 1 < n)
                        line[at++] = c;
        }
        line[at] = 0;
}

void guarded_await_call(pid_t pid, long call) {
        char path[64], text[32] = "";

        snprintf(path, sizeof(path), "/proc/%d/syscall", (int)pid);
        for (int i = 0; text[0] < '0' || text[0] > '9' || atol(text) != call; i++) {
                int fd = open(path, O_RDONLY | O_CLOEXEC);

                cr_assert(fd >= 0 && read(fd, text, sizeof(text) - 1) > 0, "%s", path);
                close(fd);
                cr_assert(i < 60000, "process %d does not come to call %ld", (int)pid, call);
                usleep(1000);
        }
}

static void take_lock(Guarded *g) {
        char path[300];

        snprintf(path, sizeof(path), "%s/lock", g->run_path);
        g->lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
        cr_assert(g->lock >= 0 && flock(g->lock, LOCK_EX | LOCK_NB) == 0);
}

static void start_prey(Guarded *g, unsigned flags, unsigned passes, unsigned tier, const char *const *args) {
        int in[2], out[2];
        char line[32];

        cr_assert(pipe2(in, O_CLOEXEC) == 0 && pipe2(out, O_CLOEXEC) == 0);
        g->prey = start(getenv("LETHE_PREY"), args, (int[]){in[0], out[1], 2}, 3, true);
        g->go = in[1];
        g->said = out[0];
        close(in[0]);
        close(out[1]);
        guarded_hear(g, line, sizeof(line));
        g->traced = atoi(line);
        cr_assert(g->traced > 0);
        if (strcmp(args[0], "keep") == 0)
                guarded_await_call(g->prey, SYS_ppoll); /* its own stack is overwritten, too: it must be in the one call that it makes from then on */
        attach(g, flags, passes, tier);
        close(g->lock);
        g->lock = -1;
        guarded_expect(g, GUARD_ATTACHED);
}

static void end_prey(Guarded *g) {
        kill(g->prey, SIGKILL);
        waitpid(g->prey, NULL, 0);
        close(g->go);
        close(g->said);
}

void guarded_start(Guarded *g, unsigned flags, unsigned passes, unsigned tier, int scratch, const char *const *args) {
        *g = (Guarded){.scratch = scratch, .region = "r-test", .spec = memfd_create("spec", MFD_CLOEXEC | MFD_ALLOW_SEALING)};
        cr_assert(g->spec >= 0 && write(g->spec, GUARDED_SPEC, sizeof(GUARDED_SPEC)) == sizeof(GUARDED_SPEC) &&
                  fcntl(g->spec, F_ADD_SEALS, F_SEAL_SEAL | F_SEAL_SHRINK | F_SEAL_GROW) == 0);
        snprintf(g->run_path, sizeof(g->run_path), "%s/run-XXXXXX", getenv("TMPDIR") ?: "/tmp");
        cr_assert(mkdtemp(g->run_path) != NULL);
        g->run = open(g->run_path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        if (geteuid() == 0)
                cr_assert(fchown(g->run, guarded_uid, guarded_gid()) == 0);
        take_lock(g);
        start_guard(g);
        start_prey(g, flags, passes, tier, args);
}

void guarded_next(Guarded *g, const char *region, const char *const *args) {
        end_prey(g);
        g->region = region;
        take_lock(g);
        start_prey(g, 0, 1, 2, args);
}

void guarded_again(Guarded *g) {
        const GuardOrder o = {.version = GUARD_VERSION, .kind = GUARD_DONE, .flags = GUARD_AGAIN};

        cr_assert(send(g->control, &o, sizeof(o), MSG_NOSIGNAL) == sizeof(o));
}

void guarded_go(Guarded *g) {
        cr_assert(write(g->go, "g", 1) == 1);
}

void guarded_order(Guarded *g, GuardKind kind) {
        const GuardOrder o = {.version = GUARD_VERSION, .kind = kind};

        cr_assert(send(g->control, &o, sizeof(o), MSG_NOSIGNAL) == sizeof(o));
}

int guarded_expect(Guarded *g, GuardKind kind) {
        struct pollfd p = {.fd = g->control, .events = POLLIN};
        GuardAnswer a;

        cr_assert(poll(&p, 1, 30000) == 1, "the guard does not say %d", kind);
        cr_assert(recv(g->control, &a, sizeof(a), 0) == sizeof(a), "the guard is gone, not %d", kind);
        cr_assert(a.version == GUARD_VERSION && a.kind == kind && a.error == 0, "the guard says %u (error %d), not %u", a.kind, a.error, kind);
        return a.code;
}

void guarded_end(Guarded *g) {
        int status;

        if (g->control >= 0) {
                guarded_order(g, GUARD_DONE);
                close(g->control);
        }
        if (g->guard > 0)
                cr_assert(waitpid(g->guard, &status, 0) == g->guard && status == 0, "the guard ends with %x", status);
        end_prey(g);
        close(g->run);
        close(g->spec);
}

uint64_t guarded_secrets(pid_t pid) {
        uint64_t secret = PREY_SECRET, n = 0, buffer[512];
        char path[64];
        PageScan s = {};
        int fd;

        cr_assert(scan_begin(&s, pid) == 0);
        snprintf(path, sizeof(path), "/proc/%d/mem", (int)pid);
        fd = open(path, O_RDONLY | O_CLOEXEC);
        cr_assert(fd >= 0);
        for (size_t i = 0; i < s.n_areas; i++)
                for (uint64_t at = s.areas[i].start; !(s.areas[i].flags & AREA_KERNEL) && at < s.areas[i].end; at += sizeof(buffer)) {
                        ssize_t k = pread(fd, buffer, sizeof(buffer), (off_t)at);

                        for (ssize_t w = 0; w < k / 8; w++)
                                n += buffer[w] == secret;
                }
        close(fd);
        scan_deinit(&s);
        return n;
}

uint64_t guarded_missed(const Guarded *g) {
        uint64_t n = g->evidence->processes_missed;

        for (size_t i = 0; i < GUARD_MISSED_COUNT; i++)
                n += g->evidence->bytes_missed[i];
        return n;
}

bool guarded_has_scan(void) {
        PageScan s = {};
        bool has;

        cr_assert(scan_begin(&s, getpid()) == 0 && scan_private(&s, 0, UINT64_MAX) == 0);
        has = !s.no_ioctl;
        scan_deinit(&s);
        return has;
}
