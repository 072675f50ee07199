/* Fills memory with a secret in one way, and ends in one way: `prey WAY [ARGUMENT]` is traced itself; `prey keep WAY` stays out of the trace
 * and has a task made that shares its memory and is traced, so that the test can look at the memory after that task's end.
 * Says "PID\n" of the task to be traced, waits for a byte, then acts. */
#include "tests/support/hidden.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define MB (1024UL * 1024)

static volatile uint64_t half = 0x5ec2e7a1;
static const char *self;

static void plant(void *p, size_t n) {
        uint64_t secret = half << 32 | 0x0badcafe;

        for (size_t i = 0; i < n / 8; i++)
                ((volatile uint64_t *)p)[i] = secret;
}

static char *area(size_t n, int protection, int flags) {
        char *p = mmap(NULL, n, protection, MAP_ANONYMOUS | flags, -1, 0);

        if (p == MAP_FAILED)
                _exit(90);
        return p;
}

static char *planted(size_t n) {
        char *p = area(n, PROT_READ | PROT_WRITE, MAP_PRIVATE);

        plant(p, n);
        return p;
}

static void wait_go(void) {
        char c;

        while (read(0, &c, 1) != 1)
                ;
}

static void say(long n) {
        dprintf(1, "%ld\n", n);
}

static void *thread_pause(void *arg) {
        char stack[4096];

        plant(stack, sizeof(stack));
        for (;;)
                pause();
        return NULL;
}

static void *thread_spin(void *arg) {
        planted(64 * 1024);
        for (;;)
                ;
        return NULL;
}

static void threads(int n, void *(*f)(void *)) {
        pthread_t t;

        while (n-- > 0)
                pthread_create(&t, NULL, f, NULL);
}

static void *thread_ends(void *arg) {
        usleep(20000);
        planted(MB);
        syscall(SYS_exit_group, 7);
        return NULL;
}

/* --- what is done, and how it ends */

static void way_exit(const char *arg) {
        plant((char *)sbrk(256 * 1024), 256 * 1024);
        planted(256 * 1024);
}

static void way_segv(const char *arg) {
        planted(MB);
        *(volatile int *)8 = 1;
}

static void way_abort(const char *arg) {
        planted(MB);
        abort();
}

static void way_cpu(const char *arg) {
        struct rlimit r = {1, 1};

        planted(MB);
        setrlimit(RLIMIT_CPU, &r);
        for (;;)
                ;
}

static void way_wait(const char *arg) {
        planted(MB);
        say(0);
        for (;;)
                pause();
}

static void way_spin(const char *arg) {
        planted(MB);
        threads(4, thread_spin);
        say(0);
        for (;;)
                ;
}

static void way_stop(const char *arg) {
        planted(MB);
        say(0);
        raise(SIGSTOP);
        say(1);
}

static void on_user(int signal) {
        say(signal);
}

static void way_signal(const char *arg) {
        struct sigaction a = {.sa_handler = on_user};

        sigaction(SIGUSR1, &a, NULL);
        sigaction(SIGTRAP, &a, NULL);
        raise(SIGUSR1);
        raise(SIGTRAP);
        planted(MB);
}

static void way_threads(const char *arg) {
        planted(MB);
        threads(5, thread_pause);
        usleep(10000);
}

static void way_leader(const char *arg) {
        threads(1, thread_ends);
        syscall(SYS_exit, 0);
}

static void way_protect(const char *arg) {
        mprotect(planted(MB), MB, PROT_NONE);
        mprotect(planted(MB), MB, PROT_READ);
        mprotect(planted(MB), MB, PROT_READ | PROT_EXEC);
}

static void way_lock(const char *arg) {
        mlock(planted(512 * 1024), 512 * 1024);
}

static void way_huge(const char *arg) {
        char *p = area(8 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE);

        madvise(p, 8 * MB, MADV_HUGEPAGE);
        plant(p, 8 * MB);
}

/* Huge pages that a child has in common, when both have written to other parts of them. */
static void way_huge_fork(const char *arg) {
        char *p = area(16 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE), c;
        int there[2], end[2];

        if (pipe(there) < 0 || pipe(end) < 0)
                _exit(91);
        madvise(p, 16 * MB, MADV_HUGEPAGE);
        plant(p, 16 * MB);
        for (int child = 0; child < 2; child++)
                if (fork() == 0) {
                        for (size_t at = 0; at < 16 * MB; at += 64 * 1024)
                                plant(p + at, 4096);
                        close(end[1]);
                        if (write(there[1], "x", 1) != 1)
                                _exit(92);
                        _exit(read(end[0], &c, 1) != 0);
                }
        for (int child = 0; child < 2; child++)
                if (read(there[0], &c, 1) != 1)
                        _exit(93);
        for (size_t at = 32 * 1024; at < 16 * MB; at += 64 * 1024)
                plant(p + at, 4096);
        close(end[1]);
        while (wait(NULL) > 0)
                ;
}

/* Addresses without memory: far more than can be looked at one by one. */
static void way_reserve(const char *arg) {
        char *p = mmap(NULL, 64UL << 40, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
                _exit(90);
        mprotect(p + (5UL << 40), MB, PROT_READ | PROT_WRITE);
        plant(p + (5UL << 40), MB);
        planted(MB);
}

static void way_areas(const char *arg) {
        for (int i = 0; i < 10000; i++) {
                char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        break;
                plant(p, 4096);
                mprotect(p + 4096, 4096, PROT_NONE);
        }
}

static void way_big(const char *arg) {
        planted((size_t)atol(arg) * MB);
}

static void way_zero_page(const char *arg) {
        volatile char *p = area(MB, PROT_READ | PROT_WRITE, MAP_PRIVATE);
        int sum = 0;

        for (size_t i = 0; i < MB; i += 4096)
                sum += p[i];
        planted(64 * 1024 + (size_t)sum);
}

/* Pages in common with children, of which some are written by each. */
static void way_fork(const char *arg) {
        char *p = planted(2 * MB);

        for (int i = 0; i < atoi(arg); i++)
                if (fork() == 0) {
                        plant(p + i % 16 * 65536, 65536);
                        plant(sbrk(65536), 65536);
                        _exit(0);
                }
        plant(p + MB, 64 * 1024);
        while (wait(NULL) > 0)
                ;
}

/* The parent ends first. */
static void way_orphan(const char *arg) {
        planted(2 * MB);
        if (fork() == 0) {
                usleep(30000);
                _exit(0);
        }
}

/* Should nobody end it, it ends by itself: a machine that nothing else can run on helps no test. */
/* Twins have pages in common that their parent has no more; one of them has shared memory of its own, the other one a pipe that nobody reads, in
 * the place of one that all others have. */
static void way_twins(const char *arg) {
        int n = atoi(arg), all[2];

        if (pipe(all) < 0)
                _exit(91);
        for (int i = 0; i < n; i++) {
                char *both = planted(2 * MB);

                for (int twin = 0; twin < 2; twin++)
                        if (fork() == 0) {
                                if (twin == 0)
                                        plant(area(MB / 16, PROT_READ | PROT_WRITE, MAP_SHARED), MB / 16);
                                else {
                                        close(all[0]);
                                        close(all[1]);
                                        if (pipe(all) < 0 || write(all[1], both, 4096) != 4096)
                                                _exit(92);
                                }
                                say(0);
                                for (;;)
                                        pause();
                        }
                munmap(both, 2 * MB);
        }
        for (;;)
                pause();
}

static void way_storm(const char *arg) {
        char *made = area(4096, PROT_READ | PROT_WRITE, MAP_SHARED);
        time_t deadline = time(NULL) + 20;

        planted(64 * 1024);
        say(0);
        while (time(NULL) < deadline)
                if (__atomic_load_n((int *)made, __ATOMIC_RELAXED) >= atoi(arg) ||
                    __atomic_add_fetch((int *)made, 1, __ATOMIC_RELAXED) > atoi(arg) || fork() < 0)
                        usleep(1000);
}

static void way_exec(const char *arg) {
        char next[16];
        int n = atoi(arg);

        plant(sbrk(64 * 1024), 64 * 1024);
        snprintf(next, sizeof(next), "%d", n - 1);
        if (n > 0)
                execl(self, self, "again", "exec", next, NULL);
}

static void way_vfork(const char *arg) {
        char next[16];
        int n = atoi(arg);

        planted(64 * 1024);
        snprintf(next, sizeof(next), "%d", n - 1);
        for (int i = 0; i < 3; i++) {
                pid_t pid = vfork();

                if (pid == 0) {
                        if (n > 0 && i > 0)
                                execl(self, self, "again", "vfork", next, NULL);
                        _exit(0);
                }
                waitpid(pid, NULL, 0);
        }
        if (((volatile uint64_t *)planted(8192))[0] >> 32 != half)
                _exit(91);
}

static void *thread_exec(void *arg) {
        usleep(5000);
        execl(self, self, "again", "exit", "", NULL);
        return NULL;
}

static void way_thread_exec(const char *arg) {
        planted(64 * 1024);
        threads(3, thread_pause);
        threads(1, thread_exec);
        for (;;)
                pause();
}

/* A child of vfork(2) executes something when it is told to. */
static void way_told(const char *arg) {
        pid_t pid;

        planted(MB);
        pid = vfork();
        if (pid == 0) {
                say(getpid());
                wait_go();
                execl(self, self, "again", "wait", "", NULL);
                _exit(97);
        }
        waitpid(pid, NULL, 0);
        way_wait(arg);
}

static int locked = -1;

static void *thread_locks(void *arg) {
        char path[32];

        snprintf(path, sizeof(path), "/proc/self/fd/%d", locked);
        say(syscall(SYS_gettid));
        flock(open(path, O_RDWR), LOCK_EX);
        return NULL;
}

/* A thread waits in a call that may be the last to hold a file. */
static void way_locks(const char *arg) {
        planted(MB);
        locked = (int)syscall(SYS_memfd_create, "locked", 0);
        if (flock(locked, LOCK_EX) < 0)
                _exit(98);
        threads(1, thread_locks);
        for (;;)
                pause();
}

static void way_shared(const char *arg) {
        char *p = area(MB, PROT_READ | PROT_WRITE, MAP_SHARED);

        plant(p, MB);
        for (int i = 0; i < atoi(arg); i++)
                if (fork() == 0) {
                        plant(p + 4096, 4096);
                        _exit(0);
                }
        while (wait(NULL) > 0)
                ;
        for (size_t i = 0; i < MB; i += 8)
                if (*(uint64_t *)(p + i) != (half << 32 | 0x0badcafe))
                        _exit(92);
}

/* Its last pages are in no page table of the one that ends last. */
static void way_shared_absent(const char *arg) {
        char *p = area(MB, PROT_READ | PROT_WRITE, MAP_SHARED);

        if (fork() == 0) {
                plant(p, MB);
                _exit(0);
        }
        while (wait(NULL) > 0)
                ;
        mprotect(p, MB, arg[0] == 'r' ? PROT_READ : PROT_READ | PROT_WRITE);
}

/* Five pages of many, written by a process that has ended: in no page table, and so are all those that nobody ever touched. */
static void way_shared_sparse(const char *arg) {
        static const size_t pages[] = {0, 1, 17, 5000, 64 * MB / 4096 - 1};
        char *p = area(64 * MB, PROT_READ | PROT_WRITE, MAP_SHARED);

        if (fork() == 0) {
                for (size_t i = 0; i < sizeof(pages) / sizeof(*pages); i++)
                        plant(p + pages[i] * 4096, 4096);
                _exit(0);
        }
        while (wait(NULL) > 0)
                ;
}

static void way_file(const char *arg) {
        int fd = open(arg, O_RDWR | O_CREAT | O_TRUNC, 0600);
        char *p;

        if (fd < 0 || ftruncate(fd, MB) < 0)
                _exit(93);
        p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        plant(p, MB);
        unlink(arg);
        fchmod(fd, 0);
        munmap(p, MB);
        if (fork() == 0) {
                usleep(20000);
                p = mmap(NULL, MB, PROT_READ, MAP_SHARED, fd, 0);
                if (*(uint64_t *)p != (half << 32 | 0x0badcafe))
                        _exit(94);
                _exit(0);
        }
}

/* A child has a deleted file in the queue of a socket that only it has, and ends first. */
static void way_sent(const char *arg) {
        char *p;
        int s[2], fd;

        if (fork() == 0) {
                fd = open(arg, O_RDWR | O_CREAT | O_TRUNC, 0600);
                if (fd < 0 || ftruncate(fd, MB) < 0)
                        _exit(93);
                p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
                plant(p, MB);
                munmap(p, MB);
                unlink(arg);
                if (hidden_in_queue(fd, 0, s) < 0)
                        _exit(94);
                close(fd);
                _exit(0);
        }
        while (wait(NULL) > 0)
                ;
}

static void way_file_kept(const char *arg) {
        int fd = open(arg, O_RDWR | O_CREAT | O_TRUNC, 0600);
        char *p;

        if (fd < 0 || ftruncate(fd, MB) < 0)
                _exit(93);
        p = mmap(NULL, MB, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
        plant(p, MB);
}

/* The traced child shares pages with this process, which stays out of the trace and keeps them. */
static void way_outside(const char *arg) {
        char *p = planted(MB);
        int end[2];
        char c;
        pid_t pid;

        if (pipe(end) < 0)
                _exit(95);
        pid = fork();
        if (pid == 0) {
                wait_go();
                plant(p, 64 * 1024); /* these become the child's own */
                _exit(0);
        }
        say(pid);
        close(end[1]);
        while (read(end[0], &c, 1) != 0 || waitpid(pid, NULL, 0) < 0)
                ;
        for (size_t i = 0; i < MB; i += 8)
                if (*(uint64_t *)(p + i) != (half << 32 | 0x0badcafe))
                        _exit(96);
        say(pid);
        for (;;)
                pause();
}

static void way_register(const char *arg) {
        say(0);
        for (;;) {
#if defined(__x86_64__)
                uint64_t secret = half << 32 | 0x0badcafe;

                __asm__ volatile("movq %0, %%xmm5; movq %0, %%r12; 1: pause; jmp 1b" : : "r"(secret) : "xmm5", "r12");
#endif
        }
}

static const struct {
        const char *name;
        void (*act)(const char *arg);
} ways[] = {
        {"exit", way_exit},     {"segv", way_segv},       {"abort", way_abort},   {"cpu", way_cpu},       {"wait", way_wait},
        {"spin", way_spin},     {"stop", way_stop},       {"signal", way_signal}, {"threads", way_threads}, {"leader", way_leader},
        {"protect", way_protect}, {"lock", way_lock},     {"huge", way_huge},     {"areas", way_areas},   {"big", way_big},
        {"zero-page", way_zero_page}, {"fork", way_fork}, {"orphan", way_orphan}, {"storm", way_storm}, {"twins", way_twins},   {"exec", way_exec},
        {"vfork", way_vfork},   {"thread-exec", way_thread_exec}, {"told", way_told}, {"locks", way_locks}, {"shared", way_shared}, {"shared-absent", way_shared_absent}, {"shared-sparse", way_shared_sparse},
        {"file", way_file},     {"file-kept", way_file_kept}, {"sent", way_sent}, {"register", way_register}, {"huge-fork", way_huge_fork}, {"reserve", way_reserve},
};

static const char *way, *argument;

static int act(void *unused) {
        wait_go();
        for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
                if (strcmp(way, ways[i].name) == 0) {
                        ways[i].act(argument);
                        syscall(SYS_exit_group, 0);
                }
        return 89;
}

int main(int argc, char **argv) {
        int keep = argc > 2 && strcmp(argv[1], "keep") == 0, again = argc > 2 && strcmp(argv[1], "again") == 0;

        self = "/proc/self/exe";
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        way = argv[1 + (keep || again)];
        argument = argc > 2 + (keep || again) ? argv[2 + (keep || again)] : "";
        if (again) {
                for (size_t i = 0; i < sizeof(ways) / sizeof(ways[0]); i++)
                        if (strcmp(way, ways[i].name) == 0)
                                ways[i].act(argument);
                return 0;
        }
        if (strcmp(way, "outside") == 0)
                way_outside(argument);
        if (!keep) {
                say(getpid());
                return act(NULL);
        }
        say(clone(act, area(256 * 1024, PROT_READ | PROT_WRITE, MAP_PRIVATE) + 256 * 1024, CLONE_VM | SIGCHLD, NULL));
        for (;;) /* nothing but a system call: its own memory is overwritten, too */
                syscall(SYS_ppoll, NULL, 0, NULL, NULL, 0);
}
