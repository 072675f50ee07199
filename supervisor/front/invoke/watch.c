/* Runs: supervisor. From the worker's first word to the known end: what comes in while a region lives. */
#include "invoke/run-internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "base/quiet.h"
#include "schema/launch.h"
#include "scrub/teardown.h"
#include "spawn/facts.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>

#define RUN_SETUP_USEC 10000000 /* while the worker mounts a served file system */
#define RUN_SETUP_LEAST_USEC 1000000

static_assert(GUARD_PROGRAM_FDS == LAUNCH_FD_TREES, "the descriptors of a process that was just born");

static const short poll_in = POLLIN;

/* ALLOCATED -> RUNNING, when the worker is ready and the guard has taken hold of the program's process. */
void run_let_go(Run *run) {
        Region *r = &run->region;
        int e;

        if (r->state != REGION_ALLOCATED || !r->spawned.ready || (r->grant->discipline != DISCIPLINE_NONE && !r->guard.attached))
                return;
        run->start.attach_deadline = run->start.setup_deadline = LOOP_NEVER;
        r->go_usec = clock_mono_usec();
        region_budget_start(&r->budget, r->spawned.pid, r->go_usec);
        region_watch_outside(r);
        region_move(r, REGION_RUNNING);
        e = spawn_go(&r->spawned);
        if (e < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the worker cannot be let go: %s", strerror(-e));
        else
                kernel_facts_ahead(); /* while it runs */
}

void run_attach_order(Run *run, GuardOrder *ret) {
        Region *r = &run->region;

        r->hold = r->grant->n_releases > 0 || json_object_size(r->grant->sections) > 0;
        *ret = (GuardOrder){.version = GUARD_VERSION, .kind = GUARD_ATTACH, .passes = r->grant->passes, .tier = (uint32_t)r->spawned.tier,
                            .init = r->spawned.pid, .flags = (r->hold ? GUARD_HOLD : 0) | (r->spawned.warm ? GUARD_WARM : 0)};
        snprintf(ret->region, sizeof(ret->region), "%s", r->id);
}

int run_scratch(const Spawned *s, int scratch) {
        return scratch < 0 && s->scratch ? open(s->scratch, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : scratch;
}

static int attach(Run *run, Diag *d) {
        GuardOrder o;

        run_attach_order(run, &o);
        if (!run->start.preparing)
                run->start.attach_deadline = clock_mono_usec() + RUN_ATTACH_USEC_MAX;
        return guard_attach(&run->region.guard, &o, store_dir(run->store.db), run->region.spawned.memory, run->region.budget.scratch, d);
}

/* The program has yet to be executed: the region is recorded, or is being prepared. */
static bool awaits_program(const Run *run) {
        return run->region.state == (run->start.preparing ? REGION_DECLARED : REGION_ALLOCATED);
}

void run_born(Run *run, int scratch, bool attached) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        if (!awaits_program(run)) { /* a cancel came in the same moment */
                closep(&scratch);
                return;
        }
        region_budget_scratch(&r->budget, scratch, r->spawned.tier == TIER_LANDLOCK);
        if (scratch < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the scratch cannot be measured: %s", strerror(errno));
        else if (!attached && r->grant->discipline != DISCIPLINE_NONE && (e = attach(run, &d)) != 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EPIPE));
}

/* Still ALLOCATED: the worker has confined itself and the program stands before its exec. Nothing but these two processes exists,
 * and neither makes another before the go byte: here they are put into a control group of version 2. */
static void ready(Run *run, int notify) {
        Region *r = &run->region;
        int e;

        if (!awaits_program(run)) {
                closep(&notify);
                return;
        }
        if ((e = region_notify_start(&r->notify, notify, r->spawned.pid)) < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "seccomp notifications: %s", strerror(-e));
        else if ((e = hook_start(r, &run->watch.hook_deadline, &run->watch.hook)) < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "discipline multipass: %s", strerror(-e));
        else if (r->cgroup.made && r->cgroup.v2 && (e = region_cgroup_attach_tree(&r->cgroup, r->spawned.pid)) < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-e));
        else
                run_let_go(run);
}

/* Handlers: each turns an event into at most one move of the region. */

static bool next_signal(const Run *run, struct signalfd_siginfo *ret) {
        const RunOptions *o = run->options;
        ssize_t n = read(run->tree->signals, ret, sizeof(*ret));

        return n == (ssize_t)sizeof(*ret) || (n == (ssize_t)sizeof(eventfd_t) && o->ordered && o->ordered(o->userdata, ret));
}

/* A signal to us is meant for the whole invocation. */
bool run_heed_signals(Run *run) {
        Run *first = run->tree->n_runs > 0 ? run->tree->runs[0] : run;
        struct signalfd_siginfo si;

        while (next_signal(first, &si)) {
                char sender[SENDER_MAX];

                store_hurry();
                run_sender(&si, sender);
                region_end(&first->region, OUTCOME_CANCELLED, (int)si.ssi_signo, "%s", sender);
        }
        return run->region.outcome == OUTCOME_CANCELLED;
}

static void on_signal(void *userdata, short revents) {
        run_note_unwanted(((Tree *)userdata)->runs[0]);
        run_heed_signals(((Tree *)userdata)->runs[0]);
}

/* The kernel kills what a guard traces when the guard ends. Its socket is closed before that: when the program's end is known, so is the guard's. */
static bool guard_is_lost(const Region *r) {
        struct pollfd p = {.fd = r->guard.control, .events = POLLIN};

        return r->guard.sent && !r->guard.empty && (p.fd < 0 || (poll(&p, 1, 0) > 0 && p.revents & POLLHUP));
}

static void guard_lost(Region *r) {
        closep(&r->guard.control);
        region_end(r, OUTCOME_GUARD_LOST, 0, "lethe-guard ended, and the program with it: what the region held was not overwritten");
}

/* Where nobody traced the program (discipline none), it is taken to have sent none of these itself. */
static bool kernel_sent(const Region *r, unsigned fact) {
        return !r->guard.page || guard_facts(&r->guard) & fact;
}

static void program_ended(Region *r, const StatusRecord *s) {
        Breach b = {.outcome = OUTCOME_NONE};
        int sig = WIFSIGNALED(s->a) ? WTERMSIG(s->a) : 0;

        r->program_cpu_usec = s->cpu_usec;
        r->program_max_rss = s->max_rss_bytes;
        /* Signals that a broken limit or the filter sends, and anybody can. */
        if (sig == SIGXFSZ && kernel_sent(r, GUARD_FACT_FILE_LIMIT))
                b = region_budget_file_signal(&r->budget);
        else if (sig == SIGXCPU)
                b = region_budget_cpu_signal(&r->budget, s->cpu_usec);
        if (region_end_breach(r, &b))
                return;
        if (sig == SIGSYS && kernel_sent(r, GUARD_FACT_FOREIGN)) { /* else a filter of the program's own may have made it, too */
                denials_add(&r->denials, "abi", "system call", "a foreign ABI (32-bit or x32)", strlen("a foreign ABI (32-bit or x32)"), NULL);
                region_end(r, OUTCOME_DENIED, 0, "the program made a system call of a foreign ABI");
        } else if (sig == SIGKILL && guard_is_lost(r))
                guard_lost(r);
        else if (sig)
                region_end(r, OUTCOME_SIGNALED, sig, "%s", "");
        else
                region_end(r, OUTCOME_EXITED, WEXITSTATUS(s->a), "%s", "");
}

static void on_status(void *userdata, short revents) {
        Run *run = userdata;
        Region *r = &run->region;

        for (;;) {
                int notify = -1, scratch = -1, k;
                StatusRecord s;
                Diag d = {};

                k = spawn_status(&r->spawned, &s, &notify, &scratch);
                if (k == -EAGAIN)
                        return;
                if (k < 0) {
                        closep(&r->spawned.status);
                        region_end(r, r->state == REGION_ALLOCATED ? OUTCOME_SETUP_FAILED : OUTCOME_CANCELLED,
                                   r->state == REGION_ALLOCATED ? EXIT_OURS : 0, "the worker's report: %s", strerror(-k));
                        return;
                }
                if (k == 0) {
                        /* Nobody is left to tell us how it ended. A broken memory budget may have been the cause: teardown looks. */
                        closep(&r->spawned.status);
                        if (r->state == REGION_ALLOCATED)
                                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the worker died before the program started");
                        else
                                region_end(r, OUTCOME_SIGNALED, SIGKILL, "the region's first process was killed");
                        return;
                }
                switch ((StatusKind)s.kind) {
                case STATUS_BORN:
                        run_born(run, run_scratch(&r->spawned, scratch), false);
                        break;
                case STATUS_READY:
                        ready(run, notify);
                        break;
                case STATUS_STEP_FAILED:
                        spawn_explain(&r->spawned, &s, &d);
                        spawn_add_profile(&d);
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", d.text);
                        break;
                case STATUS_EXEC_FAILED:
                        run_not_executed(r, s.b);
                        break;
                case STATUS_ENDED:
                        program_ended(r, &s);
                        break;
                }
        }
}

static void check_answers(Run *run) {
        if (run->region.notify.failed < 0)
                region_end(&run->region, OUTCOME_CANCELLED, 0, "seccomp notifications: %s", strerror(-run->region.notify.failed));
}

static void on_guard(void *userdata, short revents) {
        Run *run = userdata;
        Region *r = &run->region;

        for (;;) {
                GuardAnswer a;
                Diag d = {};
                int k = guard_answer(&r->guard, &a);

                if (k == -EAGAIN)
                        return;
                if (k <= 0) {
                        closep(&r->guard.control);
                        if (r->go_usec > 0)
                                guard_lost(r);
                        else
                                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "lethe-guard ended before the program was started");
                        return;
                }
                if (a.kind == GUARD_ATTACHED && a.error != 0) {
                        guard_explain(a.error, &d);
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", d.text);
                } else if (a.kind == GUARD_ATTACHED) {
                        run_let_go(run);
                } else if (a.kind == GUARD_STOOD) {
                        region_budget_stood(&r->budget);
                } else if (a.kind == GUARD_ENDING) {
                        program_ended(r, &(StatusRecord){.kind = STATUS_ENDED, .a = a.code});
                } else if (a.kind == GUARD_PAUSED && run->watch.hook) {
                        hook_paused(run->watch.hook, (uint32_t)a.code, a.error);
                        check_answers(run);
                } else if (a.kind == GUARD_RESUMED && run->watch.hook) {
                        hook_resumed(run->watch.hook, (uint32_t)a.code, a.error);
                        check_answers(run);
                }
        }
}

static void on_attach_time(void *userdata, uint64_t now) {
        Run *run = userdata;

        run->start.attach_deadline = LOOP_NEVER;
        region_end(&run->region, OUTCOME_SETUP_FAILED, EXIT_OURS, "lethe-guard does not answer");
}

/* The source of a grant whose file system somebody serves, or NULL. */
static const char *served_source(const Grant *g) {
        for (size_t i = 0; i < g->n_files; i++)
                if (!g->files[i].mask && quiet_is_served(g->files[i].source) != 0)
                        return g->files[i].source;
        return NULL;
}

/* A worker that mounts what the kernel has by itself takes as long as it takes. */
static void on_setup_time(void *userdata, uint64_t now) {
        Run *run = userdata;
        Region *r = &run->region;
        const char *source = served_source(r->grant);

        run->start.setup_deadline = LOOP_NEVER;
        if (source)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "\"%s\" cannot be mounted: %s", source, quiet_strerror(-ETIMEDOUT));
}

static void on_notify(void *userdata, short revents) {
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

static void on_early(void *userdata, uint64_t now) {
        Run *run = userdata;

        hook_tick(run->watch.hook, now);
        check_answers(run);
}

static void on_connect(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        int e = region_notify_connected(&r->notify);

        if (e < 0)
                region_end(r, OUTCOME_CANCELLED, 0, "seccomp notifications: %s", strerror(-e));
}

static void on_locks(void *userdata, uint64_t now) {
        Run *run = userdata;

        region_notify_locks(&run->region.notify, now);
        check_answers(run);
}

static void on_memory(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_memory_event(&r->budget);

        region_end_breach(r, &b);
}

static void on_tasks(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_tasks_event(&r->budget);

        region_end_breach(r, &b);
}

static void on_wall(void *userdata, uint64_t now) {
        Region *r = &((Run *)userdata)->region;

        r->budget.wall_deadline = LOOP_NEVER;
        region_end_breach(r, &(Breach){.outcome = OUTCOME_TIMED_OUT, .resource = "wall", .limit = r->grant->budget.wall_usec, .used = now - r->budget.started_usec});
}

static void on_tick(void *userdata, uint64_t now) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_tick(&r->budget, now);

        region_end_breach(r, &b);
}

static void on_stdin(void *userdata, short revents) {
        ((Run *)userdata)->region.budget.moved++;
        region_io_move_in(&((Run *)userdata)->region.io, revents);
}

static void move_out(Run *run, Relay *relay, short revents) {
        Region *r = &run->region;

        r->budget.moved++;
        if (region_io_move_out(&r->io, relay, revents))
                region_end_breach(r, &(Breach){.outcome = OUTCOME_OUTPUT_EXCEEDED, .resource = "output", .limit = r->io.output_max, .used = r->io.output_used});
        if (relay->lost)
                region_end(r, OUTCOME_CANCELLED, 0, "output of the skill cannot be read: %s", strerror(relay->lost));
        if (relay == &r->io.out && relay->error)
                region_end(r, OUTCOME_CANCELLED, relay->error == EPIPE ? SIGPIPE : 0, "standard output: %s", strerror(relay->error));
}

static void on_stdout(void *userdata, short revents) {
        move_out(userdata, &((Run *)userdata)->region.io.out, revents);
}

static void on_stderr(void *userdata, short revents) {
        move_out(userdata, &((Run *)userdata)->region.io.err, revents);
}

static void on_pipe_readable(void *userdata, short revents) {
        ((Run *)userdata)->region.budget.moved++;
        conn_readable(&((Run *)userdata)->region.pipe); /* what came is judged after every wake */
}

static void on_pipe_writable(void *userdata, short revents) {
        conn_writable(&((Run *)userdata)->region.pipe);
}

static void on_pipe_time(void *userdata, uint64_t now) {
        ((Run *)userdata)->pipe.deadline = LOOP_NEVER;
}

void run_watch(Run *run) {
        Region *r = &run->region;
        Loop *l = &run->tree->loop;

        if (run->tree->n_runs == 0)
                loop_add_fd(l, &run->tree->signals, &poll_in, on_signal, run->tree);
        assert(run->tree->n_runs < TREE_RUNS_MAX);
        run->tree->runs[run->tree->n_runs++] = run;
        loop_add_timer(l, &r->budget.wall_deadline, on_wall, run);
        loop_add_timer(l, &r->budget.tick_deadline, on_tick, run);
        loop_add_timer(l, &run->pipe.deadline, on_pipe_time, run);
        if (r->state == REGION_ALLOCATED && r->grant->n_files > 0)
                run->start.setup_deadline = clock_mono_usec() + MIN((uint64_t)RUN_SETUP_USEC, MAX(r->grant->budget.wall_usec, (uint64_t)RUN_SETUP_LEAST_USEC));
        loop_add_timer(l, &run->start.setup_deadline, on_setup_time, run);
        run_watch_stopped(run);
        loop_add_timer(l, &run->start.attach_deadline, on_attach_time, run);
        loop_add_timer(l, &run->watch.hook_deadline, on_early, run);
        loop_add_timer(l, &r->notify.locks_deadline, on_locks, run);
        loop_add_fd(l, &r->cgroup.oom, &r->cgroup.oom_poll, on_memory, run);
        loop_add_fd(l, &r->cgroup.pids_events, &r->cgroup.pids_poll, on_tasks, run);
        loop_add_fd(l, &r->notify.fd, &poll_in, on_notify, run);
        loop_add_fd(l, &r->notify.connects.poll, &poll_in, on_connect, run);
        loop_add_fd(l, &run->pipe.poll[0].fd, &run->pipe.poll[0].events, on_pipe_readable, run);
        loop_add_fd(l, &run->pipe.poll[1].fd, &run->pipe.poll[1].events, on_pipe_writable, run);
        loop_add_fd(l, &r->io.out.poll_fd, &r->io.out.poll_events, on_stdout, run);
        loop_add_fd(l, &r->io.err.poll_fd, &r->io.err.poll_events, on_stderr, run);
        loop_add_fd(l, &r->io.in.poll_fd, &r->io.in.poll_events, on_stdin, run);
        loop_add_fd(l, &r->spawned.status, &poll_in, on_status, run);
        loop_add_fd(l, &r->guard.control, &poll_in, on_guard, run);
}

static void on_settle(void *userdata, uint64_t now) {
        store_wal_checkpoint(userdata);
}

/* It outlives each Run's own sources. */
void run_watch_store(Run *run, const uint64_t *due) {
        loop_add_timer(&run->tree->loop, due, on_settle, run->store.db);
}

/* Its bootstrap has come as far as it can without its words. */
static void on_lifeline(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        char byte;

        if (recv(r->spawned.lifeline, &byte, 1, MSG_DONTWAIT) == 1)
                r->begun_ahead = true;
        else
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the interpreter that was started ahead does not wait");
}

static bool is_held(const Region *r) {
        return r->spawned.ready && (r->grant->discipline == DISCIPLINE_NONE || r->guard.attached);
}

void run_wait_prepared(Run *run, uint64_t until_usec) {
        Region *r = &run->region;
        Loop *l = &run->tree->loop;
        int e = 0;

        run->start.attach_deadline = until_usec;
        loop_add_timer(l, &run->start.attach_deadline, on_attach_time, run);
        loop_add_fd(l, &r->spawned.status, &poll_in, on_status, run);
        loop_add_fd(l, &r->guard.control, &poll_in, on_guard, run);
        while (e >= 0 && r->state == REGION_DECLARED && !is_held(r))
                e = loop_once(l);
        if (e >= 0 && r->state == REGION_DECLARED && r->spawned.ahead) {
                e = spawn_go(&r->spawned);
                loop_add_fd(l, &r->notify.fd, &poll_in, on_notify, run);
                loop_add_fd(l, &r->notify.connects.poll, &poll_in, on_connect, run);
                loop_add_fd(l, &r->spawned.lifeline, &poll_in, on_lifeline, run);
        }
        while (e >= 0 && r->state == REGION_DECLARED && r->spawned.ahead && !r->begun_ahead)
                e = loop_once(l);
        if (e < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "while it was prepared: %s", strerror(-e));
        loop_drop(l, run);
        run->start.attach_deadline = LOOP_NEVER;
}

/* After the end nothing counts but the guard's answers and the worker's death. */
static void on_guard_end(void *userdata, short revents) {
        Guard *g = &((Run *)userdata)->region.guard;
        GuardAnswer a;
        int k;

        while ((k = guard_answer(g, &a)) > 0)
                ;
        if (k != -EAGAIN)
                closep(&g->control);
}

static void on_worker_death(void *userdata, short revents) {
        ((Run *)userdata)->end.worker = -1;
}

static void on_step_time(void *userdata, uint64_t now) {
        Run *run = userdata;

        run->end.deadline = now + TEARDOWN_AGAIN_USEC;
        if (!teardown_is_ready(&run->region) && !teardown_again(&run->region, run->end.since))
                run->end.no_use = true;
}

void run_watch_end(Run *run) {
        Region *r = &run->region;
        Loop *l = &run->tree->loop;

        loop_drop(l, run);
        if (run == run->tree->runs[0])
                loop_drop(l, run->tree); /* a signal that comes now is for who delivers the output */
        run->end.worker = r->has_worker ? r->spawned.pidfd : -1;
        loop_add_fd(l, &r->guard.control, &poll_in, on_guard_end, run);
        loop_add_fd(l, &run->end.worker, &poll_in, on_worker_death, run);
        loop_add_timer(l, &run->end.deadline, on_step_time, run);
        run_watch_stopped(run);
}

void run_watch_rest(Run *run) {
        Relay *err = &run->region.io.err;

        loop_drop(&run->tree->loop, run);
        loop_add_fd(&run->tree->loop, &err->poll_fd, &err->poll_events, on_stderr, run);
}
