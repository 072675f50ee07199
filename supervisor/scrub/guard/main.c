/* lethe-guard: schema/guard.h says what it does. It starts with few system calls, because the region's start waits for it, and does what
 * it does in one thread but for large amounts of memory. */
#include "scrub/guard/state.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define REPORTS_AT_ONCE 64
#define FDS_FREE 32 /* never filled with what is kept */
#define FDS_MAX 65536
#define LOOK_NSEC 500000 /* between two looks at tasks that are to stop, and report nothing */
#define POSTPONED_MAX 32
#define PARKED_NSEC 20000000 /* between two looks at threads that wait for others of their group */

static void on_child(int signal) {
}

/* Only the supervisor ends it, by the socket: no terminal, no signal of a session. */
static int set_up(Guard *g, sigset_t *ret_waiting) {
        struct sigaction act = {.sa_handler = on_child};
        struct rlimit files;
        sigset_t all;

        sigfillset(&all);
        *ret_waiting = all;
        sigdelset(ret_waiting, SIGCHLD);
        if (sigprocmask(SIG_SETMASK, &all, NULL) < 0 || sigaction(SIGCHLD, &act, NULL) < 0)
                return -errno;
        setsid(); /* EPERM: it leads one */
        /* A region of many processes that want the processor must not keep it from the one that ends them. Only root may. */
        setpriority(PRIO_PROCESS, 0, -20);
        if (prctl(PR_SET_DUMPABLE, 0) < 0 || chdir("/") < 0)
                return -errno;
        /* A region of many processes has more files than one of them may have. */
        if (getrlimit(RLIMIT_NOFILE, &files) < 0)
                return -errno;
        files.rlim_cur = files.rlim_max;
        setrlimit(RLIMIT_NOFILE, &files);
        g->fd_max = files.rlim_cur < FDS_MAX ? (int)files.rlim_cur - FDS_FREE : FDS_MAX;
        g->evidence = mmap(NULL, sizeof(*g->evidence), PROT_READ | PROT_WRITE, MAP_SHARED, GUARD_FD_EVIDENCE, 0);
        if (g->evidence == MAP_FAILED)
                return -errno;
        close(GUARD_FD_EVIDENCE);
        g->evidence->version = GUARD_VERSION;
        return 0;
}

typedef enum Reports { REPORTS_MORE, REPORTS_NONE_NOW, REPORTS_NO_TASK } Reports;

/* Takes what the traced tasks report, but no more than some of it: a region that makes processes without end always has something to say, and
 * must not keep an order from being heard. NO_TASK: the kernel knows of none any more. */
static Reports take_reports(Guard *g) {
        for (int n = 0; n < REPORTS_AT_ONCE;) {
                int status;
                pid_t pid = wait4(-1, &status, __WALL | WNOHANG, NULL);

                if (pid > 0) {
                        trace_report(g, pid, status);
                        n++;
                } else if (pid == 0 || errno != EINTR)
                        return pid < 0 && errno == ECHILD ? REPORTS_NO_TASK : REPORTS_NONE_NOW;
        }
        return REPORTS_MORE;
}

static void finish(Guard *g) {
        bool queues = queues_clear(g);

        files_clear(g, true); /* after the queues, in which there may have been some more */
        if (queues || g->evidence->passes > 1)
                refill(g, g->evidence->passes > 1);
        g->evidence->empty_usec = now_usec();
        g->evidence->state = GUARD_STATE_EMPTY;
        g->empty = true;
        if (!g->orphaned)
                order_tell(g, GUARD_EMPTY, 0, 0);
}

static void tell_frozen(Guard *g) {
        g->frozen_told = true;
        g->evidence->frozen_usec = now_usec();
        if (!g->scrub && !g->empty) /* an order that crossed with EMPTY changes nothing */
                g->evidence->state = GUARD_STATE_FROZEN;
        if (!g->orphaned)
                order_tell(g, GUARD_FROZEN, 0, 0);
}

static int serve(Guard *g, const sigset_t *waiting) {
        unsigned postponed = 0;

        for (;;) {
                struct pollfd p = {.fd = g->orphaned ? -1 : g->control, .events = POLLIN};
                Reports reports = take_reports(g);
                struct timespec now = {}, soon = {.tv_nsec = LOOK_NSEC}, later = {.tv_nsec = PARKED_NSEC};
                const struct timespec *wait;
                bool again;

                if (reports != REPORTS_MORE)
                        trace_settle(g);
                again = reports != REPORTS_MORE && pause_step(g);
                trace_unpark(g);
                if (g->frozen && !g->frozen_told && g->n_moving == 0)
                        tell_frozen(g);
                /* Those that have reported already are known first: what several of them share is then looked for once. */
                if ((reports != REPORTS_MORE || ++postponed % POSTPONED_MAX == 0) && end_step(g))
                        continue;
                if (g->attached && !g->empty && reports == REPORTS_NO_TASK)
                        finish(g);
                if (g->orphaned && g->empty) {
                        walk_scratch(g);
                        spec_clear(g);
                        return order_leave_evidence(g);
                }
                wait = reports == REPORTS_MORE ? &now : again || g->look_soon ? &soon : g->n_parked > 0 ? &later : NULL;
                if (ppoll(&p, 1, wait, waiting) > 0 && order_take(g) == 0)
                        return 0;
        }
}

int main(void) {
        static Guard g = {.control = GUARD_FD_CONTROL, .run = -1, .spec = -1, .scratch = -1};
        sigset_t waiting;

        g.ending_tail = &g.ending;
        if (set_up(&g, &waiting) < 0 || serve(&g, &waiting) < 0)
                return 1;
        return 0;
}
