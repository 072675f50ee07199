/* lethe-guard: schema/guard.h describes its task. It starts with few system calls, because the region's start waits
 * for it, and runs in a single thread except for large amounts of memory. */
#include "schema/zygote.h"
#include "scrub/tracer/state.h"

#include "base/slice.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

#define REPORTS_AT_ONCE 64
#define SKIP 16 /* number of spaces overwritten between two full looks for reports */
#define MANY 32 /* tasks that are ending at once */
#define FDS_FREE 32 /* never filled with kept files */
#define FDS_MAX 65536
#define LOOK_NSEC 500000 /* between two looks at stopping tasks that report nothing */
#define POSTPONED_MAX 32
#define PARKED_NSEC 20000000 /* between two looks at parked threads */

static void main_on_child(int signal) {
}

/* Where the kernel groups tasks by session (sched(7), "The autogroup feature"), a priority counts only within the
 * session: on a loaded machine the guard would get no more of the processor than any other session. Only root may. */
static void main_raise_session(void) {
        int fd = openat(AT_FDCWD, "/proc/self/autogroup", O_WRONLY | O_CLOEXEC);

        if (fd < 0)
                return;
        (void)!write(fd, "-20", 3);
        close(fd);
}

/* Only the supervisor ends the guard, by the socket: no terminal, no signal of a session. Zygotes pass this on. */
static int main_set_up_process(void) {
        struct sigaction act = {.sa_handler = main_on_child};
        struct rlimit files;
        sigset_t all;

        sigfillset(&all);
        if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || sigaction(SIGCHLD, &act, NULL) < 0)
                return -errno;
        if (setsid() >= 0) /* EPERM: already a session's leader */
                main_raise_session();
        /* A region of many busy processes must not keep the processor from the guard that ends them. Only root may. */
        if (setpriority(PRIO_PROCESS, 0, -20) < 0)
                slice_shorten();
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || chdir("/") < 0)
                return -errno;
        /* A region of many processes has more files than a single process may have. */
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        return 0;
}

static int main_set_up(Tracer *g, sigset_t *ret_waiting) {
        struct rlimit files;

        sigfillset(ret_waiting);
        sigdelset(ret_waiting, SIGCHLD);
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        g->fd_max = files.rlim_cur < FDS_MAX ? (int)files.rlim_cur - FDS_FREE : FDS_MAX;
        g->evidence = mmap(NULL, sizeof(*g->evidence), PROT_READ | PROT_WRITE, MAP_SHARED, GUARD_FD_EVIDENCE, 0);
        if (g->evidence == MAP_FAILED)
                return -errno;
        close(GUARD_FD_EVIDENCE);
        g->evidence->version = GUARD_VERSION;
        return 0;
}

typedef enum Reports { REPORTS_MORE, REPORTS_NONE_NOW, REPORTS_NO_TASK } Reports;

/* Takes reports of the traced tasks, up to a limit: a region that makes processes without end always has reports, and
 * must not delay orders. NO_TASK: the kernel knows of no traced task any more. some: only reports found easily. */
static Reports main_take_reports(Tracer *g, bool some) {
        for (int n = 0; n < REPORTS_AT_ONCE;) {
                int status;
                pid_t pid = g->frozen && g->n_tasks >= MANY ? task_report(g, &status) : 0;

                if (pid <= 0 && some)
                        return REPORTS_NONE_NOW;
                if (pid <= 0)
                        pid = wait4(-1, &status, __WALL | WNOHANG, NULL);

                if (pid > 0) {
                        trace_report(g, pid, status);
                        n++;
                } else if (pid == 0 || errno != EINTR)
                        return pid < 0 && errno == ECHILD ? REPORTS_NO_TASK : REPORTS_NONE_NOW;
        }
        return REPORTS_MORE;
}

static void main_finish_region(Tracer *g) {
        bool queues = queues_clear(g);

        hurry(g, false);
        files_clear(g, true); /* after the queues, which may have held further files */
        files_settled(g);
        if (queues || g->evidence->passes > 1)
                refill(g, g->evidence->passes > 1);
        g->evidence->empty_usec = now_usec();
        g->evidence->state = GUARD_STATE_EMPTY;
        g->empty = true;
        if (!g->orphaned)
                guard_tell(g, GUARD_EMPTY, 0, 0);
}

static void main_tell_frozen(Tracer *g) {
        g->frozen_told = true;
        g->evidence->frozen_usec = now_usec();
        if (!g->scrub && !g->empty) /* an order that crossed with EMPTY changes nothing */
                g->evidence->state = GUARD_STATE_FROZEN;
        if (!g->orphaned)
                guard_tell(g, GUARD_FROZEN, 0, 0);
}

/* Returns ORDER_END, ORDER_AGAIN, -errno. */
static int main_serve_region(Tracer *g, const sigset_t *waiting) {
        unsigned postponed = 0, skipped = 0;
        bool some = false, idle = false, ahead, more_ahead = true; /* ahead: see round_ahead() */

        for (;;) {
                struct pollfd p = {.fd = g->orphaned ? -1 : g->control, .events = POLLIN};
                Reports reports = some && ++skipped % SKIP != 0 ? REPORTS_NONE_NOW : main_take_reports(g, some);
                struct timespec now = {}, soon = {.tv_nsec = LOOK_NSEC}, later = {.tv_nsec = PARKED_NSEC};
                const struct timespec *wait;
                struct timespec watch;
                uint64_t watch_usec;
                bool again, many = g->frozen && g->n_tasks >= MANY;
                int n, order = ORDER_TAKEN;

                if (reports != REPORTS_MORE)
                        trace_settle(g);
                again = reports != REPORTS_MORE && pause_step(g);
                trace_unpark(g);
                if (g->frozen && !g->frozen_told && g->n_moving == 0)
                        main_tell_frozen(g);
                /* Pending reports first: shared memory is then searched once. Of many tasks, the first leave early. */
                if ((reports != REPORTS_MORE || many || ++postponed % POSTPONED_MAX == 0) && end_step(g)) {
                        some = many;
                        continue;
                }
                if (some) { /* a thorough turn before the guard waits */
                        some = false;
                        continue;
                }
                if (g->attached && !g->empty && reports == REPORTS_NO_TASK)
                        main_finish_region(g);
                if (g->orphaned && g->empty)
                        return orphan_finish(g);
                ahead = !g->frozen && g->n_tasks >= MANY && more_ahead;
                again = again || g->look_soon || (ahead && idle);
                wait = reports == REPORTS_MORE ? &now : again ? &soon : g->n_parked > 0 || ahead ? &later : NULL;
                watch_usec = watch_step(g);
                watch = (struct timespec){.tv_sec = (time_t)(watch_usec / 1000000),
                                          .tv_nsec = (long)(watch_usec % 1000000) * 1000};
                if (watch_usec != WATCH_NOTHING && (!wait || (watch.tv_sec == 0 && watch.tv_nsec < wait->tv_nsec)))
                        wait = &watch;
                n = ppoll(&p, 1, wait, waiting);
                if (n > 0)
                        order = order_take(g);
                if (order != ORDER_TAKEN)
                        return order;
                idle = n == 0;
                more_ahead = !idle || !ahead || round_ahead(g);
        }
}

/* Its children are guards. Dies with the supervisor, unlike the guards (schema/guard.h). Returns in a child only. */
static void main_be_zygote(void) {
        uint64_t flags;
        unsigned n_fds;

        if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0 || !zygote_take(ZYGOTE_SOCKET, ZYGOTE_FD_KEPT))
                _exit(1);
        n_fds = zygote_serve(NULL, &flags);
        if (n_fds != GUARD_FD_EVIDENCE + 1)
                _exit(n_fds == 0 ? 0 : 1);
        close(ZYGOTE_FD_OWN);
}

int main(int argc, char **argv) {
        static Tracer g = {.control = GUARD_FD_CONTROL, .take_sent = order_take_sent};
        sigset_t waiting;
        int e;

        guard_begin(&g);
        if (main_set_up_process() < 0)
                return 1;
        if (argc == 2 && strcmp(argv[1], ZYGOTE_ARG) == 0)
                main_be_zygote();
        e = main_set_up(&g, &waiting);
        while (e == 0 && (e = main_serve_region(&g, &waiting)) == ORDER_AGAIN)
                e = again(&g);
        return e < 0;
}
