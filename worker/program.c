/* Steps of the process that becomes the program, without the first process. */
#include "worker/sys.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>

/* Above the descriptors of an order, and of step_descriptors(). */
static int program_make_tell(int ret_ends[2]) {
        int low[2];

        if (pipe2(low, O_CLOEXEC) < 0)
                return -errno;
        for (size_t i = 0; i < 2; i++) {
                ret_ends[i] = fcntl(low[i], F_DUPFD_CLOEXEC, FD_HIGH);
                close(low[i]);
        }
        return ret_ends[0] < 0 || ret_ends[1] < 0 ? -EMFILE : 0;
}

int step_fork(Worker *w) {
        int ends[2] = {-1, -1}, e;

        w->progress->tell = w->spec.flags & LAUNCH_TELL;
        if (w->apart) {
                w->program = 0;
                return 0;
        }
        /* Tier landlock: orphans of the region become this process's children, for init_reap_all(). */
        if (w->spec.tier == 1 && prctl(PR_SET_CHILD_SUBREAPER, 1) < 0)
                return -errno;
        if (w->spec.flags & LAUNCH_TELL && (e = program_make_tell(ends)) < 0)
                return e;
        /* As a zygote makes its children: the C library's fork() does work for threads, not needed here. */
        w->program = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
        if (w->program < 0)
                return -errno;
        w->executed = ends[w->program == 0];
        if (w->executed >= 0)
                close(ends[w->program > 0]);
        return 0;
}

/* A new session has no controlling terminal: no input can be injected (TIOCSTI), no signal comes from a terminal. Only
 * a pseudo terminal that was made for the region becomes the session's terminal. */
int step_session(Worker *w) {
        if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
                return -errno;
        /* The parent is the first process; after its early death this process has another parent. */
        if (w->spec.tier == 2 && getppid() != 1)
                return -EPIPE;
        return w->spec.flags & LAUNCH_TERMINAL && ioctl(0, TIOCSCTTY, 0) < 0 ? -errno : 0;
}

int step_descriptors(Worker *w) {
        const int keep[] = {LAUNCH_FD_STATUS, LAUNCH_FD_LIFELINE};
        int *const moved[] = {&w->scratch, &w->started, &w->hand, &w->executed};
        unsigned from = LAUNCH_FD_LIFELINE + 1;

        for (size_t i = 0; i < 2; i++)
                if (fcntl(keep[i], F_SETFD, FD_CLOEXEC) < 0)
                        return -errno;
        /* the bootstrap needs these two, and closes them before any code of the skill runs */
        if (w->spec.flags & LAUNCH_AHEAD) {
                if (fcntl(LAUNCH_FD_LIFELINE, F_SETFD, 0) < 0 || fcntl(LAUNCH_FD_SPEC, F_SETFD, 0) < 0)
                        return -errno;
                from = LAUNCH_FD_SPEC + 1;
        }
        /* The scratch folder is needed until step_born(), and closes with the exec. */
        for (size_t i = 0; i < sizeof(moved) / sizeof(moved[0]); i++)
                if (*moved[i] >= 0) {
                        if (*moved[i] != (int)from && dup3(*moved[i], (int)from, O_CLOEXEC) < 0)
                                return -errno;
                        *moved[i] = (int)from++;
                }
        if (syscall(SYS_close_range, from, ~0U, 0) < 0)
                return -errno;
        return 0;
}

int step_born(Worker *w) {
        const StatusRecord r = {.kind = STATUS_BORN};

        return report(&r, w->scratch);
}

static int program_limit(const LaunchLimit *l) {
        struct rlimit r = {.rlim_cur = l->soft, .rlim_max = l->hard}, have;

        /* A lower existing limit stays: only a privileged process could raise it. */
        if (getrlimit((int)l->resource, &have) < 0)
                return -errno;
        if (have.rlim_max < r.rlim_max)
                r.rlim_max = have.rlim_max;
        if (r.rlim_cur > r.rlim_max)
                r.rlim_cur = r.rlim_max;
        return setrlimit((int)l->resource, &r) < 0 ? -errno : 0;
}

/* A template's limits on memory are soft limits, and not the region's. */
static int program_lift_limits(void) {
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

/* The kernel counts the descriptors in transit of all processes of a user against RLIMIT_NOFILE of the sender. Regions
 * share a user: with the region's own small limit, another region with many descriptors in transit could block this
 * region's hand-over. So that limit comes last (step_open_files()). */
int step_limits(Worker *w) {
        /* A huge page common by fork splits into own pages when a process writes, and the kernel copies the rest when
         * the guard writes there, too: the old bytes stay behind. EINVAL: the kernel has no huge pages. */
        if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) < 0 && errno != EINVAL)
                return -errno;
        if (w->spec.flags & LAUNCH_TEMPLATE && program_lift_limits() < 0)
                return -errno;
        for (size_t i = 0; i < w->spec.n_limits; i++) {
                const LaunchLimit *l = &w->spec.limits[i];
                struct rlimit have;
                int e = 0;

                if (l->resource >= LAUNCH_LIMIT_INOTIFY_INSTANCES)
                        continue; /* step_objects() */
                if (l->resource != RLIMIT_NOFILE)
                        e = program_limit(l);
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
                        int e = program_limit(&w->spec.limits[i]);

                        if (e < 0)
                                return e;
                }
        return 0;
}

/* The first process's filter leaves no call to wake this process: the first process writes to memory instead, mostly
 * long before. After a failure it does not write, and its end ends this process. */
int step_await_first(Worker *w) {
        const struct timespec a_while = {.tv_nsec = 50000};

        while (!__atomic_load_n(&w->progress->first, __ATOMIC_ACQUIRE))
                ppoll(NULL, 0, &a_while, NULL);
        return 0;
}

/* The program of a warm region is no new image: memory common with the first process would stay. */
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

/* The task lists of cgroups of version 1 may come before this process exists. A task that moves itself needs no lock
 * over all tasks of the machine; a move by another process waits for the lock, for 10 to 20 ms. */
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
        return w->words && !(w->spec.flags & LAUNCH_AHEAD) ? launch_words_decode(w->words, LAUNCH_WORDS_MAX, &w->spec)
                                                           : 0;
}

/* The error after a failed execve. ENOENT for an existing file: its interpreter is missing (script or ELF header). */
static int program_exec_error(const char *path) {
        int e = errno;

        return e == ENOENT && faccessat(AT_FDCWD, path, F_OK, 0) == 0 ? ELIBACC : e;
}

/* Returns the kernel's error for the best candidate: an existing file counts more than a missing file. */
int step_exec(Worker *w) {
        const char *name = w->spec.argv[0], *p = w->spec.search;
        char path[PATH_MAX];
        int best = ENOENT;

        if (strchr(name, '/')) {
                execve(name, (char **)w->spec.argv, (char **)w->spec.env);
                return -program_exec_error(name);
        }
        while (*name && *p) {
                size_t n = strcspn(p, ":");

                if (n > 0 && snprintf(path, sizeof(path), "%.*s/%s", (int)n, p, name) < (int)sizeof(path)) {
                        /* Checked first, because a failing exec is a notification to the supervisor. */
                        if (faccessat(AT_FDCWD, path, X_OK, 0) == 0) {
                                execve(path, (char **)w->spec.argv, (char **)w->spec.env);
                                errno = program_exec_error(path);
                        }
                        if (errno != ENOENT && errno != ENOTDIR)
                                best = errno;
                }
                p += n + (p[n] == ':');
        }
        return -best;
}
