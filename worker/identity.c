/* Signals, priority, ids and user namespace limits of the worker, and its end with the supervisor. */
#include "schema/zygote.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/personality.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#define SIGNALS 64 /* the kernel's _NSIG */
#define IOPRIO_PROCESS 1                 /* ioprio_set(2) has no header */
#define IOPRIO_USUAL ((2 << 13) | 4)     /* class best-effort, middle level; smaller numbers are served sooner */
#define TIMER_SLACK_NSEC 50000UL         /* the kernel's value for its first process (PR_SET_TIMERSLACK(2const)) */

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
        /* A direct system call: the C library hides its own signals, and an ignored signal would stay ignored. */
        for (int s = 1; s <= SIGNALS; s++)
                if (s != SIGKILL && s != SIGSTOP && syscall(SYS_rt_sigaction, s, &standard, NULL, sizeof(none)) < 0)
                        return -errno;
        if (syscall(SYS_rt_sigprocmask, SIG_SETMASK, &none, NULL, sizeof(none)) < 0)
                return -errno;
        umask(022);
        return 0;
}

/* The caller of Lethe may have more of the processor and the disk than usual, and a fixed layout of addresses: a
 * region must get neither (I-95). A lower priority than usual is the caller's wish, and stays. */
int step_priority(Worker *w) {
        struct sched_param usual = {.sched_priority = 0};
        long policy, io;
        int level;

        if (w->forked)
                return 0;
        policy = syscall(SYS_sched_getscheduler, 0); /* musl's wrappers return ENOSYS */
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

/* Where memory is short around a region, in a control group above or on the machine, the kernel's out-of-memory killer
 * takes processes of regions first: the supervisor and its guards have to outlive the regions, and no process outside
 * may die for a skill. At the maximum of 1000, a process of any size is killed before processes without a
 * score (proc_pid_oom_score_adj(5)); children inherit the score. Without a writable /proc, the kernel's order stays. */
int step_oom(Worker *w) {
        int fd = w->forked ? -1 : openat(AT_FDCWD, "/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return 0;
        (void)!write(fd, "1000", 4);
        close(fd);
        return 0;
}

/* Writes the process's own id maps, in a user namespace below its zygote's: a name for its single id. */
static int identity_write_map(const char *name, const char *text) {
        _autoclose_ int fd = openat(ZYGOTE_FD_KEPT, name, O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return -errno;
        /* a single write: the kernel takes a map whole */
        return write(fd, text, strlen(text)) != (ssize_t)strlen(text) ? -errno : 0;
}

static int identity_write_maps(uint32_t uid, uint32_t gid) {
        char text[64];
        int e = identity_write_map("self/setgroups", "deny");

        snprintf(text, sizeof(text), "%u %u 1\n", (unsigned)uid, (unsigned)uid);
        if (e == 0)
                e = identity_write_map("self/uid_map", text);
        snprintf(text, sizeof(text), "%u %u 1\n", (unsigned)gid, (unsigned)gid);
        if (e == 0)
                e = identity_write_map("self/gid_map", text);
        return e;
}

int step_wait_maps(Worker *w) {
        int fds[LAUNCH_GROUPS_MAX];
        size_t n;

        return w->spec.flags & LAUNCH_TEMPLATE ? identity_write_maps(w->spec.uid, w->spec.gid) : lifeline_wait(fds, &n);
}

int step_identity(Worker *w) {
        uid_t uid[3];
        gid_t gid[3];

        /* The zygote has changed the ids, and dropped its groups; the id map names them. */
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
        /* After an earlier death of the supervisor, the lifeline has no writer. */
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

/* Limits for objects that the kernel counts per user and user namespace. A region's user namespace has its own
 * limits, valid beside those of the user on the host. Only a process of that namespace sees them, in any /proc. */
static int identity_limit_objects(int proc, const LaunchLimit *l) {
        const char *name = l->resource == LAUNCH_LIMIT_INOTIFY_INSTANCES ? "sys/user/max_inotify_instances"
                                                                         : "sys/user/max_inotify_watches";
        _autoclose_ int fd = openat(proc, name, O_WRONLY | O_CLOEXEC);
        char text[24];
        int n;

        if (fd < 0)
                /* also for a missing file: the supervisor has seen the file, and the filter allows inotify */
                return -errno;
        n = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)l->hard);
        return write(fd, text, (size_t)n) != n ? -errno : 0;
}

int step_objects(Worker *w) {
        int proc, e = 0;

        if (w->spec.tier != 2)
                return 0;
        proc = w->spec.flags & LAUNCH_TEMPLATE ? ZYGOTE_FD_KEPT : open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
        if (proc < 0)
                return -errno;
        for (size_t i = 0; e == 0 && i < w->spec.n_limits; i++)
                if (w->spec.limits[i].resource >= LAUNCH_LIMIT_INOTIFY_INSTANCES)
                        e = identity_limit_objects(proc, &w->spec.limits[i]);
        close(proc);
        return e;
}
