/* Who the worker is: signals, ids, and what ends it when the supervisor is gone. */
#include "worker/worker.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define SIGNALS 64 /* the kernel's _NSIG */
#define IOPRIO_PROCESS 1                 /* ioprio_set(2) has no header */
#define IOPRIO_USUAL ((2 << 13) | 4)     /* class best-effort, its middle; smaller numbers are served sooner */
#define TIMER_SLACK_NSEC 50000UL         /* what the kernel gives its first process (PR_SET_TIMERSLACK(2const)) */

int step_signals(Worker *w) {
        struct {
                void *handler;
                unsigned long flags;
                void *restorer;
                unsigned long mask;
        } standard = {0};
        unsigned long none = 0;

        if (w->forked)
                return 0;
        /* Straight to the kernel: the C library hides the signals that it uses itself, and an ignored one would stay ignored in the
         * program. */
        for (int s = 1; s <= SIGNALS; s++)
                if (s != SIGKILL && s != SIGSTOP && syscall(SYS_rt_sigaction, s, &standard, NULL, sizeof(none)) < 0)
                        return -errno;
        if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0)
                return -errno;
        umask(022);
        return 0;
}

/* The caller of Lethe may have more of the processor and the disk than others, and a fixed layout of addresses: none of it is for a region (I-95). A lower
 * priority than usual is the caller's wish, and stays. */
int step_priority(Worker *w) {
        struct sched_param usual = {.sched_priority = 0};
        long policy, io;
        int level;

        if (w->forked)
                return 0;
        policy = syscall(SYS_sched_getscheduler, 0); /* musl's own say that there are none */
        if (policy < 0)
                return -errno;
        policy &= ~SCHED_RESET_ON_FORK;
        if (policy != SCHED_OTHER && policy != SCHED_BATCH && policy != SCHED_IDLE &&
            syscall(SYS_sched_setscheduler, 0, SCHED_OTHER, &usual) < 0)
                return -errno;
        errno = 0;
        level = getpriority(PRIO_PROCESS, 0);
        if ((level == -1 && errno != 0) || (level < 0 && setpriority(PRIO_PROCESS, 0, 0) < 0))
                return -errno;
        io = syscall(SYS_ioprio_get, IOPRIO_PROCESS, 0);
        if (io < 0)
                return errno == ENOSYS ? 0 : -errno;
        if (io != 0 && io < IOPRIO_USUAL && syscall(SYS_ioprio_set, IOPRIO_PROCESS, 0, 0) < 0)
                return -errno;
        if (prctl(PR_SET_TIMERSLACK, TIMER_SLACK_NSEC, 0, 0, 0) < 0 || personality(PER_LINUX) < 0)
                return -errno;
        return 0;
}

/* Where memory is short around a region, in a control group above or on the machine, the kernel's out-of-memory killer takes processes of regions before any
 * other: the supervisor and its guards have to outlive them, and nobody else is to die for a skill. With 1000, the most, a process of any size
 * comes before those without (proc_pid_oom_score_adj(5)); children have it from their parents. Where /proc cannot be written the kernel's own order stays. */
int step_oom(Worker *w) {
        int fd = w->forked ? -1 : openat(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return 0;
        (void)!write(fd, "1000", 4);
        close(fd);
        return 0;
}

int step_wait_maps(Worker *w) {
        int fds[LAUNCH_GROUPS_MAX];
        size_t n;

        return w->spec.flags & LAUNCH_TEMPLATE ? maps_write_own(w->spec.uid, w->spec.gid) : lifeline_wait(fds, &n);
}

int step_identity(Worker *w) {
        uid_t uid[3];
        gid_t gid[3];

        /* The zygote has changed them, and dropped its groups; what they are called is up to the map. */
        if (w->spec.flags & LAUNCH_TEMPLATE) {
                if (getresuid(&uid[0], &uid[1], &uid[2]) < 0 || getresgid(&gid[0], &gid[1], &gid[2]) < 0)
                        return -errno;
                for (size_t i = 0; i < 3; i++)
                        if (uid[i] != w->spec.uid || gid[i] != w->spec.gid)
                                return -EPERM;
                return 0;
        }
        if (!(w->spec.flags & LAUNCH_CHANGE_IDS))
                return 0;
        if (setgroups(0, NULL) < 0 || setresgid(w->spec.gid, w->spec.gid, w->spec.gid) < 0 ||
            setresuid(w->spec.uid, w->spec.uid, w->spec.uid) < 0)
                return -errno;
        return 0;
}

int step_lifeline(Worker *w) {
        struct pollfd p = {.fd = LAUNCH_FD_LIFELINE};

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        /* The supervisor may have died before that call: then the lifeline has no writer left. */
        if (poll(&p, 1, 0) < 0)
                return -errno;
        return p.revents & (POLLHUP | POLLERR) ? -EPIPE : 0;
}

int step_hostname(Worker *w) {
        static const char name[] = "lethe";

        if (w->spec.tier != 2 || w->spec.flags & LAUNCH_TEMPLATE)
                return 0;
        if (sethostname(name, sizeof(name) - 1) < 0 || setdomainname("", 0) < 0)
                return -errno;
        return 0;
}
