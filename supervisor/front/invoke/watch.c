/* Runs: supervisor. Events of a living region: signals, budgets, notifications, streams; and of a region that ends. */
#include "invoke/types.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/path-lookup.h"
#include "base/proc.h"
#include "scrub/teardown.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define RUN_SETUP_USEC 10000000 /* while the worker mounts a served file system */
#define RUN_SETUP_LEAST_USEC 1000000
#define PREPARE_USEC_MAX 10000000
#define STOPPED_LOOK_USEC 500000
#define STOPPED_LOOKS_SAY 3
#define STOPPED_LOOKS_MAX 10

static const short poll_in = POLLIN;

/* Handlers: each turns an event into at most one move of the region. */

static bool watch_next_signal(const Run *run, struct signalfd_siginfo *ret) {
        const RunOptions *o = run->options;
        ssize_t n = read(run->tree->signals, ret, sizeof(*ret));

        return n == (ssize_t)sizeof(*ret) ||
               (n == (ssize_t)sizeof(eventfd_t) && o->ordered && o->ordered(o->userdata, ret));
}

/* SIGTERM, and the kill after the grace. False: the region has none, and is to be ended. */
static bool watch_ask(Run *run, Outcome o, int status, const Breach *b, const char *reason) {
        Region *r = &run->region;

        if (run->parent || r->callback || !region_ask_end(r, o, status, b, reason))
                return false;
        run->watch.grace_deadline = clock_mono_usec() + r->grant->grace_usec;
        return true;
}

static void watch_on_grace(void *userdata, uint64_t now) {
        Run *run = userdata;

        run->watch.grace_deadline = LOOP_NEVER;
        region_end_asked(&run->region);
}

/* A signal to the supervisor is meant for the whole invocation. */
bool run_heed_signals(Run *run) {
        Run *first = run->tree->n_runs > 0 ? run->tree->runs[0] : run;
        struct signalfd_siginfo si;

        while (watch_next_signal(first, &si)) {
                char sender[SENDER_MAX];

                store_hurry();
                run_sender(&si, sender);
                if (first->region.asked.outcome != OUTCOME_NONE) /* the second signal does not wait */
                        region_end_asked(&first->region);
                else if (!watch_ask(first, OUTCOME_CANCELLED, (int)si.ssi_signo, NULL, sender))
                        region_end(&first->region, OUTCOME_CANCELLED, (int)si.ssi_signo, "%s", sender);
        }
        return run->region.outcome == OUTCOME_CANCELLED;
}

void run_note_unwanted(Run *run) {
        const atomic_bool *unwanted = run->options->unwanted;
        Diag d = {};
        int e;

        if (run->parent || run->end.unwanted || run->store.failed || !unwanted || !atomic_load(unwanted))
                return;
        run->end.unwanted = true;
        e = record_discard(run->store.db, &run->region, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record that nothing is to be kept", e, &d);
}

static void watch_on_signal(void *userdata, short revents) {
        run_note_unwanted(((Tree *)userdata)->runs[0]);
        run_heed_signals(((Tree *)userdata)->runs[0]);
}

/* The source of a grant on a served file system, or NULL. */
static const char *watch_served_source(const Grant *g) {
        for (size_t i = 0; i < g->n_files; i++)
                if (!g->files[i].mask && lookup_is_served(g->files[i].source) != 0)
                        return g->files[i].source;
        return NULL;
}

/* A worker that mounts file systems of the kernel alone is given no time limit. */
static void watch_on_setup_time(void *userdata, uint64_t now) {
        Run *run = userdata;
        Region *r = &run->region;
        const char *source = watch_served_source(r->grant);

        run->start.setup_deadline = LOOP_NEVER;
        if (source)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "\"%s\" cannot be mounted: %s", source,
                           lookup_strerror(-ETIMEDOUT));
}

static void watch_on_notify(void *userdata, short revents) {
        Run *run = userdata;
        Region *r = &run->region;
        Breach b;
        bool denied;
        int e = region_notify_ready(&r->notify, revents, &b, &denied);

        if (r->notify.locks)
                guard_lent(&r->guard);
        if (e < 0)
                region_end(r, OUTCOME_CANCELLED, 0, "seccomp notifications: %s", strerror(-e));
        else if (b.outcome != OUTCOME_NONE)
                region_end_breach(r, &b);
        else if (denied && r->grant->on_denial == DENIAL_END)
                region_end(r, OUTCOME_DENIED, 0, "the first denial ends this skill (on_denial)");
}

void run_proxy_lost(const Region *r) {
        log_warning("region %s: lethe-proxy ended before the region: connections through it are over, and their number is "
                    "not known",
                    r->id);
}

static void watch_on_proxy(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        bool denied;

        if (region_proxy_read(&r->proxy, &r->denials, &denied) < 0)
                run_proxy_lost(r);
        if (denied && r->grant->on_denial == DENIAL_END)
                region_end(r, OUTCOME_DENIED, 0, "the first denial ends this skill (on_denial)");
}

static void watch_on_hook(void *userdata, uint64_t now) {
        Run *run = userdata;

        hook_tick(run->watch.hook, now);
        run_check_answers(run);
}

static void watch_on_connect(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        int e = region_notify_connected(&r->notify);

        if (e < 0)
                region_end(r, OUTCOME_CANCELLED, 0, "seccomp notifications: %s", strerror(-e));
}

static void watch_on_locks(void *userdata, uint64_t now) {
        Run *run = userdata;

        region_notify_locks(&run->region.notify, now);
        run_check_answers(run);
}

static void watch_on_memory(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_memory_event(&r->budget);

        region_end_breach(r, &b);
}

static void watch_on_tasks(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_tasks_event(&r->budget);

        region_end_breach(r, &b);
}

static void watch_on_wall(void *userdata, uint64_t now) {
        Region *r = &((Run *)userdata)->region;

        const Breach b = {.outcome = OUTCOME_TIMED_OUT, .resource = "wall", .limit = r->grant->budget.wall_usec,
                          .used = now - r->budget.started_usec};

        r->budget.wall_deadline = LOOP_NEVER;
        if (r->asked.outcome == OUTCOME_NONE && !watch_ask(userdata, OUTCOME_TIMED_OUT, 0, &b, NULL))
                region_end_breach(r, &b);
}

static void watch_on_tick(void *userdata, uint64_t now) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_tick(&r->budget, now);

        if (b.outcome == OUTCOME_TIMED_OUT && /* idle */
            (r->asked.outcome != OUTCOME_NONE || watch_ask(userdata, OUTCOME_TIMED_OUT, 0, &b, NULL)))
                return;
        region_end_breach(r, &b);
}

static void watch_on_stdin(void *userdata, short revents) {
        ((Run *)userdata)->region.budget.moved++;
        region_io_move_in(&((Run *)userdata)->region.io, revents);
}

static void watch_on_stdin_time(void *userdata, uint64_t now) {
        watch_on_stdin(userdata, 0);
}

void run_output_exceeded(Region *r) {
        region_end_breach(r, &(Breach){.outcome = OUTCOME_OUTPUT_EXCEEDED,
                                       .resource = "output",
                                       .limit = r->io.output_max,
                                       .used = r->io.output_used});
}

static void watch_move_out(Run *run, Relay *relay, short revents) {
        Region *r = &run->region;

        r->budget.moved++;
        if (region_io_move_out(&r->io, relay, revents))
                run_output_exceeded(r);
        if (relay->lost)
                region_end(r, OUTCOME_CANCELLED, 0, "output of the skill cannot be read: %s", strerror(relay->lost));
        if (relay == &r->io.out && relay->error)
                region_end(r, OUTCOME_CANCELLED, relay->error == EPIPE ? SIGPIPE : 0, "standard output: %s",
                           strerror(relay->error));
}

static void watch_on_stdout(void *userdata, short revents) {
        watch_move_out(userdata, &((Run *)userdata)->region.io.out, revents);
}

static void watch_on_stderr(void *userdata, short revents) {
        watch_move_out(userdata, &((Run *)userdata)->region.io.err, revents);
}

static void watch_on_pipe_readable(void *userdata, short revents) {
        ((Run *)userdata)->region.budget.moved++;
        conn_readable(&((Run *)userdata)->region.pipe); /* its lines are judged after every wake */
}

static void watch_on_pipe_writable(void *userdata, short revents) {
        conn_writable(&((Run *)userdata)->region.pipe);
}

static void watch_on_pipe_time(void *userdata, uint64_t now) {
        ((Run *)userdata)->pipe.deadline = LOOP_NEVER;
}

/* A stopped worker or guard (SIGSTOP) gives no answer. The supervisor looks at both every half second, names a stopped
 * process after a second, and kills the process after five seconds: the region then ends as after the death of a worker
 * or guard (I-79). A stopped program is ended by the region's budget of time. */
static bool watch_is_stopped(pid_t pid) {
        uint64_t state;

        return pid > 0 && proc_stat(pid, &state, 1) && (state == 'T' || state == 't');
}

static void watch_look(const Region *r, const char *name, pid_t pid, int pidfd, unsigned *looks) {
        if (!watch_is_stopped(pid)) {
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

static void watch_on_stopped_time(void *userdata, uint64_t now) {
        Run *run = userdata;
        Region *r = &run->region;

        run->watch.stopped_deadline = now + STOPPED_LOOK_USEC;
        if (r->has_worker)
                watch_look(r, "lethe-worker", r->spawned.pid, r->spawned.pidfd, &run->watch.stopped_looks[0]);
        if (r->guard.pid > 0)
                watch_look(r, "lethe-guard", r->guard.pid, r->guard.pidfd, &run->watch.stopped_looks[1]);
}

static void watch_stopped(Run *run) {
        if (run->watch.stopped_deadline == LOOP_NEVER)
                run->watch.stopped_deadline = clock_mono_usec() + STOPPED_LOOK_USEC;
        loop_add_timer(&run->tree->loop, &run->watch.stopped_deadline, watch_on_stopped_time, run);
}

void run_watch(Run *run) {
        Region *r = &run->region;
        Loop *l = &run->tree->loop;

        if (run->tree->n_runs == 0)
                loop_add_fd(l, &run->tree->signals, &poll_in, watch_on_signal, run->tree);
        assert(run->tree->n_runs < TREE_RUNS_MAX);
        run->tree->runs[run->tree->n_runs++] = run;
        loop_add_timer(l, &r->budget.wall_deadline, watch_on_wall, run);
        loop_add_timer(l, &r->budget.tick_deadline, watch_on_tick, run);
        loop_add_timer(l, &run->pipe.deadline, watch_on_pipe_time, run);
        if (r->state == REGION_ALLOCATED && r->grant->n_files > 0)
                run->start.setup_deadline =
                        clock_mono_usec() +
                        MIN((uint64_t)RUN_SETUP_USEC, MAX(r->grant->budget.wall_usec, (uint64_t)RUN_SETUP_LEAST_USEC));
        loop_add_timer(l, &run->start.setup_deadline, watch_on_setup_time, run);
        watch_stopped(run);
        loop_add_timer(l, &run->start.attach_deadline, run_on_attach_time, run);
        loop_add_timer(l, &run->watch.hook_deadline, watch_on_hook, run);
        loop_add_timer(l, &run->watch.grace_deadline, watch_on_grace, run);
        loop_add_timer(l, &r->notify.locks_deadline, watch_on_locks, run);
        loop_add_timer(l, &r->io.rest_deadline, watch_on_stdin_time, run);
        loop_add_fd(l, &r->cgroup.oom, &r->cgroup.oom_poll, watch_on_memory, run);
        loop_add_fd(l, &r->cgroup.pids_events, &r->cgroup.pids_poll, watch_on_tasks, run);
        loop_add_fd(l, &r->notify.fd, &poll_in, watch_on_notify, run);
        loop_add_fd(l, &r->notify.connects.poll, &poll_in, watch_on_connect, run);
        loop_add_fd(l, &r->proxy.control, &poll_in, watch_on_proxy, run);
        loop_add_fd(l, &run->pipe.poll[0].fd, &run->pipe.poll[0].events, watch_on_pipe_readable, run);
        loop_add_fd(l, &run->pipe.poll[1].fd, &run->pipe.poll[1].events, watch_on_pipe_writable, run);
        loop_add_fd(l, &r->io.out.poll_fd, &r->io.out.poll_events, watch_on_stdout, run);
        loop_add_fd(l, &r->io.err.poll_fd, &r->io.err.poll_events, watch_on_stderr, run);
        loop_add_fd(l, &r->io.in.poll_fd, &r->io.in.poll_events, watch_on_stdin, run);
        loop_add_fd(l, &r->spawned.status, &poll_in, run_on_status, run);
        loop_add_fd(l, &r->guard.control, &poll_in, run_on_guard, run);
}

static void watch_on_checkpoint(void *userdata, uint64_t now) {
        store_wal_checkpoint(userdata);
}

/* The source outlives the sources of each Run. */
void run_watch_store(Run *run, const uint64_t *due) {
        loop_add_timer(&run->tree->loop, due, watch_on_checkpoint, run->store.db);
}

/* After the end, only the guard's answers and the worker's death count. */
static void watch_on_guard_end(void *userdata, short revents) {
        Guard *g = &((Run *)userdata)->region.guard;
        GuardAnswer a;
        int k;

        while ((k = guard_answer(g, &a)) > 0)
                ;
        if (k != -EAGAIN)
                closep(&g->control);
}

static void watch_on_worker_death(void *userdata, short revents) {
        ((Run *)userdata)->end.worker = -1;
}

static void watch_on_step_time(void *userdata, uint64_t now) {
        Run *run = userdata;

        run->end.deadline = now + TEARDOWN_AGAIN_USEC;
        if (!teardown_is_ready(&run->region) && !teardown_again(&run->region, run->end.since))
                run->end.no_use = true;
}

static void watch_on_layer(void *userdata, short revents) {
        layer_reader_look(&((Run *)userdata)->layer, clock_mono_usec());
}

static void watch_on_layer_time(void *userdata, uint64_t now) {
        layer_reader_look(&((Run *)userdata)->layer, now);
}

void run_watch_end(Run *run) {
        Region *r = &run->region;
        Loop *l = &run->tree->loop;

        loop_drop(l, run);
        if (run == run->tree->runs[0])
                loop_drop(l, run->tree); /* a signal that comes now ends the delivery of the output */
        run->end.worker = r->has_worker ? r->spawned.pidfd : -1;
        loop_add_fd(l, &r->guard.control, &poll_in, watch_on_guard_end, run);
        loop_add_fd(l, &r->proxy.control, &poll_in, watch_on_proxy, run);
        loop_add_fd(l, &run->end.worker, &poll_in, watch_on_worker_death, run);
        loop_add_timer(l, &run->end.deadline, watch_on_step_time, run);
        loop_add_fd(l, &run->layer.channel, &poll_in, watch_on_layer, run);
        loop_add_timer(l, &run->layer.deadline, watch_on_layer_time, run);
        watch_stopped(run);
}

void run_watch_rest(Run *run) {
        Relay *err = &run->region.io.err;

        loop_drop(&run->tree->loop, run);
        loop_add_fd(&run->tree->loop, &err->poll_fd, &err->poll_events, watch_on_stderr, run);
}

/* The interpreter's bootstrap waits for its arguments. */
static void watch_on_lifeline(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        char byte;

        if (recv(r->spawned.lifeline, &byte, 1, MSG_DONTWAIT) == 1)
                r->begun_ahead = true;
        else
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the interpreter that was started ahead does not wait");
}

static bool watch_is_held(const Region *r) {
        return r->spawned.ready && (r->grant->discipline == DISCIPLINE_NONE || r->guard.attached);
}

int prepare_wait(Run *run, Diag *d) {
        Region *r = &run->region;
        Loop *l = &run->tree->loop;
        int e = 0;

        run->start.attach_deadline = clock_mono_usec() + PREPARE_USEC_MAX;
        loop_add_timer(l, &run->start.attach_deadline, run_on_attach_time, run);
        loop_add_fd(l, &r->spawned.status, &poll_in, run_on_status, run);
        loop_add_fd(l, &r->guard.control, &poll_in, run_on_guard, run);
        while (e >= 0 && r->state == REGION_DECLARED && !watch_is_held(r))
                e = loop_once(l);
        if (e >= 0 && r->state == REGION_DECLARED && r->spawned.ahead) {
                e = spawn_go(&r->spawned);
                loop_add_fd(l, &r->notify.fd, &poll_in, watch_on_notify, run);
                loop_add_fd(l, &r->notify.connects.poll, &poll_in, watch_on_connect, run);
                loop_add_fd(l, &r->spawned.lifeline, &poll_in, watch_on_lifeline, run);
        }
        while (e >= 0 && r->state == REGION_DECLARED && r->spawned.ahead && !r->begun_ahead)
                e = loop_once(l);
        if (e < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "while it was prepared: %s", strerror(-e));
        loop_drop(l, run);
        run->start.attach_deadline = LOOP_NEVER;
        return 0;
}
