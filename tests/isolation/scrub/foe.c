/* A program that is hostile to whoever overwrites its memory at its end: `foe WAY [NUMBER]`. Each way fills memory with a secret and ends, or
 * says "ready" and waits for its end. Ends 9 when something worked that must not. */
#include "foe.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/uio.h>

#ifndef SYS_memfd_secret
#define SYS_memfd_secret 447
#endif
#ifndef SYS_mseal
#define SYS_mseal 462
#endif

char *planted(size_t n) {
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                _exit(90);
        plant(p, n);
        return p;
}

char *shared(size_t n) {
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        if (p == MAP_FAILED)
                _exit(90);
        plant(p, n);
        return p;
}

void wait_for_end(void) {
        if (write(1, "ready\n", 6) != 6)
                _exit(91);
        for (;;)
                pause();
}

void spin(unsigned n) {
        for (volatile unsigned i = 0; i < n; i++)
                ;
}

/* Processes of one way tell it how far they are. */
static int told[2];

static void tell(void) {
        if (write(told[1], "x", 1) != 1)
                _exit(91);
}

static void hear(int n) {
        for (char c; n > 0; n--)
                if (read(told[0], &c, 1) != 1)
                        _exit(91);
}

/* --- memory that is hard to reach */

static void way_areas(int n) {
        for (int i = 0; i < n; i++) {
                char *p = planted(3 * PAGE);

                mprotect(p + PAGE, PAGE, i % 2 ? PROT_NONE : PROT_READ);
                munmap(p + 2 * PAGE, PAGE);
        }
}

static void way_lock(int n) {
        char *p = planted((size_t)n * MB);

        mlock(p, (size_t)n * MB);
        mlockall(MCL_CURRENT | MCL_FUTURE);
        mprotect(planted(MB), MB, PROT_NONE);
        raise(SIGKILL);
}

/* Huge pages, of which a child and its parent each wrote their own parts. */
static void way_huge(int n) {
        char *p = mmap(NULL, (size_t)n * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        madvise(p, (size_t)n * MB, MADV_HUGEPAGE);
        plant(p, (size_t)n * MB);
        mprotect(p + 4 * MB, 2 * MB + PAGE, PROT_READ);
}

static void way_huge_fork(int n) {
        char *p = mmap(NULL, (size_t)n * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), c;
        int end[2];

        if (pipe(told) < 0 || pipe(end) < 0)
                _exit(97);
        madvise(p, (size_t)n * MB, MADV_HUGEPAGE);
        plant(p, (size_t)n * MB);
        for (int child = 0; child < 2; child++) {
                if (fork() == 0) {
                        for (size_t at = 0; child == 0 && at < (size_t)n * MB; at += 16 * PAGE)
                                plant(p + at, PAGE);
                        close(end[1]);
                        tell();
                        _exit(read(end[0], &c, 1) != 0);
                }
                hear(1);
                for (size_t at = 8 * PAGE; child == 0 && at < (size_t)n * MB; at += 16 * PAGE)
                        plant(p + at, PAGE);
        }
        close(end[1]);
        while (wait(NULL) > 0)
                ;
}

static void way_shared(int n) {
        char *p = shared((size_t)n * MB), *half = shared(2 * MB);

        munmap(half, MB);
        for (int i = 0; i < 4; i++)
                if (fork() == 0)
                        for (;;)
                                plant(p + i * PAGE, PAGE);
        wait_for_end();
}

static void way_readonly(int n) {
        mprotect(shared((size_t)n * MB), (size_t)n * MB, PROT_READ);
}

/* Many objects in many processes: whoever looks for each in all of them is not done before the end of the day. */
static void way_objects(int n) {
        for (int i = 0; i < n; i++)
                shared(PAGE);
        for (int i = 0; i < 20; i++)
                if (fork() == 0)
                        for (;;)
                                pause();
        wait_for_end();
}

static void way_advice(int n) {
        static const int advice[] = {MADV_FREE, MADV_COLD, MADV_PAGEOUT, MADV_DONTFORK, MADV_WIPEONFORK, MADV_DONTDUMP, MADV_NOHUGEPAGE, MADV_WILLNEED};

        for (size_t i = 0; i < sizeof(advice) / sizeof(*advice); i++) {
                char *p = planted(MB);

                madvise(p, MB, advice[i]);
                plant(p, MB / 2);
        }
        madvise(planted(MB), MB / 2, 102); /* guard pages */
        syscall(SYS_mseal, planted(MB), MB, 0);
        raise(n ? SIGSEGV : SIGKILL);
}

/* A child can be killed that has memory of its own, and leaves nothing that anybody has to collect. */
static void way_pair(int n) {
        signal(SIGCHLD, SIG_IGN);
        if (pipe(told) < 0)
                _exit(97);
        if (fork() == 0) {
                planted(MB);
                tell();
                for (;;)
                        pause();
        }
        hear(1);
        planted((size_t)n * MB);
        wait_for_end();
}

static void way_big(int n) {
        planted((size_t)n * MB);
        wait_for_end();
}

/* None of these may work: what they hide cannot be found. */
static void way_hidden(int n) {
        char *p = planted(MB);
        struct iovec v = {p, MB};
        int ends[2];

        if (syscall(SYS_memfd_secret, 0) >= 0 || syscall(SYS_userfaultfd, O_CLOEXEC) >= 0 || syscall(SYS_userfaultfd, 1) >= 0 ||
            syscall(SYS_memfd_create, "x", 0) >= 0 || syscall(SYS_io_uring_setup, 8, p) >= 0 || syscall(SYS_shmget, 7, PAGE, 0600) >= 0)
                _exit(9);
        if (mmap(NULL, 2 * MB, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_HUGETLB, -1, 0) != MAP_FAILED ||
            madvise(p, MB, MADV_MERGEABLE) == 0 || prctl(PR_SET_DUMPABLE, 0) == 0 || prctl(67, 1, 0, 0, 0) == 0 ||
            prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0) == 0 || prctl(PR_SET_MM, 1, p, 0, 0) == 0)
                _exit(9);
        if (pipe(ends) < 0 || vmsplice(ends[1], &v, 1, 0) > 0 || syscall(SYS_clone, CLONE_VM | SIGCHLD, p + MB, 0, 0, 0) >= 0)
                _exit(9);
}

/* --- ends that are hard to catch */

static void way_storm(int n) {
        char *p = planted(MB);

        /* It ends by itself, should nobody end it: a machine that nothing else can run on helps no test. */
        if (write(1, "ready\n", 6) != 6)
                _exit(91);
        for (int i = 0; i < n; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        plant(p + i % 200 * PAGE, PAGE);
                        if (fork() == 0)
                                spin(20000);
                        _exit(0);
                }
                while (waitpid(-1, NULL, pid < 0 ? 0 : WNOHANG) > 0)
                        ;
        }
        pause();
}

/* A child that exits while it is killed. */
static void way_kill(int n) {
        for (int i = 0; i < n; i++) {
                volatile char *ready = shared(PAGE);
                pid_t pid = fork();

                if (pid == 0) {
                        planted(16 * PAGE);
                        *ready = 1;
                        spin((unsigned)i % 400);
                        syscall(SYS_exit_group, 0);
                }
                while (*ready != 1)
                        ;
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
                munmap((void *)ready, PAGE);
        }
}

/* The same, and between the call and its effect lie filters of 24,000 steps: who is killed there never comes to its exit stop. */
static void way_window(int n) {
        static struct sock_filter f[4000];
        struct sock_fprog prog = {.len = 4000, .filter = f};

        for (size_t i = 0; i < 3999; i++)
                f[i] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[i % 6]));
        f[3999] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
        for (int i = 0; i < n; i++) {
                volatile char *ready = shared(PAGE);
                pid_t pid = fork();

                if (pid == 0) {
                        planted(16 * PAGE);
                        for (int k = 0; k < 6; k++)
                                if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) < 0)
                                        _exit(92);
                        *ready = 1;
                        syscall(SYS_exit_group, 0);
                }
                while (*ready != 1)
                        ;
                spin((unsigned)i % 100 * 40);
                kill(pid, SIGKILL);
                waitpid(pid, NULL, 0);
        }
}

static void way_vfork(int n) {
        planted(MB);
        for (int i = 0; i < 10; i++)
                if (vfork() == 0) {
                        if (n > 0 && i % 3 == 0)
                                execl(self, self, "vfork", "0", NULL);
                        if (i % 3 == 1)
                                kill(getpid(), SIGKILL);
                        _exit(0);
                }
        while (wait(NULL) > 0)
                ;
        /* The parent is killed while its child uses its memory, and the child goes on. */
        if (n > 0 && fork() == 0 && vfork() == 0) {
                kill(getppid(), SIGKILL);
                usleep(20000);
                planted(MB);
                _exit(0);
        }
}

static void way_exec(int n) {
        char next[16];

        planted(64 * PAGE);
        snprintf(next, sizeof(next), "%d", n - 1);
        if (n > 0)
                execl(self, self, "exec", next, NULL);
}

static void way_wait(int n) {
        planted(64 * PAGE);
        for (;;)
                pause();
}

static void way_stop(int n) {
        planted(MB);
        for (int i = 0; i < n; i++) {
                pid_t pid = fork();

                if (pid == 0) {
                        planted(16 * PAGE);
                        setpgid(0, 0);
                        for (;;)
                                raise(i % 2 ? SIGSTOP : SIGTSTP);
                }
                waitpid(pid, NULL, WUNTRACED);
                kill(pid, SIGCONT);
        }
        wait_for_end();
}

static void way_orphans(int n) {
        if (pipe(told) < 0)
                _exit(97);
        planted(MB);
        for (int i = 0; i < n; i++)
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, i % 2 ? SIGKILL : SIGTERM);
                        setsid();
                        planted(16 * PAGE);
                        tell();
                        if (i % 4 == 0 && fork() == 0)
                                for (;;)
                                        planted(PAGE), spin(1000000);
                        for (;;)
                                pause();
                }
        hear(n);
}

/* They all end at once, with memory of their own, in common with all, and in common with one other that is its child. */
static void way_many(int n) {
        if (pipe(told) < 0)
                _exit(97);
        planted(MB);
        for (int i = 0; i < n; i += 2)
                if (fork() == 0) {
                        char *with_child = planted(16 * PAGE);

                        if (fork() > 0)
                                munmap(with_child, 8 * PAGE);
                        planted(8 * PAGE);
                        tell();
                        for (;;)
                                pause();
                }
        hear(n);
        wait_for_end();
}

static void way_cpu(int n) {
        struct rlimit r = {1, 1};

        planted(MB);
        setrlimit(RLIMIT_CPU, &r);
        for (;;)
                ;
}

static void way_filter(int n) {
        struct sock_filter f[] = {
                BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
                BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
                BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        };
        struct sock_fprog prog = {.len = sizeof(f) / sizeof(*f), .filter = f};

        planted(MB);
        if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog) == 0)
                getppid();
}

static void way_grow(int n) {
        for (int i = 0; i < 3; i++)
                if (fork() == 0)
                        break;
        for (;;)
                planted(4 * MB);
}

/* A secret in every place of a thread that is saved when it leaves the processor. */
static void way_registers(int n) {
        static char stack[65536];
        stack_t alt = {.ss_sp = stack, .ss_size = sizeof(stack)};

        plant(stack, sizeof(stack));
        sigaltstack(&alt, NULL);
#if defined(__x86_64__)
        syscall(SYS_arch_prctl, 0x1001, secret() & 0x7fffffffffff); /* base of gs */
        if (write(1, "ready\n", 6) != 6)
                _exit(91);
        __asm__ volatile("movq %0, %%xmm5; movq %0, %%r12; movq %0, %%mm3; 1: pause; jmp 1b" : : "r"(secret()) : "xmm5", "r12", "mm3");
#endif
        wait_for_end();
}

static void way_shared_exec(int n) {
        plant(shared(MB), MB);
        execl(self, self, "exec", "0", NULL);
        _exit(94);
}

/* What cannot be read cannot be traced by its own user. */
static void way_unreadable(int n) {
        char bytes[65536];
        int from = open(self, O_RDONLY | O_CLOEXEC), to = open("x", O_WRONLY | O_CREAT | O_CLOEXEC, 0111);
        ssize_t k;

        while ((k = read(from, bytes, sizeof(bytes))) > 0)
                if (write(to, bytes, (size_t)k) != k)
                        _exit(93);
        close(to);
        execl("./x", "./x", "exec", "0", NULL);
        _exit(94);
}

const Way ways[] = {
        {"areas", way_areas}, {"lock", way_lock}, {"huge", way_huge}, {"huge-fork", way_huge_fork}, {"shared", way_shared}, {"readonly", way_readonly},
        {"objects", way_objects}, {"advice", way_advice}, {"big", way_big}, {"pair", way_pair}, {"hidden", way_hidden}, {"storm", way_storm}, {"kill", way_kill},
        {"window", way_window}, {"vfork", way_vfork}, {"exec", way_exec}, {"wait", way_wait}, {"stop", way_stop}, {"orphans", way_orphans}, {"many", way_many}, {"cpu", way_cpu},
        {"filter", way_filter}, {"grow", way_grow}, {"registers", way_registers}, {"unreadable", way_unreadable}, {"threads", way_threads},
        {"thread-exec", way_thread_exec}, {"thread-file", way_thread_file}, {"sent", way_sent}, {"sent-nested", way_sent_nested},
        {"sent-child", way_sent_child}, {"unnamed", way_unnamed}, {"deep", way_deep}, {"closed", way_closed}, {"queues", way_queues},
        {"mapped", way_mapped}, {"fifo", way_fifo}, {"sent-by", way_sent_by}, {"sent-deep", way_sent_deep}, {"sent-seen", way_sent_seen}, {"sent-wide", way_sent_wide}, {"sent-waiting", way_sent_waiting},
        {"shared-exec", way_shared_exec}, {"executed", way_executed}, {"links", way_links},
        {"thread-queue", way_thread_queue}, {"thread-waiting", way_thread_waiting}, {"leader-gone", way_leader_gone},
        {"sent-urgent", way_sent_urgent}, {"read-urgent", way_read_urgent}, {"call", way_call}, {"together", way_together}, {"call-socket", way_call_socket}, {"one-page", way_one_page}, {"one-page-file", way_one_page_file},
        {"sockets", way_sockets}, {"behind", way_behind}, {"behind-empty", way_behind_empty}, {"many-deleted", way_many_deleted}, {"locked", way_locked},
        {"path-only", way_path_only}, {"sealed", way_sealed}, {"doubled", way_doubled}, {"private-page", way_private_page}, {"pages", way_pages}, {"marks", way_marks}, {"guarded", way_guarded},
};

const char *self, *argument = "";

int main(int argc, char **argv) {
        self = argv[0];
        argument = argc > 2 ? argv[2] : "";
        for (size_t i = 0; argc > 1 && i < sizeof(ways) / sizeof(*ways); i++)
                if (strcmp(ways[i].name, argv[1]) == 0) {
                        ways[i].act(argc > 2 ? atoi(argv[2]) : 0);
                        syscall(SYS_exit_group, 0);
                }
        return 89;
}
