/* Runs: supervisor. */
#include "invoke/run-ahead.h"
#include "base/waiting.h"
#include "invoke/run-prepare.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "invoke/notes.h"
#include "invoke/receipt.h"
#include "invoke/record.h"
#include "engine/fold.h"
#include "region/region-cgroup-home.h"
#include "scrub/teardown.h"
#include "spawn/cache.h"
#include "spawn/plan.h"

#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

int run_take_signals(void) {
        sigset_t set;
        int fd;

        sigemptyset(&set);
        sigaddset(&set, SIGTERM);
        sigaddset(&set, SIGINT);
        sigaddset(&set, SIGHUP);
        signal(SIGPIPE, SIG_IGN);
        /* In the background standard input is at its end for us, and a terminal with tostop is written to: neither stops a region's clock. */
        signal(SIGTTIN, SIG_IGN);
        signal(SIGTTOU, SIG_IGN);
        if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
                return -errno;
        fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
        if (fd >= 0) {
                store_stop_at(fd);
                hash_heed_signals();
        }
        return fd < 0 ? -errno : fd;
}

void run_store_trouble(Run *run, const char *what, int e, const Diag *d) {
        run->store_failed = true;
        log_error("%s: %s", what, *d->text ? d->text : strerror(e < 0 ? -e : EIO));
}

/* Allocated before the worker exists where recovery could not find its traces otherwise (tier landlock: the scratch is a host folder),
 * else together with its pid, in one transaction while the worker confines itself. */
int run_allocate(Run *run, Tier tier, bool with_pid, const RecordAhead *ahead, Diag *d) {
        Region *r = &run->region;
        _cleanup_json_ json_t *copies = NULL, *evidence = NULL;
        int e;

        r->given = run->parent ? NULL : run->options->given;
        e = record_start(run->store, r, tier_name(tier), with_pid, &copies, &evidence, ahead, d);
        if (e != 0)
                return e;
        r->recorded_start = true;
        region_move(r, REGION_ALLOCATED);
        e = region_add_evidence(r, evidence, d);
        if (e == 0)
                e = dispatch_new(run->store, r->grant, r->id, copies, &run->dispatch);
        if (e == 0)
                dispatch_use_vault(run->dispatch, r->vault);
        if (e == 0 && r->discards)
                dispatch_set_discards(run->dispatch);
        if (!run->preparing)
                run_allocated(run);
        return e > 0 ? RECORD_E_SLOTS : e;
}

void run_allocated(Run *run) {
        if (run->options->begun)
                run->options->begun(run->options->userdata, run->region.id);
        if (run->dispatch && run->options->policy)
                dispatch_set_starter(run->dispatch, run_start_sub, run);
}

int run_start_worker(Run *run, const Probe *probe, bool later, Diag *d) {
        Region *r = &run->region;
        Spawned s = SPAWNED_NULL;
        const SpawnRequest request = {
                .grant = r->grant,
                .probe = probe,
                .region = r->id,
                .store_dir = run->store_path,
                .memory_in_cgroup = r->cgroup.memory,
                .tasks_in_cgroup = r->cgroup.pids,
                .spawner = run->options->spawner,
                .later = later,
                .io = {r->io.region_in, r->io.region_out, r->io.region_err, r->region_pipe_in, r->region_pipe_out},
        };
        int e = spawn_start(&request, &s, d);

        if (e == 0)
                region_started(r, &s);
        else
                spawn_add_profile(d);
        return e;
}

/* The store, with nothing in it that a dead supervisor left half done. Returns 0, STORE_E_* or RECOVER_E_* with a message, -errno. */
static int ready_store(Run *run, Diag *d) {
        unsigned recovered = 0;
        int e = 0;

        if (*run->region.parent) /* seen to when the first of the tree began */
                return 0;
        if (!run->store) {
                e = store_open(run->store_path, STORE_SUPERVISE, &run->own_store, d);
                run->store = run->own_store;
        }
        if (!run->options->recover) {
                if (store_wal_checkpoint_due(run->store))
                        run_watch_store(run, store_wal_checkpoint_due(run->store));
                return e;
        }
        if (e == 0)
                e = engine_index_renew_now(run->store, d);
        if (e == 0) {
                run_watch_store(run, store_keep_ahead_in_loop(run->store, RECORD_KEEP_AHEAD));
                e = run->options->recover(run->store, run->options->policy, run->options->spawner, &recovered, d);
        }
        if (e == 0 && recovered > 0 && !run->options->quiet)
                log_note("%u region%s of a supervisor that died %s recovered", recovered, recovered == 1 ? "" : "s", recovered == 1 ? "was" : "were");
        return e;
}

/* The program's process enters groups of version 1 by itself, and may do so from now on. */
static int enter_groups(Region *r) {
        CgroupTasks t;
        int e = region_cgroup_tasks(&r->cgroup, &t);

        if (e == 0)
                e = spawn_groups(&r->spawned, t.fd, t.n);
        region_cgroup_tasks_close(&t);
        return e == -EPIPE ? 0 : e; /* a worker that is gone has said why */
}

/* Only when a row names them: a control group that nobody knows of would be left behind by a crash. Its region may not be ALLOCATED yet. */
static void make_groups(void *userdata) {
        Run *run = userdata;
        Region *r = &run->region;
        Budget within = r->grant->budget; /* what its processes may use: the sections are here, and the callbacks have theirs */
        int e = 0;

        within.memory_bytes -= MIN(r->budget.reserved + r->budget.lent.memory_bytes, within.memory_bytes);
        if (region_cgroup_any(&r->cgroup))
                e = region_cgroup_make(&r->cgroup, &within);
        run->e_groups = e < 0 ? e : enter_groups(r);
        run->grouped = true;
}

void run_make_groups(Run *run) {
        if (!run->grouped)
                make_groups(run);
        if (run->e_groups < 0)
                region_end(&run->region, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-run->e_groups));
}

void run_not_recorded(Run *run, int e, const Diag *d) {
        bool limit = e == RECORD_E_LIMIT || e == RECORD_E_GATE;

        run->too_many = e == RECORD_E_LIMIT;
        if ((e == RECORD_E_STORE || e < 0) && run_heed_signals(run)) /* which ended the wait for the store */
                return;
        if (e == RECORD_E_STORE || e < 0)
                run_store_trouble(run, "the store cannot record the region", e, d);
        region_end(&run->region, limit ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d->text ? d->text : store_strerror(e));
}

/* False when the region has ended. */
static bool ready(Run *run, Diag *d) {
        Region *r = &run->region;
        int e;

        if ((e = ready_store(run, d)) != 0 && !run_heed_signals(run))
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d->text ? d->text : store_strerror(e));
        return e == 0;
}

static void begin(Run *run, Ahead *ahead) {
        Region *r = &run->region;
        /* What gates read becomes sections, which are taken off the group's memory: only then is it known. */
        const RecordAhead record = {&run->rest, json_array_size(r->grant->gates) == 0 ? make_groups : NULL, run};
        Probe probe;
        Diag d = {};
        Tier tier;
        int e;

        r->groups = run->options->groups;
        if ((e = region_open(r, run->feed, run->options->streams)) < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "pipes: %s", strerror(-e));
                return;
        }
        region_io_to_sinks(&r->io, run->options->out, run->options->err);
        if ((e = region_vault_open(r, &d)) != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(-e));
                return;
        }
        spawn_cache_probe(spawner_kept(run->options->spawner), &probe);
        e = plan_tier(r->grant, &probe, &tier, &d);
        if (e != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(EIO));
                return;
        }
        if (tier == TIER_LANDLOCK) {
                if (!ready(run, &d))
                        return;
                e = run_allocate(run, tier, false, NULL, &d);
        }
        if (e == 0 && (e = run_start_worker(run, &probe, false, &d)) != 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
                return;
        }
        if (e == 0)
                ahead_worker(ahead);
        /* The worker confines itself meanwhile; it is told to go on only when the region is recorded. */
        if (tier != TIER_LANDLOCK && !ready(run, &d))
                return;
        if (e == 0) {
                ahead_store(ahead);
                if ((e = ahead_guard(ahead, &d)) != 0) {
                        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(-e));
                        return;
                }
        }
        if (e == 0)
                e = r->recorded_start ? record_pid(run->store, r, &d) : run_allocate(run, r->spawned.tier, true, &record, &d);
        if (e != 0)
                run_not_recorded(run, e, &d);
        else
                run_make_groups(run);
}

void run_begin(Run *run) {
        Ahead ahead;

        if (!run->options->groups) /* while no child of ours is in the group that is to be divided: a guard is one */
                home_settle(NULL);
        ahead_begin(&ahead, run);
        begin(run, &ahead);
        store_commit_rest(TAKE_PTR(run->rest));
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

static bool wants_receipt(const RunOptions *o) {
        return o->receipt || o->ret_receipt;
}

/* False when it could not be written, which was said. */
static bool give_receipt(const RunOptions *o, json_t *receipt) {
        _cleanup_json_ json_t *owned = receipt;
        Diag d = {};

        if (o->ret_receipt) {
                *o->ret_receipt = TAKE_PTR(owned);
                return *o->ret_receipt;
        }
        if (receipt_write(o->receipt, owned, &d) == 0)
                return true;
        log_error("%s", d.text);
        return false;
}

int run_refused(const RunOptions *o, const char *name, const char *digest, bool by_policy, int code, const char *reason) {
        if (wants_receipt(o))
                give_receipt(o, receipt_of_refusal(name, digest, by_policy ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, reason));
        return code;
}

void run_deinit(Run *run) {
        assert(!run->rest);
        dispatch_free(run->dispatch);
        buf_deinit(&run->reply);
        json_decref(run->call);
        hook_free(run->early);
        guard_done(&run->region.guard);
        store_free(run->own_store); /* while the guard ends */
        region_deinit(&run->region);
        grant_deinit(&run->own_grant);
        strv_free(run->lent_env);
}

static int refuse(const RunOptions *o, const Grant *g, const char *reason) {
        log_error("%s", reason);
        return run_refused(o, g->skill_name, g->skill_digest, false, EXIT_OURS, reason);
}

/* What was put off for one who waits for the answer, before somebody else is waited for. The guard is told behind the answer: it is before all others on
 * the processor. */
static void catch_up(Run *run) {
        store_commit_rest(TAKE_PTR(run->rest));
        guard_done(&run->region.guard);
}

/* What became of the notes of a region that has ended, for the receipt; NULL: it may keep none. *ret_failed: they were to be promoted, and were not. */
static json_t *end_of_notes(Run *run, int signals, bool *ret_failed) {
        const Region *r = &run->region;
        uint64_t added = run->dispatch ? dispatch_notes(run->dispatch) : 0;
        bool dropped = outcome_is_breach(r->outcome) || *r->discarded;
        json_t *o = r->grant->notes ? json_pack("{s:o, s:o}", "added", json_u64(added), "dropped", json_u64(dropped ? added : 0)) : NULL;
        Diag d;

        if (!o || !run->options->promote || added == 0 || dropped || r->state != REGION_RECORDED)
                return o;
        catch_up(run); /* its own record comes first */
        if (notes_promote(run->store, r->id, r->grant->client ? r->grant->client : getuid(), signals, o, &d) != 0) {
                log_error("notes of region %s: %s; `lethe promote %s` goes on with them", r->id, d.text, r->id);
                *ret_failed = true;
        }
        return o;
}

const json_t *run_memory_ended(const Run *run) {
        return run->dispatch && run->region.state == REGION_RECORDED ? dispatch_memory_ended(run->dispatch) : NULL;
}

/* One that waits, unless it was recorded ahead and as many regions live as may: the one that is begun anew then says so. */
static Run *take_prepared(const RunOptions *o, const Grant *g) {
        Run *run = g->name || !o->prepared ? NULL : o->prepared->take(o->prepared_data, g, o->turn); /* a name stands in what is recorded first */
        Diag d;

        if (run && run->region.ahead && record_taken(run->store, &run->region, &d) != 0) {
                o->prepared->give_back(o->prepared_data, run);
                return NULL;
        }
        return run;
}

/* A caller that does not read standard error has its result so much later and no more. */
#define LOG_PATIENCE_MSEC 2000

int run_invocation(const RunOptions *o, Store *store, const char *store_path, const Grant *g, int signals) {
        Tree tree = {.signals = signals};
        Run cold = run_new(&tree, o, store, store_path), *prepared = take_prepared(o, g), *run = prepared ?: &cold;
        Region *r = &run->region;
        bool failed = false;
        json_t *notes;
        int e, code;

        store_stop_at(signals);
        e = prepared ? 0 : region_init(r, g);
        if (e != 0)
                return refuse(o, g, strerror(-e));
        log_hold(); /* who does not read standard error holds up no region's end */
        if (prepared)
                run_bind(run, &tree, o, g);
        else
                run_begin(run);
        if (r->recorded_start) {
                run_watch(run);
                run_let_go(run);
                store_commit_rest(TAKE_PTR(run->rest));
                run_until_over(&tree);
        } else
                run_drop(run);
        notes = end_of_notes(run, signals, &failed);
        code = run->store_failed || failed ? region_trouble_code(r) : region_exit_code(r);
        if (wants_receipt(o) && !give_receipt(o, receipt_of_region(r, run->torn_down ? &run->evidence : NULL, run->dispatch ? dispatch_result(run->dispatch) : NULL,
                                                                    notes, run_memory_ended(run))))
                code = region_trouble_code(r);
        json_decref(notes);
        _cleanup_waiting_ Waiting w = waiting_for_streams();
        if (!region_io_is_flushed(&r->io))
                catch_up(run);
        region_io_flush(&r->io, signals, UINT64_MAX);
        if (r->io.out.lost || r->io.err.lost) {
                log_error("output of the skill is lost: %s", strerror(r->io.out.lost ? r->io.out.lost : r->io.err.lost));
                code = region_trouble_code(r);
        }
        run_free_subs(&tree);
        run_tell(run);
        if (log_is_kept())
                catch_up(run);
        log_let_go(signals, LOG_PATIENCE_MSEC);
        if (o->over)
                o->over(o->userdata, code);
        catch_up(run);
        if (prepared)
                o->prepared->over(o->prepared_data, r->id);
        run_deinit(run);
        free(prepared);
        if (o->prepared)
                o->prepared->leave(o->prepared_data);
        return code;
}
