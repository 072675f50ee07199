/* Runs: supervisor. The steps of a start that prepare.h divides; steps.c has their order. */
#include "invoke/prepare.h"

#include "base/clock.h"

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

/* The values of gates are in sections now, and count against the memory budget. */
int prepare_limit(Run *run, Diag *d) {
        int e = json_array_size(run->region.grant->gates) > 0 ? region_budget_limit(&run->region.budget) : 0;

        return e < 0 ? diag(d, e, "control group: %s", strerror(-e)) : 0;
}
