/* Runs: supervisor. */
#include "daemon/run-ahead.h"

#include "base/clock.h"
#include "base/log.h"
#include "daemon/receipt.h"
#include "daemon/record.h"
#include "daemon/recover.h"
#include "scrub/teardown.h"
#include "spawn/plan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>

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

void run_store_trouble(Run *run, const char *what, int e, const Diag *d) {
        run->store_failed = true;
        log_error("%s: %s", what, *d->text ? d->text : strerror(e < 0 ? -e : EIO));
}

/* Allocated before the worker exists where recovery could not find its traces otherwise (tier landlock: the scratch is a host folder),
 * else together with its pid, in one transaction while the worker confines itself. */
static int allocate(Run *run, Tier tier, bool with_pid, Diag *d) {
        Region *r = &run->region;
        _cleanup_json_ json_t *copies = NULL, *evidence = NULL;
        int e = record_start(run->store, r, tier_name(tier), with_pid, &copies, &evidence, d);

        if (e != 0)
                return e;
        r->recorded_start = true;
        region_move(r, REGION_ALLOCATED);
        e = region_add_evidence(r, evidence, d);
        if (e == 0)
                e = desk_new(run->store, r->grant, r->id, copies, &run->desk);
        if (e == 0)
                desk_use_vault(run->desk, r->vault);
        if (e == 0 && run->options->policy)
                desk_set_starter(run->desk, run_start_sub, run);
        return e > 0 ? RECORD_E_SLOTS : e;
}

static int start_worker(Run *run, const Probe *probe, Diag *d) {
        Region *r = &run->region;
        Spawned s = SPAWNED_NULL;
        const SpawnRequest request = {
                .grant = r->grant,
                .probe = probe,
                .region = r->id,
                .store_dir = run->store_path,
                .memory_in_cgroup = r->cgroup.memory,
                .tasks_in_cgroup = r->cgroup.pids,
                .io = {r->io.region_in, r->io.region_out, r->io.region_err, r->region_pipe_in, r->region_pipe_out},
        };
        int e = spawn_start(&request, &s, d);

        if (e == 0)
                region_started(r, &s);
        return e;
}

/* The store, with nothing in it that a dead supervisor left half done. Returns 0, STORE_E_* or RECOVER_E_* with a message, -errno. */
static int ready_store(Run *run, Diag *d) {
        unsigned recovered;
        int e = 0;

        if (*run->region.parent) /* seen to when the first of the tree began */
                return 0;
        if (!run->store) {
                e = store_open(run->store_path, STORE_SUPERVISE, &run->own_store, d);
                run->store = run->own_store;
        }
        if (e == 0)
                e = recover_all(run->store, run->options->policy, &recovered, d);
        if (e == 0 && recovered > 0 && !run->options->quiet)
                log_note("%u region%s of a supervisor that died %s recovered", recovered, recovered == 1 ? "" : "s", recovered == 1 ? "was" : "were");
        return e;
}

/* The program's process enters groups of version 1 by itself, and may do so from now on. */
static void enter_groups(Region *r) {
        const char *groups[REGION_CGROUPS_MAX + 1];
        int e;

        region_cgroup_list(&r->cgroup, groups);
        e = spawn_groups(&r->spawned, r->cgroup.made && !r->cgroup.v2 ? groups : NULL);
        if (e < 0 && e != -EPIPE) /* a worker that is gone has said why */
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-e));
}

static void begin(Run *run, Ahead *ahead) {
        Region *r = &run->region;
        Budget within; /* what the processes of the region may use: its budget without the sections, which are here, and the callbacks' memory */
        Probe probe;
        Diag d = {};
        Tier tier;
        int e;

        if ((e = region_open(r, run->feed)) < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "pipes: %s", strerror(-e));
                return;
        }
        if ((e = region_vault_open(r, &d)) != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(-e));
                return;
        }
        probe_quick(&probe);
        e = plan_tier(r->grant, &probe, &tier, &d);
        if (e != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(EIO));
                return;
        }
        if (tier == TIER_LANDLOCK) {
                if ((e = ready_store(run, &d)) != 0) {
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : store_strerror(e));
                        return;
                }
                e = allocate(run, tier, false, &d);
        }
        if (e == 0 && (e = start_worker(run, &probe, &d)) != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
                return;
        }
        if (e == 0)
                ahead_worker(ahead);
        /* The worker confines itself meanwhile; it is told to go on only when the region is recorded. */
        if (tier != TIER_LANDLOCK && (e = ready_store(run, &d)) != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : store_strerror(e));
                return;
        }
        if (e == 0) {
                ahead_store(ahead);
                if ((e = ahead_guard(ahead, &d)) != 0) {
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(-e));
                        return;
                }
        }
        if (e == 0)
                e = r->recorded_start ? record_pid(run->store, r, &d) : allocate(run, r->spawned.tier, true, &d);
        if (e != 0) {
                bool limit = e == RECORD_E_LIMIT || e == RECORD_E_GATE;

                run->too_many = e == RECORD_E_LIMIT;
                if (e == RECORD_E_STORE || e < 0)
                        run_store_trouble(run, "the store cannot record the region", e, &d);
                region_end(r, limit ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : store_strerror(e));
                return;
        }
        /* Only now, when the row names them: a control group that nobody knows of would be left behind by a crash. */
        within = r->grant->budget;
        within.memory_bytes -= MIN(r->budget.reserved + r->budget.lent.memory_bytes, within.memory_bytes);
        if (region_cgroup_any(&r->cgroup) && (e = region_cgroup_make(&r->cgroup, &within)) < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-e));
        else
                enter_groups(r);
}

void run_begin(Run *run) {
        Ahead ahead;

        ahead_begin(&ahead, run);
        begin(run, &ahead);
        ahead_end(&ahead);
}

void run_drop(Run *run) {
        Region *r = &run->region;
        Diag d = {};

        if (!r->has_worker)
                return;
        if (teardown_drop(r, &d) != 0)
                log_error("%s", d.text);
}

void run_tell(const Run *run) {
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

void run_deinit(Run *run) {
        desk_free(run->desk);
        buf_deinit(&run->reply);
        json_decref(run->call);
        early_free(run->early);
        region_deinit(&run->region);
        grant_deinit(&run->own_grant);
        strv_free(run->lent_env);
        store_free(run->own_store);
}

static int refuse(const RunOptions *o, const Grant *g, const char *reason) {
        log_error("%s", reason);
        return run_refused(o, g->skill_name, g->skill_digest, false, EXIT_OURS, reason);
}

int run_invocation(const RunOptions *o, Store *store, const char *store_path, const Grant *g, int signals) {
        Tree tree = {.signals = signals};
        Run run = run_new(&tree, o, store, store_path);
        Region *r = &run.region;
        Diag d = {};
        int e, code;

        e = region_init(r, g);
        if (e != 0)
                return refuse(o, g, strerror(-e));
        log_hold(); /* who does not read standard error holds up no region's end */
        run_begin(&run);
        if (r->recorded_start) {
                run_watch(&run);
                run_until_over(&tree);
        } else
                run_drop(&run);
        code = run.store_failed ? EXIT_OURS : region_exit_code(r);
        if (o->receipt) {
                _cleanup_json_ json_t *receipt = receipt_of_region(r, run.torn_down ? &run.evidence : NULL, run.desk ? desk_result(run.desk) : NULL);

                if (receipt_write(o->receipt, receipt, &d) < 0) {
                        log_error("%s", d.text);
                        code = EXIT_OURS;
                }
        }
        region_io_flush(&r->io, signals, UINT64_MAX);
        if (r->io.out.lost || r->io.err.lost) {
                log_error("output of the skill is lost: %s", strerror(r->io.out.lost ? r->io.out.lost : r->io.err.lost));
                code = EXIT_OURS;
        }
        run_free_subs(&tree);
        run_tell(&run);
        run_deinit(&run);
        log_let_go(signals);
        return code;
}
