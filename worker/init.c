/* The region's first process after lock-down: waits for the program, reports how it ended, and ends, which ends the
 * whole region. The skill can reach this process (same user, same PID namespace): never believed. */
#include "worker/worker.h"

#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#if defined(__x86_64__)
#define ARCH_HERE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCH_HERE AUDIT_ARCH_AARCH64
#else
#error "the audit number of this architecture is not known"
#endif

#ifndef SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV
#define SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV (1UL << 5) /* Linux 5.19 */
#endif

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define ALLOW(nr) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, nr, 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define END BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS)

static const struct sock_filter base[] = {
        LOAD(arch), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_HERE, 1, 0), END, LOAD(nr),
        ALLOW(SYS_ppoll), ALLOW(SYS_wait4), ALLOW(SYS_sendmsg), ALLOW(SYS_rt_sigreturn), ALLOW(SYS_restart_syscall),
        ALLOW(SYS_exit_group),
};
/* Without a PID namespace the process has to find and kill the program's descendants. */
static const struct sock_filter reaper[] = {
        ALLOW(SYS_openat), ALLOW(SYS_read), ALLOW(SYS_close), ALLOW(SYS_kill), ALLOW(SYS_getpid),
};
static const struct sock_filter last[] = {END};

int filter_install(const struct sock_filter *filter, size_t n, int notify) {
        struct sock_fprog p = {.len = (unsigned short)n, .filter = (struct sock_filter *)filter};
        unsigned long flags = notify ? SECCOMP_FILTER_FLAG_NEW_LISTENER : 0;
        long r;

        /* A signal must not repeat a notification (Go's scheduler sends many signals); kernels before 5.19 lack the
         * flag. */
        r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags | (notify ? SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV : 0),
                    &p);
        if (r < 0 && errno == EINVAL && notify)
                r = syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &p);
        return r < 0 ? -errno : (int)r;
}

static void init_on_child(int signal) {
}

int init_confine(bool finds) {
        struct sock_filter filter[sizeof(base) / sizeof(base[0]) + sizeof(reaper) / sizeof(reaper[0]) + 1];
        size_t n = sizeof(base) / sizeof(base[0]);

        memcpy(filter, base, sizeof(base));
        if (finds) {
                memcpy(filter + n, reaper, sizeof(reaper));
                n += sizeof(reaper) / sizeof(reaper[0]);
        }
        memcpy(filter + n, last, sizeof(last));
        return filter_install(filter, n + 1, 0);
}

int step_init(Worker *w) {
        struct sigaction act = {.sa_handler = init_on_child, .sa_flags = SA_NOCLDSTOP};
        sigset_t chld;

        sigemptyset(&chld);
        sigaddset(&chld, SIGCHLD);
        /* Blocked except during the wait, so that no death falls between a check and the wait. */
        if (sigprocmask(SIG_BLOCK, &chld, NULL) < 0 || sigaction(SIGCHLD, &act, NULL) < 0)
                return -errno;
        /* Not dumpable: no ptrace, no /proc/1/mem, and /proc/1/exe does not lead to the worker's file. */
        if (prctl(PR_SET_DUMPABLE, 0) < 0)
                return -errno;
        if (syscall(SYS_close_range, 0, LAUNCH_FD_STATUS - 1, 0) < 0)
                return -errno;
        if (w->started >= 0) {
                if (dup3(w->started, LAUNCH_FD_LIFELINE + 1, O_CLOEXEC) < 0)
                        return -errno;
                w->started = LAUNCH_FD_LIFELINE + 1;
        }
        if (w->executed >= 0) {
                const int at = LAUNCH_FD_LIFELINE + 1 + (w->started >= 0);

                if (dup3(w->executed, at, O_CLOEXEC) < 0)
                        return -errno;
                w->executed = at;
        }
        if (syscall(SYS_close_range, LAUNCH_FD_LIFELINE + 1 + (w->started >= 0) + (w->executed >= 0), ~0U, 0) < 0)
                return -errno;
        return init_confine(w->spec.tier == 1);
}

static uint64_t init_usec(const struct timeval *t) {
        return (uint64_t)t->tv_sec * 1000000 + (uint64_t)t->tv_usec;
}

/* Reaps dead children. Returns 1 when the program is among them. */
static int init_reap(Worker *w, int *ret_status, struct rusage *ret_usage) {
        for (;;) {
                struct rusage usage;
                int status;
                pid_t pid = wait4(-1, &status, WNOHANG, &usage);

                if (pid == w->program) {
                        *ret_status = status;
                        *ret_usage = usage;
                        return 1;
                }
                if (pid <= 0)
                        return 0;
        }
}

/* Tier landlock: without a PID namespace, the first process, a child subreaper, ends the rest of the region. An
 * orphan anywhere below becomes its child; without children left, the region is gone. */
/* Kills each direct child. Their orphans become children of this process, for the next round. */
static void init_kill_children(void) {
        char path[64], text[4096];
        long pid = 0;
        ssize_t n;
        int fd;

        snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
        fd = openat(AT_FDCWD, path, O_RDONLY | O_CLOEXEC); /* not open(): the filter allows only openat */
        if (fd < 0)
                return;
        while ((n = read(fd, text, sizeof(text))) > 0)
                for (ssize_t i = 0; i < n; i++)
                        if (text[i] >= '0' && text[i] <= '9')
                                pid = pid * 10 + (text[i] - '0');
                        else if (pid > 1) {
                                kill((pid_t)pid, SIGKILL);
                                pid = 0;
                        }
        close(fd);
}

static void init_reap_all(void) {
        do
                init_kill_children();
        while (waitpid(-1, NULL, 0) > 0 || errno == EINTR);
}

static void __attribute__((noreturn)) init_finish(Worker *w) {
        if (w->spec.tier == 1)
                init_reap_all();
        _exit(0);
}

/* For a warm region. A process that fails in a step reports by itself, and ends with 127. */
static void init_check_start(Worker *w, int status) {
        struct pollfd p = {.fd = w->started, .events = POLLIN};
        const struct timespec now = {0};

        if (ppoll(&p, 1, &now, NULL) > 0)
                w->progress->step = STEP_EXEC;
        else
                w->progress->reported |= WIFEXITED(status) && WEXITSTATUS(status) == 127;
}

/* The pipe's end alone may also come from a process that failed. */
static void init_tell_executed(Worker *w) {
        const StatusRecord r = {.kind = STATUS_EXECUTED};

        w->executed = -1;
        if (w->progress->tell && !w->progress->reported && (w->started >= 0 || w->progress->step == STEP_EXEC))
                report(&r, -1);
}

void init_run(Worker *w) {
        struct rusage usage;
        int status;
        sigset_t none;

        sigemptyset(&none);
        while (!init_reap(w, &status, &usage)) {
                /* of pipes, only writers' ends are reported */
                struct pollfd p[] = {{.fd = LAUNCH_FD_LIFELINE}, {.fd = w->executed, .events = POLLIN}};

                if (ppoll(p, 2, NULL, &none) <= 0)
                        continue;
                if (p[0].revents & (POLLHUP | POLLERR))
                        init_finish(w);
                if (p[1].revents)
                        init_tell_executed(w);
        }
        if (w->started >= 0)
                init_check_start(w, status);
        if (!w->progress->reported) {
                StatusRecord r = {.kind = STATUS_ENDED, .a = status};

                if (w->progress->step != STEP_EXEC) {
                        r.kind = STATUS_STEP_FAILED;
                        r.a = w->progress->step;
                }
                r.max_rss_bytes = (uint64_t)usage.ru_maxrss * 1024;
                r.cpu_usec = init_usec(&usage.ru_utime) + init_usec(&usage.ru_stime);
                report(&r, -1);
        }
        init_finish(w);
}
