/* The process that becomes the program: what is its own and not the first process's. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

int step_fork(Worker *w) {
        /* Tier landlock: orphans of the region become ours, so that reap_all() finds them. */
        if (w->spec.tier == 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                return -errno;
        /* As a zygote makes its children: the C library would do for threads what is not needed for one. */
        w->program = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        return w->program < 0 ? -errno : 0;
}

/* A session of its own has no controlling terminal: nothing can be typed into one (TIOCSTI), no signal comes from one. */
int step_session(Worker *w) {
        if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        /* Its parent is the first process; if that died before the call above, this process has another parent by now. */
        if (w->spec.tier == 2 && getppid() != 1)
                return -EPIPE;
        return 0;
}

int step_descriptors(Worker *w) {
        const int keep[] = {LAUNCH_FD_STATUS, LAUNCH_FD_LIFELINE};
        unsigned from = LAUNCH_FD_LIFELINE + 1;

        for (size_t i = 0; i < 2; i++)
                if (fcntl(keep[i], F_SETFD, FD_CLOEXEC) < 0)
                        return -errno;
        if (w->spec.flags & LAUNCH_AHEAD) { /* the bootstrap has these two, and closes them before anything of the skill runs */
                if (fcntl(LAUNCH_FD_LIFELINE, F_SETFD, 0) < 0 || fcntl(LAUNCH_FD_SPEC, F_SETFD, 0) < 0)
                        return -errno;
                from = LAUNCH_FD_SPEC + 1;
        }
        /* The scratch folder is needed once more (step_born), and goes with the exec. */
        if (w->scratch >= 0) {
                int fd = dup3(w->scratch, (int)from, O_CLOEXEC);

                if (fd < 0 && w->scratch != (int)from)
                        return -errno;
                w->scratch = (int)from++;
        }
        if (w->started >= 0) { /* both stand far above */
                if (dup3(w->started, (int)from, O_CLOEXEC) < 0)
                        return -errno;
                w->started = (int)from++;
        }
        if (w->hand >= 0) {
                if (dup3(w->hand, (int)from, O_CLOEXEC) < 0)
                        return -errno;
                w->hand = (int)from++;
        }
        if (syscall(SYS_close_range, from, ~0U, 0) < 0)
                return -errno;
        return 0;
}

int step_born(Worker *w) {
        const StatusRecord r = {.kind = STATUS_BORN};

        return report(&r, w->scratch);
}

static int limit(const LaunchLimit *l) {
        struct rlimit r = {.rlim_cur = l->soft, .rlim_max = l->hard}, have;

        /* What is already lower than asked stays: only a privileged process could raise it. */
        if (getrlimit((int)l->resource, &have) < 0)
                return -errno;
        if (have.rlim_max < r.rlim_max)
                r.rlim_max = have.rlim_max;
        if (r.rlim_cur > r.rlim_max)
                r.rlim_cur = r.rlim_max;
        return setrlimit((int)l->resource, &r) < 0 ? -errno : 0;
}

/* A template's limits on memory are soft ones, and not the region's. */
static int limits_of_template_off(void) {
        static const int soft[] = {RLIMIT_AS, RLIMIT_DATA};

        for (size_t i = 0; i < sizeof(soft) / sizeof(soft[0]); i++) {
                struct rlimit r;

                if (getrlimit(soft[i], &r) < 0)
                        return -1;
                r.rlim_cur = r.rlim_max;
                if (setrlimit(soft[i], &r) < 0)
                        return -1;
        }
        return 0;
}

/* The kernel holds the descriptors that all processes of one user have on the way in sockets against RLIMIT_NOFILE of the one that sends.
 * Regions share a user: with the region's own small limit, another region that keeps some on the way could keep this one from being
 * handed over. So that limit comes last (step_open_files), and is as high as it may be until then. */
int step_limits(Worker *w) {
        /* Of a huge page that two processes have in common by fork, what one of them wrote since lies in pages of its own, and the kernel copies
         * the rest when the guard writes there, too: the bytes stay behind, out of everybody's reach. EINVAL: this kernel has none. */
        if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0 && errno != EINVAL)
                return -errno;
        if (w->spec.flags & LAUNCH_TEMPLATE && limits_of_template_off() < 0)
                return -errno;
        for (size_t i = 0; i < w->spec.n_limits; i++) {
                const LaunchLimit *l = &w->spec.limits[i];
                struct rlimit have;
                int e = 0;

                if (l->resource >= LAUNCH_LIMIT_INOTIFY_INSTANCES)
                        continue; /* step_objects() */
                if (l->resource != RLIMIT_NOFILE)
                        e = limit(l);
                else if (getrlimit(RLIMIT_NOFILE, &have) < 0)
                        e = -errno;
                else {
                        have.rlim_cur = have.rlim_max;
                        e = setrlimit(RLIMIT_NOFILE, &have) < 0 ? -errno : 0;
                }
                if (e < 0)
                        return e;
        }
        return 0;
}

int step_open_files(Worker *w) {
        for (size_t i = 0; i < w->spec.n_limits; i++)
                if (w->spec.limits[i].resource == RLIMIT_NOFILE) {
                        int e = limit(&w->spec.limits[i]);

                        if (e < 0)
                                return e;
                }
        return 0;
}

/* Its filter leaves it no call with which it could wake us: it says so in memory, and mostly long before this. It does not say so when it failed, and
 * then takes us with it. */
int step_await_first(Worker *w) {
        const struct timespec a_while = {.tv_nsec = 50000};

        while (!__atomic_load_n(&w->progress->first, __ATOMIC_ACQUIRE))
                ppoll(NULL, 0, &a_while, NULL);
        return 0;
}

/* The program of a warm region is no other image: what it had in common with the first process would stay. */
int step_apart(Worker *w) {
        static Progress own;
        Progress *shared = w->progress;

        if (w->started < 0)
                return 0;
        step_await_first(w);
        own = *shared;
        w->progress = &own;
        return munmap(shared, sizeof(*shared)) < 0 ? -errno : 0;
}

int step_seccomp(Worker *w) {
        int fd = filter_install(w->spec.filter, w->spec.n_filter, 1);

        if (fd < 0)
                return fd;
        w->notify = fd;
        return 0;
}

/* The task lists of cgroups of version 1 come when the groups are made, which may be before this process is. A task that moves itself needs
 * no lock over all tasks of the machine; being moved by another process waits for one, for 10 to 20 ms. */
int step_groups(Worker *w) {
        int fds[LAUNCH_GROUPS_MAX], e;
        size_t n;

        e = lifeline_wait(fds, &n);
        for (size_t i = 0; i < n; i++) {
                if (e == 0 && write(fds[i], "0", 1) != 1)
                        e = -errno;
                close(fds[i]);
        }
        return e;
}

int step_ready(Worker *w) {
        const StatusRecord r = {.kind = STATUS_READY};
        int e = report(&r, w->notify);

        close(w->notify);
        return e;
}

int step_wait_go(Worker *w) {
        int fds[LAUNCH_GROUPS_MAX];
        size_t n;

        return lifeline_wait(fds, &n);
}

int step_words(Worker *w) {
        return w->words && !(w->spec.flags & LAUNCH_AHEAD) ? launch_words_decode(w->words, LAUNCH_WORDS_MAX, &w->spec) : 0;
}

/* The error after a failed execve: of a file that is there it is its interpreter, which the first line of a script or the header of an ELF file names, that
 * the kernel did not find. */
static int exec_error(const char *path) {
        int e = errno;

        return e == ENOENT && faccessat(AT_FDCWD, path, F_OK, 0) == 0 ? ELIBACC : e;
}

/* The kernel's answer for the best candidate: a file that is there but cannot be run says more than one that is not there. */
int step_exec(Worker *w) {
        const char *name = w->spec.argv[0], *p = w->spec.search;
        char path[PATH_MAX];
        int best = ENOENT;

        if (strchr(name, '/')) {
                execve(name, (char **)w->spec.argv, (char **)w->spec.env);
                return -exec_error(name);
        }
        while (*name && *p) {
                size_t n = strcspn(p, ":");

                if (n > 0 && snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, name) < (int)sizeof(path)) {
                        /* Asked first, because an exec that fails is a notification to the supervisor. */
                        if (faccessat(AT_FDCWD, path, X_OK, 0) == 0) {
                                execve(path, (char **)w->spec.argv, (char **)w->spec.env);
                                errno = exec_error(path);
                        }
                        if (errno != ENOENT && errno != ENOTDIR)
                                best = errno;
                }
                p += n + (p[n] == ':');
        }
        return -best;
}
