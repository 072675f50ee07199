/* Runs: supervisor. Takes the steps of an invocation's life, from the tables of steps.c. */
#include "invoke/guard-ahead.h"

#include "base/clock.h"
#include "base/log.h"
#include "region/region-cgroup-home.h"
#include "scrub/teardown.h"

#include <errno.h>
#include <string.h>

void life_take(Run *run, const StartStep *steps, size_t n) {
        Region *r = &run->region;
        Diag d = {};
        int e = 0;

        for (size_t i = 0; i < n && e == 0 && r->outcome == OUTCOME_NONE; i++)
                if (steps[i].tiers & 1U << run->start.tier)
                        e = steps[i].take(run, &d);
        if (e != 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
}

void run_begin(Run *run) {
        Ahead ahead;

        if (!run->options->groups) /* before the group to be divided has a child of this process, such as a guard */
                home_settle(NULL);
        ahead_begin(&ahead, run);
        run->start.ahead = &ahead;
        life_take(run, invocation_life.start, invocation_life.n_start);
        run->start.ahead = NULL;
        store_commit_rest(TAKE_PTR(run->store.rest));
        ahead_end(&ahead);
}

void run_deinit(Run *run) {
        for (size_t i = invocation_life.n_start; i-- > 0;)
                if (invocation_life.start[i].undo)
                        invocation_life.start[i].undo(run);
        json_decref(run->sub.call);
        grant_deinit(&run->own_grant);
        strv_free(run->for_owner.env);
}

static void life_enter(Run *run, RunStep step) {
        const LifeStep *s = &invocation_life.steps[step];
        RunEnd *e = &run->end;

        assert(run->region.state == s->needs[0] || run->region.state == s->needs[1]);
        e->step = step;
        e->since = clock_mono_usec();
        e->no_use = false;
        if (s->begin)
                s->begin(run);
        e->deadline = s->timed ? e->since + TEARDOWN_AGAIN_USEC : LOOP_NEVER;
}

/* A step of a Run; true: a further step may be possible. */
static bool life_move(Run *run) {
        const LifeStep *s = &invocation_life.steps[run->end.step];

        if (run->end.step == RUN_OVER || (s->is_done && !s->is_done(run)))
                return false;
        life_enter(run, s->finish ? s->finish(run) : s->next);
        /* Callbacks of a later start have no Run above. */
        if (run->end.step == RUN_OVER && run->parent && run->region.callback)
                run_release_over(run);
        else if (run->end.step == RUN_OVER && run->parent)
                run_sub_over(run);
        return true;
}

void life_go_on(Tree *tree) {
        bool moved;

        do {
                moved = false;
                for (size_t i = tree->n_runs; i-- > 0;)
                        if (i < tree->n_runs) /* a finished Run may have gone */
                                moved |= life_move(tree->runs[i]);
        } while (moved);
}

void run_store_trouble(Run *run, const char *what, int e, const Diag *d) {
        run->store.failed = true;
        log_error("%s: %s", what, *d->text ? d->text : strerror(e < 0 ? -e : EIO));
}

void run_drop(Run *run) {
        Diag d = {};

        if (run->region.has_worker && teardown_drop(&run->region, &d) != 0)
                log_error("%s", d.text);
}
