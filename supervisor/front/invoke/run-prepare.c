/* Runs: supervisor. */
#include "invoke/run-prepare.h"

#include "base/clock.h"
#include "base/log.h"
#include "invoke/record.h"
#include "spawn/cache.h"
#include "spawn/plan.h"

#include <errno.h>
#include <string.h>

#define PREPARE_USEC_MAX 10000000

/* Nothing that region.allocated says, and nothing that it does, is of one invocation. */
static bool may_be_recorded(const Grant *g) {
        return g->lineage == LINEAGE_STATS && !(g->reads && *g->reads) && json_array_size(g->gates) == 0 && json_object_size(g->slots) == 0 &&
               g->max_of_skill == 0;
}

static void prepare(Run *run, PrepareNote note, void *userdata, Diag *d) {
        _cleanup_free_ char *groups = NULL;
        Region *r = &run->region;
        Probe probe;
        Tier tier;
        int e;

        r->groups = run->options->groups;
        if ((e = region_open(r, NULL, region_io_later)) < 0 || (e = region_vault_open(r, d)) != 0)
                goto failed;
        spawn_cache_probe(spawner_kept(run->options->spawner), &probe);
        if ((e = plan_tier(r->grant, &probe, &tier, d)) != 0)
                goto failed;
        /* Its scratch would be a folder of the host that no record names. */
        if (tier != TIER_NAMESPACES) {
                e = diag(d, -EOPNOTSUPP, "only regions of tier namespaces are prepared");
                goto failed;
        }
        if (r->grant->discipline != DISCIPLINE_NONE && (e = guard_start(&r->guard, run->options->spawner, d)) != 0)
                goto failed;
        if ((e = run_start_worker(run, &probe, true, d)) != 0)
                goto failed;
        groups = r->cgroup.pool ? NULL : region_cgroup_text(&r->cgroup, &e); /* a pool's are found without a note */
        if (e < 0 || (groups && (e = note(userdata, r->id, groups)) < 0))
                goto failed;
        run_make_groups(run);
        if (r->state == REGION_DECLARED)
                run_wait_prepared(run, clock_mono_usec() + PREPARE_USEC_MAX);
        if (r->state == REGION_DECLARED && may_be_recorded(r->grant)) {
                r->start = "pool";
                r->ahead = true;
                e = run_allocate(run, TIER_NAMESPACES, true, &(RecordAhead){.ret_rest = &run->rest}, d);
                store_commit_rest(TAKE_PTR(run->rest));
                r->ahead = r->recorded_start;
                if (e != 0)
                        run_not_recorded(run, e, d);
        }
        return;
failed:
        region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d->text ? d->text : strerror(e < 0 ? -e : EIO));
}

void run_prepare_drop(Run *run) {
        Region *r = &run->region;

        Tree tree = {.signals = -1};

        region_end(r, OUTCOME_CANCELLED, 0, "it was not needed");
        if (r->recorded_start) {
                run->tree = &tree;
                run_watch(run);
                run_until_over(&tree);
        } else
                run_drop(run);
        run_deinit(run);
        free(run);
}

Run *run_prepare(const RunOptions *o, Store *store, Grant *g, PrepareNote note, void *userdata, Diag *reterr) {
        Tree tree = {.signals = -1};
        Run *run = malloc(sizeof(*run));
        int e;

        if (!run) {
                grant_deinit(g);
                return NULL;
        }
        *run = run_new(&tree, o, store, store_dir(store));
        run->own_grant = *g;
        *g = (Grant){0};
        run->preparing = true;
        e = region_init(&run->region, &run->own_grant);
        if (e < 0) {
                diag(reterr, e, "%s", strerror(-e));
                grant_deinit(&run->own_grant);
                free(run);
                return NULL;
        }
        prepare(run, note, userdata, reterr);
        run->tree = NULL;
        if (run->region.state == REGION_DECLARED || run->region.state == REGION_ALLOCATED)
                return run;
        diag(reterr, -EIO, "%s", run->region.reason);
        run_prepare_drop(run);
        return NULL;
}

bool run_prepared_waits(const Run *run) {
        const Region *r = &run->region;
        struct pollfd p[] = {{.fd = r->spawned.status, .events = POLLIN}, {.fd = r->guard.control, .events = POLLIN},
                             {.fd = r->spawned.pidfd, .events = POLLIN}};

        return poll(p, ARRAY_SIZE(p), 0) == 0;
}

bool run_prepared_is_true(const Run *run) {
        return view_still_is(&run->region.spawned.view);
}

bool run_prepared_fits(const Run *run, const Grant *g) {
        return !run->region.recorded_start || (!g->trace.set && run->region.grant->cancel_bound_usec == g->cancel_bound_usec &&
                                               json_array_size(g->reductions) == 0 && json_array_size(g->raised) == 0 && json_array_size(g->beyond) == 0);
}

void run_bind(Run *run, Tree *tree, const RunOptions *o, const Grant *g) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        run->tree = tree;
        run->options = o;
        run->preparing = false;
        region_bind(r, g, o->streams);
        region_io_to_sinks(&r->io, o->out, o->err);
        if (r->recorded_start)
                run_allocated(run);
        e = spawn_words(&r->spawned, g, r->id);
        if (e < 0) {
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "arguments and environment: %s", strerror(-e));
                return;
        }
        /* A worker that stands ready waits for us; one that is only being made is not ready sooner. */
        e = r->recorded_start ? 0 : run_allocate(run, r->spawned.tier, true, &(RecordAhead){.ret_rest = &run->rest}, &d);
        if (e != 0)
                run_not_recorded(run, e, &d);
        else if (json_array_size(g->gates) > 0 && (e = region_budget_limit(&r->budget)) < 0) /* what they read is in sections now */
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "control group: %s", strerror(-e));
}
