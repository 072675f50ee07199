/* Runs: supervisor. */
#include "daemon/run.h"

#include "base/clock.h"
#include "base/log.h"
#include "daemon/loop.h"
#include "daemon/receipt.h"
#include "daemon/record.h"
#include "daemon/recover.h"
#include "desk/desk.h"
#include "scrub/teardown.h"
#include "spawn/plan.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>

#define EXIT_OURS 125

typedef struct Run {
        const RunOptions *options;
        Store *store;
        Region region;
        Evidence evidence;
        bool torn_down;
        Desk *desk;
        Buf reply;
        Loop loop;
        int signals;
        struct pollfd pipe[2];  /* what the skill's pipe waits for now */
        uint64_t pipe_deadline;
        bool store_failed;      /* the store can record no more: whatever the region did, we did not succeed */
} Run;

static const short poll_in = POLLIN;

int run_take_signals(void) {
        sigset_t set;
        int fd;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        signal(SIGPIPE, SIG_IGN);
        signal(SIGTTIN, SIG_IGN); /* in the background standard input is at its end for us, instead of stopping a region's clock */
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        return fd < 0 ? -errno : fd;
}

/* Handlers: each turns an event into at most one move of the region. */

static void on_signal(void *userdata, short revents) {
        Run *run = userdata;
        struct signalfd_siginfo si;

        while (read(run->signals, &si, sizeof(si)) == (ssize_t)sizeof(si))
                region_end(&run->region, OUTCOME_CANCELLED, (int)si.ssi_signo, "%s from process %u of uid %u",
                           strsignal((int)si.ssi_signo), si.ssi_pid, si.ssi_uid);
}

static void go(Run *run, int notify, int scratch);

static void program_ended(Region *r, const StatusRecord *s) {
        const Budget *max = &r->grant->budget;
        int sig = WIFSIGNALED(s->a) ? WTERMSIG(s->a) : 0;

        r->program_cpu_usec = s->cpu_usec;
        r->program_max_rss = s->max_rss_bytes;
        /* Signals that only a broken limit or the filter sends a program that did not send them itself. */
        if (sig == SIGXFSZ)
                region_end_breach(r, &(Breach){OUTCOME_FILE_SIZE_EXCEEDED, "file_size", max->file_bytes, max->file_bytes + 1});
        else if (sig == SIGXCPU)
                region_end_breach(r, &(Breach){OUTCOME_CPU_EXCEEDED, "cpu", max->cpu_usec, MAX(s->cpu_usec, max->cpu_usec)});
        else if (sig == SIGSYS) {
                denials_add(&r->denials, "abi", "system call", "a foreign ABI (32-bit or x32)", strlen("a foreign ABI (32-bit or x32)"), NULL);
                region_end(r, OUTCOME_DENIED, 0, "the program made a system call of a foreign ABI");
        } else if (sig)
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
                case STATUS_READY:
                        go(run, notify, scratch);
                        break;
                case STATUS_STEP_FAILED:
                        spawn_explain(&r->spawned, &s, &d);
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", d.text);
                        break;
                case STATUS_EXEC_FAILED:
                        region_end(r, OUTCOME_SETUP_FAILED, s.b == ENOENT || s.b == ENOTDIR ? 127 : 126, "%s: %s", r->grant->argv[0],
                                   strerror(s.b));
                        break;
                case STATUS_ENDED:
                        program_ended(r, &s);
                        break;
                }
        }
}

static void on_notify(void *userdata, short revents) {
        Run *run = userdata;
        Region *r = &run->region;
        Breach b;
        bool denied;
        int e = region_notify_ready(&r->notify, revents, &b, &denied);

        if (e < 0)
                region_end(r, OUTCOME_CANCELLED, 0, "seccomp notifications: %s", strerror(-e));
        else if (b.outcome != OUTCOME_NONE)
                region_end_breach(r, &b);
        else if (denied && r->grant->on_denial == DENIAL_END)
                region_end(r, OUTCOME_DENIED, 0, "the first denial ends this skill (on_denial)");
}

static void on_connect(void *userdata, short revents) {
        Region *r = &((Run *)userdata)->region;
        int e = region_notify_connected(&r->notify);

        if (e < 0)
                region_end(r, OUTCOME_CANCELLED, 0, "seccomp notifications: %s", strerror(-e));
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
        region_end_breach(r, &(Breach){OUTCOME_TIMED_OUT, "wall", r->grant->budget.wall_usec, now - r->budget.started_usec});
}

static void on_tick(void *userdata, uint64_t now) {
        Region *r = &((Run *)userdata)->region;
        Breach b = region_budget_tick(&r->budget, now);

        region_end_breach(r, &b);
}

static void on_stdin(void *userdata, short revents) {
        region_io_move_in(&((Run *)userdata)->region.io, revents);
}

static void move_out(Run *run, Relay *relay, short revents) {
        Region *r = &run->region;

        if (region_io_move_out(&r->io, relay, revents))
                region_end_breach(r, &(Breach){OUTCOME_OUTPUT_EXCEEDED, "output", r->io.output_max, r->io.output_used});
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
        conn_readable(&((Run *)userdata)->region.pipe); /* what came is judged after every wake */
}

static void on_pipe_writable(void *userdata, short revents) {
        conn_writable(&((Run *)userdata)->region.pipe);
}

static void on_pipe_time(void *userdata, uint64_t now) {
        ((Run *)userdata)->pipe_deadline = LOOP_NEVER;
}

/* Hands what the pipe has to the desk. */
static void judge_lines(Run *run) {
        Region *r = &run->region;
        const char *line;
        LineKind kind;
        size_t n;

        while ((kind = conn_next(&r->pipe, clock_mono_usec(), &line, &n)) != LINE_NONE) {
                Diag d = {};
                int e;

                run->reply.n = 0;
                if (kind == LINE_WHOLE)
                        e = desk_line(run->desk, line, n, &run->reply, &d);
                else
                        e = desk_bad_frame(run->desk, kind, &run->reply, &d);
                if (run->reply.n > 0)
                        conn_answer(&r->pipe, run->reply.data, run->reply.n);
                if (e == 0)
                        continue;
                if (e == DESK_E_END) {
                        Breach b = {OUTCOME_DENIED, "pipe", PIPE_BAD_LINES_MAX, PIPE_BAD_LINES_MAX + 1};

                        if (region_end_breach(r, &b) || (r->state == REGION_ENDED && region_end_late(r, &b)) ||
                            (r->state == REGION_STOPPED && region_end_late(r, &b)))
                                snprintf(r->reason, sizeof(r->reason), "%s", d.text);
                } else {
                        run->store_failed = true;
                        region_end(r, OUTCOME_CANCELLED, 0, "the store cannot record: %s", e < 0 ? strerror(-e) : d.text);
                        log_error("%s", e < 0 ? strerror(-e) : d.text);
                }
                return;
        }
}

static void watch(Run *run) {
        Region *r = &run->region;
        Loop *l = &run->loop;

        loop_add_timer(l, &r->budget.wall_deadline, on_wall, run);
        loop_add_timer(l, &r->budget.tick_deadline, on_tick, run);
        loop_add_timer(l, &run->pipe_deadline, on_pipe_time, run);
        loop_add_fd(l, &run->signals, &poll_in, on_signal, run);
        loop_add_fd(l, &r->cgroup.oom, &r->cgroup.oom_poll, on_memory, run);
        loop_add_fd(l, &r->cgroup.pids_events, &r->cgroup.pids_poll, on_tasks, run);
        loop_add_fd(l, &r->notify.fd, &poll_in, on_notify, run);
        loop_add_fd(l, &r->notify.connects, &poll_in, on_connect, run);
        loop_add_fd(l, &run->pipe[0].fd, &run->pipe[0].events, on_pipe_readable, run);
        loop_add_fd(l, &run->pipe[1].fd, &run->pipe[1].events, on_pipe_writable, run);
        loop_add_fd(l, &r->io.out.poll_fd, &r->io.out.poll_events, on_stdout, run);
        loop_add_fd(l, &r->io.err.poll_fd, &r->io.err.poll_events, on_stderr, run);
        loop_add_fd(l, &r->io.in.poll_fd, &r->io.in.poll_events, on_stdin, run);
        loop_add_fd(l, &r->spawned.status, &poll_in, on_status, run);
}

/* From the go byte to the known end. */
static void loop_until_ended(Run *run) {
        Region *r = &run->region;

        while (r->state == REGION_ALLOCATED || r->state == REGION_RUNNING) {
                int64_t wait = conn_wants(&r->pipe, clock_mono_usec(), run->pipe);
                int e;

                run->pipe_deadline = wait < 0 ? LOOP_NEVER : clock_mono_usec() + (uint64_t)wait;
                e = loop_once(&run->loop);
                if (e < 0)
                        region_end(r, OUTCOME_CANCELLED, 0, "ppoll: %s", strerror(-e));
                if (r->state == REGION_RUNNING)
                        judge_lines(run);
        }
}

/* What the region wrote to its pipe before it died is judged like all else (a breach would discard it anyway). */
static void judge_rest(Run *run) {
        Region *r = &run->region;

        if (!run->desk || outcome_is_breach(r->outcome) || run->store_failed)
                return;
        conn_drain(&r->pipe);
        while (conn_readable(&r->pipe) == 0 && !run->store_failed && !outcome_is_breach(r->outcome))
                judge_lines(run);
        if (!run->store_failed && !outcome_is_breach(r->outcome))
                judge_lines(run);
}

static void store_trouble(Run *run, const char *what, int e, const Diag *d) {
        run->store_failed = true;
        log_error("%s: %s", what, *d->text ? d->text : strerror(e < 0 ? -e : EIO));
}

/* Allocated before the worker exists where recovery could not find its traces otherwise (tier landlock: the scratch is a host folder),
 * else together with its pid, in one transaction while the worker confines itself. */
static int allocate(Run *run, Tier tier, bool with_pid, Diag *d) {
        Region *r = &run->region;
        _cleanup_json_ json_t *copies = NULL;
        int e = record_start(run->store, r, tier_name(tier), with_pid, &copies, d);

        if (e != 0)
                return e;
        r->recorded_start = true;
        region_move(r, REGION_ALLOCATED);
        return desk_new(run->store, r->grant, r->id, copies, &run->desk);
}

static int start_worker(Run *run, const Probe *probe, Diag *d) {
        Region *r = &run->region;
        Spawned s = SPAWNED_NULL;
        const SpawnRequest request = {
                .grant = r->grant,
                .probe = probe,
                .region = r->id,
                .store_dir = store_dir(run->store),
                .memory_in_cgroup = r->cgroup.memory,
                .tasks_in_cgroup = r->cgroup.pids,
                .io = {r->io.region_in, r->io.region_out, r->io.region_err, r->region_pipe_in, r->region_pipe_out},
        };
        int e = spawn_start(&request, &s, d);

        if (e == 0)
                region_started(r, &s);
        return e;
}

/* DECLARED -> ALLOCATED, or an end. */
static void begin(Run *run) {
        Region *r = &run->region;
        Probe probe;
        Diag d = {};
        Tier tier;
        int e;

        if ((e = region_open(r)) < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "pipes: %s", strerror(-e));
                return;
        }
        probe_quick(&probe);
        e = plan_tier(r->grant, &probe, &tier, &d);
        if (e != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(EIO));
                return;
        }
        if (tier == TIER_LANDLOCK)
                e = allocate(run, tier, false, &d);
        if (e == 0 && (e = start_worker(run, &probe, &d)) != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
                return;
        }
        if (e == 0)
                e = r->recorded_start ? record_pid(run->store, r, &d) : allocate(run, r->spawned.tier, true, &d);
        if (e != 0) {
                bool limit = e == RECORD_E_LIMIT;

                if (e == RECORD_E_STORE || e < 0)
                        store_trouble(run, "the store cannot record the region", e, &d);
                region_end(r, limit ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : store_strerror(e));
                return;
        }
        /* Only now, when the row names them: a control group that nobody knows of would be left behind by a crash. */
        if (region_cgroup_any(&r->cgroup) && (e = region_cgroup_make(&r->cgroup, &r->grant->budget)) < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-e));
}

/* ALLOCATED -> RUNNING: the worker has confined itself and the program stands before its exec. Nothing but these two processes exists,
 * and neither makes another before the go byte: here they are put into the control groups (version 1: the program enters by itself). */
static void go(Run *run, int notify, int scratch) {
        const char *groups[REGION_CGROUPS_MAX + 1];
        Region *r = &run->region;
        int e;

        /* Tier landlock: the worker made no file system of its own that it could hand over; the scratch is the folder made for it. */
        if (scratch < 0 && r->spawned.scratch)
                scratch = open(r->spawned.scratch, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (r->state != REGION_ALLOCATED) { /* a cancel came in the same moment */
                closep(&notify);
                closep(&scratch);
                return;
        }
        r->budget.scratch = scratch;
        if (scratch < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the scratch cannot be measured: %s", strerror(errno));
                return;
        }
        if ((e = region_notify_start(&r->notify, notify, r->spawned.pid)) < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "seccomp notifications: %s", strerror(-e));
                return;
        }
        if (r->cgroup.made && r->cgroup.v2 && (e = region_cgroup_attach_tree(&r->cgroup, r->spawned.pid)) < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-e));
                return;
        }
        r->go_usec = clock_mono_usec();
        region_budget_start(&r->budget, r->spawned.pid, scratch, r->spawned.tier == TIER_LANDLOCK, r->go_usec);
        region_move(r, REGION_RUNNING);
        region_cgroup_list(&r->cgroup, groups);
        e = spawn_go_in(&r->spawned, r->cgroup.made && !r->cgroup.v2 ? groups : NULL);
        if (e < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the worker cannot be let go: %s", strerror(-e));
}

/* A region that was refused after its worker was made: nothing of the skill ran, nothing was recorded. */
static void drop_worker(Run *run) {
        Region *r = &run->region;
        Diag d = {};

        if (!r->has_worker)
                return;
        if (teardown_drop(r, &d) != 0)
                log_error("%s", d.text);
}

/* ENDED -> RECORDED or UNRECORDED. */
static void finish(Run *run) {
        Region *r = &run->region;
        bool faulted = false;
        Diag d = {};
        int e;

        if (outcome_is_breach(r->outcome)) {
                teardown_kill(r); /* at once, and nothing that it does from now on counts */
                e = run->store_failed ? 0 : record_fault(run->store, r, &d);
                if (e != 0)
                        store_trouble(run, "the store cannot record the fault", e, &d);
                faulted = true;
        }
        e = teardown_stop(r, &d);
        if (e != 0) {
                log_error("region %s cannot be stopped: %s", r->id, *d.text ? d.text : strerror(-e));
                r->has_worker = false;
                r->cgroup.made = false;
                region_move(r, REGION_UNRECORDED);
                return;
        }
        judge_rest(run);
        if (outcome_is_breach(r->outcome) && !faulted && !run->store_failed && (e = record_fault(run->store, r, &d)) != 0)
                store_trouble(run, "the store cannot record the fault", e, &d);
        if (run->desk && !run->store_failed && (e = desk_finish(run->desk, &d)) != 0)
                store_trouble(run, "the store cannot record refused requests", e, &d);
        if ((e = teardown_clear(r, &run->evidence, &d)) < 0)
                log_warning("%s", d.text);
        run->torn_down = true;
        region_move(r, REGION_RELEASED);
        if (!run->store_failed && (e = record_end(run->store, r, &run->evidence, &d)) != 0)
                store_trouble(run, "the store cannot record the region's end", e, &d);
        region_move(r, run->store_failed ? REGION_UNRECORDED : REGION_RECORDED);
}

static void tell(const Run *run) {
        const Region *r = &run->region;

        switch (r->outcome) {
        case OUTCOME_EXITED:
        case OUTCOME_SIGNALED:
                if (run->options->verbose || *r->reason)
                        log_note("region %s %s %d%s%s", r->id, outcome_name(r->outcome), r->status, *r->reason ? ": " : "", r->reason);
                break;
        case OUTCOME_SETUP_FAILED:
                log_error("%s", r->reason);
                break;
        case OUTCOME_CANCELLED:
                if (!run->options->quiet)
                        log_note("region %s cancelled: %s", r->id, r->reason);
                break;
        case OUTCOME_NONE:
        case OUTCOME_TIMED_OUT:
        case OUTCOME_OUT_OF_REGION:
        case OUTCOME_CPU_EXCEEDED:
        case OUTCOME_PIDS_EXCEEDED:
        case OUTCOME_OUTPUT_EXCEEDED:
        case OUTCOME_SCRATCH_EXCEEDED:
        case OUTCOME_FILE_SIZE_EXCEEDED:
        case OUTCOME_DENIED:
        default:
                if (!r->recorded_start)
                        log_error("refused: %s", r->reason);
                else if (!run->options->quiet)
                        log_note("region %s %s: %s ('lethe why %s' tells more)", r->id, outcome_name(r->outcome), r->reason, r->id);
        }
}

int run_refused(const RunOptions *o, const char *name, const char *digest, bool by_policy, int code, const char *reason) {
        _cleanup_json_ json_t *receipt = NULL;
        Diag d = {};

        if (!o->receipt)
                return code;
        receipt = receipt_of_refusal(name, digest, by_policy ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, reason);
        if (receipt_write(o->receipt, receipt, &d) < 0)
                log_error("%s", d.text);
        return code;
}

static int refuse(const RunOptions *o, const Grant *g, const char *reason) {
        log_error("%s", reason);
        return run_refused(o, g->skill_name, g->skill_digest, false, EXIT_OURS, reason);
}

int run_invocation(const RunOptions *o, Store *store, const Grant *g, int signals) {
        Run run = {.options = o, .store = store, .signals = signals, .pipe_deadline = LOOP_NEVER, .pipe = {{.fd = -1}, {.fd = -1}}};
        Region *r = &run.region;
        unsigned recovered;
        Diag d = {};
        int e, code;

        e = recover_all(run.store, &recovered, &d);
        if (e == 0)
                e = region_init(r, g);
        if (e != 0)
                return refuse(o, g, *d.text ? d.text : store_strerror(e));
        if (recovered > 0 && !o->quiet)
                log_note("%u region%s of a supervisor that died %s recovered", recovered, recovered == 1 ? "" : "s", recovered == 1 ? "was" : "were");
        begin(&run);
        if (r->state == REGION_ALLOCATED) {
                watch(&run);
                loop_until_ended(&run);
        }
        if (r->state == REGION_ENDED)
                finish(&run);
        else
                drop_worker(&run);
        code = run.store_failed ? EXIT_OURS : region_exit_code(r);
        if (o->receipt) {
                _cleanup_json_ json_t *receipt = receipt_of_region(r, run.torn_down ? &run.evidence : NULL, run.desk ? desk_result(run.desk) : NULL);

                if (receipt_write(o->receipt, receipt, &d) < 0) {
                        log_error("%s", d.text);
                        code = EXIT_OURS;
                }
        }
        region_io_flush(&r->io, signals);
        if (r->io.out.lost || r->io.err.lost) {
                log_error("output of the skill is lost: %s", strerror(r->io.out.lost ? r->io.out.lost : r->io.err.lost));
                code = EXIT_OURS;
        }
        tell(&run);
        desk_free(run.desk);
        buf_deinit(&run.reply);
        region_deinit(r);
        return code;
}
