/* Runs: supervisor. */
#include "invoke/pool-region.h"

#include <errno.h>
#include <string.h>

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
        life_take(run, invocation_life.prepared, invocation_life.n_prepared);
        run->tree = NULL;
        if (run->region.state == REGION_DECLARED || run->region.state == REGION_ALLOCATED)
                return run;
        diag(reterr, -EIO, "%s", run->region.reason);
        run_prepare_drop(run);
        return NULL;
}

bool run_prepared_is_usable(const Run *run) {
        const Region *r = &run->region;
        struct pollfd p[] = {{.fd = r->spawned.status, .events = POLLIN}, {.fd = r->guard.control, .events = POLLIN},
                             {.fd = r->spawned.pidfd, .events = POLLIN}};

        return poll(p, ARRAY_SIZE(p), 0) == 0 && view_still_is(&r->spawned.view);
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
                life_take(run, invocation_life.bound, invocation_life.n_bound);
}
