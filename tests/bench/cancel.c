/* Runs: benchmarks. What it takes to end a tree of processes: as the first process of a bare PID namespace, and as a region.
 *
 *   cancel ROUNDS LETHE-COMMAND…   (without the program, which is this one: ROUNDS rounds of each size, in turns)
 *   cancel tree N                  (the tree: a process with N - 1 children that wait, each with some memory of its own)
 *
 * Bare: from SIGKILL for the namespace's first process until that is reaped, which is when the last one was; nobody traces, overwrites or records
 * anything. The region: from SIGTERM for `lethe run` until its process has ended: all of it overwritten, reaped, and recorded durably. */
#include "stats.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define WAITS_SEC 600      /* no tree is left over when this program is killed */
#define STANDS_USEC 100000 /* the tree does nothing for so long before it is ended */

extern char **environ;

static const struct {
        const char *n;
        size_t rounds_of; /* one round of so many that are asked for */
} sizes[] = {{"1", 1}, {"10", 1}, {"100", 2}, {"1000", 10}};

static _Noreturn void die(const char *what) {
        fprintf(stderr, "cancel: %s: %s\n", what, strerror(errno));
        exit(1);
}

static _Noreturn void wait_to_be_killed(void) {
        alarm(WAITS_SEC);
        for (;;)
                pause();
}

/* Says so when all of it is there. */
static int tree(size_t n) {
        char *own = malloc(4096), c;
        int there[2];

        if (!own || pipe2(there, O_CLOEXEC) < 0)
                return 1;
        for (size_t i = 1; i < n; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return 1;
                if (pid == 0) {
                        memset(own, 0x5a, 4096);
                        if (write(there[1], "x", 1) != 1)
                                _exit(1);
                        wait_to_be_killed();
                }
        }
        for (size_t i = 1; i < n; i++)
                if (read(there[0], &c, 1) != 1)
                        return 1;
        if (write(1, "x", 1) != 1)
                return 1;
        wait_to_be_killed();
}

static void await(int fd, const char *what) {
        char c;

        if (read(fd, &c, 1) != 1) {
                fprintf(stderr, "cancel: the tree did not come up: %s\n", what);
                exit(1);
        }
        close(fd);
        usleep(STANDS_USEC);
}

static int reap(pid_t pid) {
        int status;

        while (waitpid(pid, &status, 0) < 0)
                if (errno != EINTR)
                        die("waitpid");
        return status;
}

static void copy_of_self(char *ret, size_t n) {
        ssize_t k = readlink("/proc/self/exe", ret, n - 1);

        if (k < 0)
                die("/proc/self/exe");
        ret[k] = 0;
}

static uint64_t bare(const char *self, const char *n) {
        struct clone_args a = {.flags = CLONE_NEWPID, .exit_signal = SIGCHLD};
        uint64_t begun;
        int ready[2];
        pid_t pid;

        if (geteuid() != 0)
                a.flags |= CLONE_NEWUSER;
        if (pipe2(ready, O_CLOEXEC) < 0)
                die("pipe");
        pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
        if (pid < 0)
                die("clone3");
        if (pid == 0) {
                dup2(ready[1], 1);
                if (fork() == 0) {
                        execl(self, "cancel", "tree", n, (char *)NULL);
                        _exit(1);
                }
                close(1);
                close(ready[1]);
                wait_to_be_killed();
        }
        close(ready[1]);
        await(ready[0], "bare");
        begun = bench_nsec();
        kill(pid, SIGKILL);
        reap(pid);
        return bench_nsec() - begun;
}

static uint64_t region(char **command, const char *n) {
        posix_spawn_file_actions_t a;
        uint64_t begun;
        int ready[2], status;
        char **at = command;
        pid_t pid;

        while (*at)
                at++;
        at[-1] = (char *)n;
        if (pipe2(ready, O_CLOEXEC) < 0)
                die("pipe");
        posix_spawn_file_actions_init(&a);
        posix_spawn_file_actions_addopen(&a, 0, "/dev/null", O_RDONLY, 0);
        posix_spawn_file_actions_adddup2(&a, ready[1], 1);
        errno = posix_spawn(&pid, command[0], &a, NULL, command, environ);
        if (errno != 0)
                die(command[0]);
        posix_spawn_file_actions_destroy(&a);
        close(ready[1]);
        await(ready[0], command[0]);
        begun = bench_nsec();
        kill(pid, SIGTERM);
        status = reap(pid);
        begun = bench_nsec() - begun;
        if (!WIFEXITED(status) || WEXITSTATUS(status) != 128 + SIGTERM) {
                fprintf(stderr, "cancel: %s ended with wait status %d\n", command[0], status);
                exit(1);
        }
        return begun;
}

int main(int argc, char **argv) {
        char self[4096], **command;
        size_t asked;

        if (argc == 3 && strcmp(argv[1], "tree") == 0)
                return tree(strtoul(argv[2], NULL, 10));
        asked = argc > 2 ? strtoul(argv[1], NULL, 10) : 0;
        if (asked == 0) {
                fprintf(stderr, "usage: cancel ROUNDS LETHE-COMMAND...\n");
                return 2;
        }
        copy_of_self(self, sizeof(self));
        command = calloc((size_t)argc + 4, sizeof(*command));
        if (!command)
                die("calloc");
        memcpy(command, argv + 2, ((size_t)argc - 2) * sizeof(*command));
        command[argc - 2] = self;
        command[argc - 1] = "tree";
        command[argc] = "1";
        for (size_t s = 0; s < sizeof(sizes) / sizeof(*sizes); s++) {
                size_t rounds = asked / sizes[s].rounds_of < 3 ? 3 : asked / sizes[s].rounds_of;
                uint64_t *nsec[2] = {calloc(rounds, sizeof(uint64_t)), calloc(rounds, sizeof(uint64_t))};
                char name[64];

                if (!nsec[0] || !nsec[1])
                        die("calloc");
                for (size_t i = 0; i < rounds; i++) {
                        nsec[0][i] = bare(self, sizes[s].n);
                        nsec[1][i] = region(command, sizes[s].n);
                }
                for (int k = 0; k < 2; k++) {
                        snprintf(name, sizeof(name), "%s, %s", k == 0 ? "bare PID namespace" : "lethe run", sizes[s].n);
                        bench_print(name, nsec[k], rounds, 1);
                        free(nsec[k]);
                }
        }
        free(command);
        return 0;
}
