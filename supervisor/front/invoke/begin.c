/* Runs: supervisor. The steps of a region's start, whole or in the two halves of pool-region.h; steps.c has their order. */
#include "invoke/guard-ahead.h"
#include "invoke/types.h"

#include "policy/allow.h"
#include "region/region-cgroup-home.h"

#include "base/clock.h"
#include "base/log.h"
#include "engine/fold.h"
#include "policy/route.h"
#include "region/region-route.h"
#include "spawn/cache.h"
#include "spawn/plan.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int begin_pipes(Run *run, Diag *d) {
        Region *r = &run->region;
        int e;

        r->groups = run->options->groups;
        e = region_open(r, run->feed, run->start.preparing ? region_io_later : run->options->streams);
        if (e < 0)
                return diag(d, e, "pipes: %s", strerror(-e));
        region_io_to_sinks(&r->io, run->options->out, run->options->err);
        return 0;
}

int begin_vault(Run *run, Diag *d) {
        return region_vault_open(&run->region, d);
}

/* A share of processors is held by the kernel, or not granted. */
static int begin_quota(const Region *r, Diag *d) {
        const uint64_t cpus = r->grant->budget.cpus_milli;
        const char *fix = "", *why;

        if (cpus == 0 || cpus == BUDGET_NONE || r->cgroup.quota)
                return 0;
        why = home_settle(&fix);
        return diag(d, SPAWN_E_KERNEL,
                    "budgets.cpus: %.10g: the share cannot be held here: it needs a control group with controller cpu "
                    "(cpu.max, or cpu.cfs_quota_us of version 1) that this user may make%s%.200s; fix: %s, or run without --cpus",
                    (double)cpus / 1000, why ? ", and there is none: " : "", why ?: "",
                    *fix ? fix : "root, or a control group that is delegated with controller cpu (systemd: Delegate=yes)");
}

int begin_tier(Run *run, Diag *d) {
        spawn_cache_probe(spawner_kept(run->options->spawner), &run->start.probe);
        return begin_quota(&run->region, d) ?: plan_tier(run->region.grant, &run->start.probe, &run->start.tier, d);
}

/* Returns 0, STORE_E_* or RECOVER_E_* with a message, -errno. */
static int begin_open_store(Run *run, Diag *d) {
        const RunOptions *o = run->options;
        int e = 0;

        if (*run->region.parent) /* the tree's first Run has opened the store */
                return 0;
        if (!run->store.db) {
                e = store_open(run->store.path, STORE_SUPERVISE, &run->store.own, d);
                run->store.db = run->store.own;
        }
        if (!o->recover) {
                if (store_wal_checkpoint_due(run->store.db))
                        run_watch_store(run, store_wal_checkpoint_due(run->store.db));
                return e;
        }
        if (e == 0)
                e = engine_index_renew_now(run->store.db, d);
        if (e == 0) {
                run_watch_store(run, store_keep_ahead_in_loop(run->store.db, RECORD_KEEP_AHEAD));
                e = o->recover(run->store.db, o->policy, o->spawner, o->quiet, d);
        }
        return e;
}

/* The store, after recovery of regions of dead supervisors. */
int begin_store(Run *run, Diag *d) {
        int e = begin_open_store(run, d);

        if (e != 0 && !run_heed_signals(run)) /* a signal ends the wait for the store, and the region with it */
                region_end(&run->region, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d->text ? d->text : store_strerror(e));
        if (e == 0 && run->region.has_worker && run->start.ahead)
                ahead_store(run->start.ahead);
        return e;
}

/* From here on the worker confines itself; the go byte follows the region's record. */
int begin_worker(Run *run, Diag *d) {
        Region *r = &run->region;
        Spawned s = SPAWNED_NULL;
        const SpawnRequest request = {
                .grant = r->grant,
                .probe = &run->start.probe,
                .region = r->id,
                .store_dir = run->store.path,
                .memory_in_cgroup = r->cgroup.memory,
                .tasks_in_cgroup = r->cgroup.pids,
                .spawner = run->options->spawner,
                .tell = run->options->started && !run->parent,
                .later = run->start.preparing, /* arguments and environment follow by spawn_words() */
                .io = {r->io.region_in, r->io.region_out, r->io.region_err, r->region_pipe_in, r->region_pipe_out},
        };
        int e = spawn_start(&request, &s, d);

        if (e != 0) {
                spawn_add_profile(d);
                return e;
        }
        region_started(r, &s);
        if (!run->start.ahead)
                return 0;
        ahead_worker(run->start.ahead);
        if (run->start.tier == TIER_LANDLOCK) /* the store is open already */
                ahead_store(run->start.ahead);
        return 0;
}

/* Before anything of the region is there: a taken port refuses the run. The record has the ports as bound. */
int begin_publish(Run *run, Diag *d) {
        return region_proxy_bind(&run->region.proxy, run->region.grant, d);
}

/* lethe-proxy confines itself while the worker does; run_let_go() gives it the region's listener. */
int begin_proxy(Run *run, Diag *d) {
        const Grant *g = run->region.grant;
        RegionProxy *p = &run->region.proxy;

        if (!grant_has_proxy(g))
                return 0;
        return region_proxy_start(p, run->options->spawner, route_count(g) > 0, d) ?: region_routes_send(p, g, d);
}

int begin_guard(Run *run, Diag *d) {
        if (run->start.ahead)
                return ahead_guard(run->start.ahead, d);
        return run->region.grant->discipline == DISCIPLINE_NONE
                       ? 0
                       : guard_start(&run->region.guard, run->options->spawner, d);
}

void run_allocated(Run *run) {
        if (run->options->begun)
                run->options->begun(run->options->userdata, run->region.id);
        if (run->pipe.dispatch && run->options->policy)
                dispatch_set_starter(run->pipe.dispatch, run_start_sub, run);
}

/* The transaction is durable. */
static int begin_commit(Run *run, Diag *d) {
        Region *r = &run->region;
        RunStart *s = &run->start;
        _cleanup_json_ json_t *copies = TAKE_PTR(s->copies), *evidence = TAKE_PTR(s->evidence);
        int e = record_started(run->store.db, r, TAKE_PTR(s->record), r->has_worker ? &run->store.rest : NULL, d);

        if (e != 0)
                return e;
        r->recorded_start = true;
        region_move(r, REGION_ALLOCATED);
        e = region_add_evidence(r, evidence, d)
                        ?: dispatch_new(run->store.db, r->grant, r->id, copies, &run->pipe.dispatch);
        if (e == 0)
                dispatch_use_vault(run->pipe.dispatch, r->vault);
        if (e == 0 && run->options->progress && !run->parent)
                dispatch_tell_progress(run->pipe.dispatch, run->options->progress, run->options->userdata);
        if (e == 0 && r->session)
                dispatch_use_turn(run->pipe.dispatch, run->options->in_session);
        if (e == 0 && r->discards)
                dispatch_set_discards(run->pipe.dispatch);
        if (!s->preparing)
                run_allocated(run);
        return e > 0 ? RECORD_E_SLOTS : e;
}

static int begin_recorded(Run *run, int e, Diag *d) {
        bool limit = e == RECORD_E_LIMIT || e == RECORD_E_GATE;

        if (e == 0)
                return 0;
        run->start.too_many = e == RECORD_E_LIMIT;
        if ((e == RECORD_E_STORE || e < 0) && run_heed_signals(run)) /* a signal ended the wait for the store */
                return e;
        if (e == RECORD_E_STORE || e < 0)
                run_store_trouble(run, "the store cannot record the region", e, d);
        region_end(&run->region, limit ? OUTCOME_DENIED : OUTCOME_SETUP_FAILED, EXIT_OURS, "%s",
                   *d->text ? d->text : store_strerror(e));
        return e;
}

/* region.allocated is in a transaction, with the pid of an existing worker: recovery finds the region by its process,
 * else by its record alone. */
int begin_record(Run *run, Diag *d) {
        Region *r = &run->region;
        RunStart *s = &run->start;
        DispatchTurn *turn = run->parent ? NULL : run->options->in_session;
        int e;

        r->given = run->parent ? NULL : run->options->given;
        if (turn) {
                r->session = turn->session;
                snprintf(r->parent, sizeof(r->parent), "%s", r->session);
        }
        e = turn && turn->cognition ? region_io_keep(&r->io, DISPATCH_SAID_MAX) : 0; /* the turn's decision */
        e = e ?: record_start(run->store.db, r, turn, run->parent ? NULL : run->options->object, tier_name(s->tier),
                              r->has_worker, &s->copies, &s->evidence, &s->record, d);
        if (e == 0 && turn)
                turn->number = r->turn;
        return begin_recorded(run, e, d);
}

int begin_durable(Run *run, Diag *d) {
        return begin_recorded(run, begin_commit(run, d), d);
}

int begin_pid(Run *run, Diag *d) {
        return begin_recorded(run, record_pid(run->store.db, &run->region, d), d);
}

/* The program's process enters groups of version 1 by itself, and may do so from now on. */
static int begin_enter_groups(Region *r) {
        CgroupTasks t;
        int e = region_cgroup_tasks(&r->cgroup, &t) ?: spawn_groups(&r->spawned, t.fd, t.n);

        region_cgroup_tasks_close(&t);
        return e == -EPIPE ? 0 : e; /* the worker has ended, and its report has the reason */
}

static void begin_make_groups(Run *run) {
        Region *r = &run->region;
        Budget within = r->grant->budget; /* for processes alone: sections and callbacks have their parts */
        int e = 0;

        within.memory_bytes -= MIN(r->budget.reserved + r->budget.lent.memory_bytes, within.memory_bytes);
        if (region_cgroup_any(&r->cgroup))
                e = region_cgroup_make(&r->cgroup, &within);
        run->start.e_groups = e < 0 ? e : begin_enter_groups(r);
        run->start.grouped = true;
}

/* Control groups without a row in the store would be left behind by a crash. Values of gates become sections, which are
 * taken off the group's memory, and are known only after the commit. */
int begin_groups_written(Run *run, Diag *d) {
        if (json_array_size(run->region.grant->gates) == 0 && store_commit_start(run->start.record))
                begin_make_groups(run);
        return 0;
}

int begin_groups(Run *run, Diag *d) {
        if (!run->start.grouped)
                begin_make_groups(run);
        return run->start.e_groups < 0
                       ? diag(d, run->start.e_groups, "control group: %s", strerror(-run->start.e_groups))
                       : 0;
}

/* region.allocated would be the same for every invocation of this grant, at any time: with writes it says which round
 * of a slot the region may answer (engine/round.h). */
static bool prepare_may_record(const Grant *g) {
        return g->lineage == LINEAGE_STATS && !g->session && !(g->reads && *g->reads) && !(g->writes && *g->writes) &&
               json_array_size(g->gates) == 0 &&
               json_object_size(g->slots) == 0 && g->max_of_skill == 0 && g->n_publishes == 0;
}

int prepare_tier(Run *run, Diag *d) {
        int e = begin_tier(run, d);

        /* the scratch of tier landlock is a folder of the host: no record would name it */
        if (e == 0 && run->start.tier != TIER_NAMESPACES)
                e = diag(d, -EOPNOTSUPP, "only regions of tier namespaces are prepared");
        return e;
}

/* Control groups of a pool are found without a note. */
int prepare_note(Run *run, Diag *d) {
        const Region *r = &run->region;
        int e = 0;
        _cleanup_free_ char *groups = r->cgroup.pool ? NULL : region_cgroup_text(&r->cgroup, &e);

        return groups ? run->start.note(run->start.note_userdata, r->id, groups) : e;
}

int prepare_record(Run *run, Diag *d) {
        Region *r = &run->region;
        int e;

        if (!prepare_may_record(r->grant))
                return 0;
        r->start = "pool";
        r->ahead = true;
        e = begin_record(run, d) ?: begin_durable(run, d);
        store_commit_rest(TAKE_PTR(run->store.rest));
        r->ahead = r->recorded_start;
        return e;
}

/* The values of gates are in sections now, and count against the memory budget. */
int prepare_limit(Run *run, Diag *d) {
        int e = json_array_size(run->region.grant->gates) > 0 ? region_budget_limit(&run->region.budget) : 0;

        return e < 0 ? diag(d, e, "control group: %s", strerror(-e)) : 0;
}
