/* Runs: supervisor. */
#include "invoke/prepare.h"

#include "base/clock.h"
#include "invoke/record.h"

#include <errno.h>
#include <string.h>

#define PREPARE_USEC_MAX 10000000

/* region.allocated would be the same for every invocation of this grant. */
static bool prepare_may_record(const Grant *g) {
        return g->lineage == LINEAGE_STATS && !(g->reads && *g->reads) && json_array_size(g->gates) == 0 &&
               json_object_size(g->slots) == 0 && g->max_of_skill == 0;
}

int prepare_pipes(Run *run, Diag *d) {
        int e;

        run->region.groups = run->options->groups;
        e = region_open(&run->region, NULL, region_io_later);
        return e < 0 ? diag(d, e, "pipes: %s", strerror(-e)) : 0;
}

int prepare_tier(Run *run, Diag *d) {
        int e = begin_tier(run, d);

        if (e == 0 &&
            run->start.tier !=
                    TIER_NAMESPACES) /* the scratch of tier landlock is a folder of the host: no record would name it */
                e = diag(d, -EOPNOTSUPP, "only regions of tier namespaces are prepared");
        return e;
}

int prepare_guard(Run *run, Diag *d) {
        return run->region.grant->discipline == DISCIPLINE_NONE
                       ? 0
                       : guard_start(&run->region.guard, run->options->spawner, d);
}

int prepare_worker(Run *run, Diag *d) {
        return run_start_worker(run, true, d);
}

/* Control groups of a pool are found without a note. */
int prepare_note(Run *run, Diag *d) {
        const Region *r = &run->region;
        int e = 0;
        _cleanup_free_ char *groups = r->cgroup.pool ? NULL : region_cgroup_text(&r->cgroup, &e);

        return groups ? run->start.note(run->start.note_userdata, r->id, groups) : e;
}

int prepare_wait(Run *run, Diag *d) {
        run_wait_prepared(run, clock_mono_usec() + PREPARE_USEC_MAX);
        return 0;
}

int prepare_record(Run *run, Diag *d) {
        Region *r = &run->region;
        int e;

        if (!prepare_may_record(r->grant))
                return 0;
        r->start = "pool";
        r->ahead = true;
        e = begin_record(run, d);
        e = e ?: begin_durable(run, d);
        store_commit_rest(TAKE_PTR(run->store.rest));
        r->ahead = r->recorded_start;
        return e;
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
        run->start.preparing = true;
        e = region_init(&run->region, &run->own_grant);
        if (e < 0) {
                diag(reterr, e, "%s", strerror(-e));
                grant_deinit(&run->own_grant);
                free(run);
                return NULL;
        }
        run->start.note = note;
        run->start.note_userdata = userdata;
        life_take_prepared(run);
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
        return !run->region.recorded_start ||
               (!g->trace.set && run->region.grant->cancel_bound_usec == g->cancel_bound_usec &&
                json_array_size(g->reductions) == 0 && json_array_size(g->raised) == 0 &&
                json_array_size(g->beyond) == 0);
}

void run_bind(Run *run, Tree *tree, const RunOptions *o, const Grant *g) {
        Region *r = &run->region;
        int e;

        run->tree = tree;
        run->options = o;
        run->start.preparing = false;
        region_bind(r, g, o->streams);
        region_io_to_sinks(&r->io, o->out, o->err);
        if (r->recorded_start)
                run_allocated(run);
        e = spawn_words(&r->spawned, g, r->id);
        if (e < 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "arguments and environment: %s", strerror(-e));
        else if (!r->recorded_start)
                life_take_bound(run);
}

/* The values of gates are in sections now, and count against the memory budget. */
int prepare_limit(Run *run, Diag *d) {
        int e = json_array_size(run->region.grant->gates) > 0 ? region_budget_limit(&run->region.budget) : 0;

        return e < 0 ? diag(d, e, "control group: %s", strerror(-e)) : 0;
}
