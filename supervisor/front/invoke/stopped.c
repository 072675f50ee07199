/* Runs: supervisor. A stopped worker or guard (SIGSTOP) gives no answer. The supervisor looks at both every half
 * second, names a stopped process after a second, and kills the process after five seconds: the region then ends as
 * after the death of a worker or guard (I-79). A stopped program is ended by the region's budget of time. */
#include "invoke/types.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/proc.h"

#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#define STOPPED_LOOK_USEC 500000
#define STOPPED_LOOKS_SAY 3
#define STOPPED_LOOKS_MAX 10

static bool stopped_is(pid_t pid) {
        uint64_t state;

        return pid > 0 && proc_stat(pid, &state, 1) && (state == 'T' || state == 't');
}

static void stopped_look(const Region *r, const char *name, pid_t pid, int pidfd, unsigned *looks) {
        if (!stopped_is(pid)) {
                *looks = 0;
                return;
        }
        if (++*looks == STOPPED_LOOKS_SAY)
                log_warning(
                        "region %s: waiting for process %d (%s), which is stopped; it is killed when it stays so for %d s",
                        r->id, (int)pid, name, STOPPED_LOOKS_MAX * STOPPED_LOOK_USEC / 1000000);
        if (*looks > STOPPED_LOOKS_MAX)
                syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0);
}

static void on_stopped_time(void *userdata, uint64_t now) {
        Run *run = userdata;
        Region *r = &run->region;

        run->watch.stopped_deadline = now + STOPPED_LOOK_USEC;
        if (r->has_worker)
                stopped_look(r, "lethe-worker", r->spawned.pid, r->spawned.pidfd, &run->watch.stopped_looks[0]);
        if (r->guard.pid > 0)
                stopped_look(r, "lethe-guard", r->guard.pid, r->guard.pidfd, &run->watch.stopped_looks[1]);
}

void run_watch_stopped(Run *run) {
        if (run->watch.stopped_deadline == LOOP_NEVER)
                run->watch.stopped_deadline = clock_mono_usec() + STOPPED_LOOK_USEC;
        loop_add_timer(&run->tree->loop, &run->watch.stopped_deadline, on_stopped_time, run);
}
