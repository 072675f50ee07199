/* Runs: supervisor. The words of a region's worker and of its guard: born, ready, attached, ended. */
#include "invoke/types.h"

#include "base/clock.h"
#include "base/log.h"
#include "policy/route.h"
#include "region/region-route.h"
#include "schema/launch.h"
#include "spawn/probe.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

static_assert(GUARD_PROGRAM_FDS == LAUNCH_FD_TREES, "the descriptors of a process that was just born");

/* The region's proxy listens before the first instruction of the program. */
static bool status_open_proxy(Run *run) {
        Region *r = &run->region;
        const bool named = r->grant->n_allows > 0;
        int listener, e = 0;

        if (!r->proxy.wanted)
                return true;
        if (route_count(r->grant) > 0) {
                listener = spawn_listener(&r->spawned, r->grant, PROXY_ROUTE_PORT);
                e = listener < 0 ? -ENOTCONN : region_routes_listen(&r->proxy, listener);
        }
        listener = e == 0 && named ? spawn_listener(&r->spawned, r->grant, PROXY_PORT) : -1;
        if (e == 0)
                e = named && listener < 0 ? -ENOTCONN : region_proxy_open(&r->proxy, r->grant, listener, TAKE_FD(r->spawned.sockets));
        if (e < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "lethe-proxy: %s",
                           e == -ENOTCONN ? "the region has no listener for it" : strerror(-e));
        for (size_t i = 0; e == 0 && !run->options->quiet && i < r->proxy.n_publishes; i++)
                if (r->grant->publishes[i].host_port == 0)
                        log_note("region %s is published at %s", r->id,
                                 net_publish_format(&r->proxy.publishes[i].at, (char[NET_PUBLISH_TEXT_MAX]){0}));
        return e == 0;
}

/* ALLOCATED -> RUNNING, when the worker is ready and the guard has taken hold of the program's process. */
void run_let_go(Run *run) {
        Region *r = &run->region;
        int e;

        if (r->state != REGION_ALLOCATED || !r->spawned.ready ||
            (r->grant->discipline != DISCIPLINE_NONE && !r->guard.attached))
                return;
        run->start.attach_deadline = run->start.setup_deadline = LOOP_NEVER;
        if (!status_open_proxy(run))
                return;
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
        *ret = (GuardOrder){.version = GUARD_VERSION,
                            .kind = GUARD_ATTACH,
                            .passes = r->grant->passes,
                            .tier = (uint32_t)r->spawned.tier,
                            .init = r->spawned.pid,
                            .flags = (r->hold ? GUARD_HOLD : 0) | (r->spawned.warm ? GUARD_WARM : 0)};
        snprintf(ret->region, sizeof(ret->region), "%s", r->id);
}

int run_scratch(const Spawned *s, int scratch) {
        return scratch < 0 && s->scratch ? open(s->scratch, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : scratch;
}

static int status_attach(Run *run, Diag *d) {
        GuardOrder o;

        run_attach_order(run, &o);
        if (!run->start.preparing)
                run->start.attach_deadline = clock_mono_usec() + RUN_ATTACH_USEC_MAX;
        return guard_attach(&run->region.guard, &o, store_dir(run->store.db), run->region.spawned.memory,
                            run->region.budget.scratch, d);
}

/* The program is yet to be executed: the region is recorded, or is being prepared. */
static bool status_awaits_program(const Run *run) {
        return run->region.state == (run->start.preparing ? REGION_DECLARED : REGION_ALLOCATED);
}

void run_born(Run *run, int scratch, bool attached) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        if (!status_awaits_program(run)) { /* a cancel came in the same moment */
                closep(&scratch);
                return;
        }
        region_budget_scratch(&r->budget, scratch, r->spawned.tier == TIER_LANDLOCK);
        if (r->spawned.terminal >= 0 && (e = region_io_take_terminal(&r->io, TAKE_FD(r->spawned.terminal))) < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the region's terminal: %s", strerror(-e));
        else if (scratch < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "the scratch cannot be measured: %s", strerror(errno));
        else if (!attached && r->grant->discipline != DISCIPLINE_NONE && (e = status_attach(run, &d)) != 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EPIPE));
}

/* Still ALLOCATED: the worker has confined itself and the program stands before its exec. These two processes are all
 * of the region, and neither makes another process before the go byte: here they enter a control group of version 2. */
static void status_ready(Run *run, int notify) {
        Region *r = &run->region;
        int e;

        if (!status_awaits_program(run)) {
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

/* When a guard ends, the kernel kills the processes that it traces. The guard's socket is closed before that: when the
 * program's end is known, so is the guard's. */
static bool status_guard_is_lost(const Region *r) {
        struct pollfd p = {.fd = r->guard.control, .events = POLLIN};

        return r->guard.sent && !r->guard.empty && (p.fd < 0 || (poll(&p, 1, 0) > 0 && p.revents & POLLHUP));
}

static void status_guard_lost(Region *r) {
        closep(&r->guard.control);
        region_end(r, OUTCOME_GUARD_LOST, 0,
                   "lethe-guard ended, and the program with it: what the region held was not overwritten");
}

/* A program that was not traced (discipline none) is taken to have sent no such signal to itself. */
static bool status_kernel_sent(const Region *r, unsigned fact) {
        return !r->guard.page || guard_facts(&r->guard) & fact;
}

static void status_program_ended(Region *r, const StatusRecord *s) {
        Breach b = {.outcome = OUTCOME_NONE};
        int sig = WIFSIGNALED(s->a) ? WTERMSIG(s->a) : 0;

        r->program_cpu_usec = s->cpu_usec;
        r->program_max_rss = s->max_rss_bytes;
        /* A broken limit or the filter sends these signals; a process can send them, too. */
        if (sig == SIGXFSZ && status_kernel_sent(r, GUARD_FACT_FILE_LIMIT))
                b = region_budget_file_signal(&r->budget);
        else if (sig == SIGXCPU)
                b = region_budget_cpu_signal(&r->budget, s->cpu_usec);
        if (region_end_breach(r, &b))
                return;
        /* else a filter of the program's own may have sent it */
        if (sig == SIGSYS && status_kernel_sent(r, GUARD_FACT_FOREIGN)) {
                denials_add(&r->denials, "abi", "system call", "a foreign ABI (32-bit or x32)",
                            strlen("a foreign ABI (32-bit or x32)"), NULL);
                region_end(r, OUTCOME_DENIED, 0, "the program made a system call of a foreign ABI");
        } else if (sig == SIGKILL && status_guard_is_lost(r))
                status_guard_lost(r);
        else if (sig)
                region_end(r, OUTCOME_SIGNALED, sig, "%s", "");
        else
                region_end(r, OUTCOME_EXITED, WEXITSTATUS(s->a), "%s", "");
}

void run_on_status(void *userdata, short revents) {
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
                                   r->state == REGION_ALLOCATED ? EXIT_OURS : 0, "the worker's report: %s",
                                   strerror(-k));
                        return;
                }
                if (k == 0) {
                        /* No process is left to tell how the region ended. A broken memory budget may be the cause:
                         * teardown looks. */
                        closep(&r->spawned.status);
                        if (r->state == REGION_ALLOCATED)
                                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS,
                                           "the worker died before the program started");
                        else
                                region_end(r, OUTCOME_SIGNALED, SIGKILL, "the region's first process was killed");
                        return;
                }
                switch ((StatusKind)s.kind) {
                case STATUS_BORN:
                        run_born(run, run_scratch(&r->spawned, scratch), false);
                        break;
                case STATUS_TERMINAL:
                case STATUS_LISTENING: /* taken by spawn_status() */
                case STATUS_SOCKETS:
                        break;
                case STATUS_READY:
                        status_ready(run, notify);
                        break;
                case STATUS_STEP_FAILED:
                        spawn_explain(&r->spawned, &s, &d);
                        spawn_add_profile(&d);
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", d.text);
                        break;
                case STATUS_EXEC_FAILED:
                        run_not_executed(r, s.b);
                        break;
                case STATUS_EXECUTED:
                        if (run->options->started && !run->parent && r->outcome == OUTCOME_NONE)
                                run->options->started(run->options->userdata);
                        break;
                case STATUS_ENDED:
                        status_program_ended(r, &s);
                        break;
                }
        }
}

void run_check_answers(Run *run) {
        if (run->region.notify.failed < 0)
                region_end(&run->region, OUTCOME_CANCELLED, 0, "seccomp notifications: %s",
                           strerror(-run->region.notify.failed));
}

/* The time of an answer with the low 32 bits of CLOCK_MONOTONIC usec. */
static uint64_t status_clock(int32_t code) {
        const uint64_t now = clock_mono_usec();

        return now - ((uint32_t)now - (uint32_t)code);
}

void run_on_guard(void *userdata, short revents) {
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
                                status_guard_lost(r);
                        else
                                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS,
                                           "lethe-guard ended before the program was started");
                        return;
                }
                if (a.kind == GUARD_ATTACHED && a.error != 0) {
                        guard_explain(a.error, &d);
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", d.text);
                } else if (a.kind == GUARD_ATTACHED) {
                        run_let_go(run);
                } else if (a.kind == GUARD_STOOD) {
                        region_budget_stood(&r->budget, status_clock(a.code));
                } else if (a.kind == GUARD_ENDING) {
                        status_program_ended(r, &(StatusRecord){.kind = STATUS_ENDED, .a = a.code});
                } else if (a.kind == GUARD_PAUSED && run->watch.hook) {
                        hook_paused(run->watch.hook, (uint32_t)a.code, a.error);
                        run_check_answers(run);
                } else if (a.kind == GUARD_RESUMED && run->watch.hook) {
                        hook_resumed(run->watch.hook, (uint32_t)a.code, a.error);
                        run_check_answers(run);
                }
        }
}

void run_on_attach_time(void *userdata, uint64_t now) {
        Run *run = userdata;

        run->start.attach_deadline = LOOP_NEVER;
        region_end(&run->region, OUTCOME_SETUP_FAILED, EXIT_OURS, "lethe-guard does not answer");
}
