/* Runs: supervisor. The steps from a region's known end to its record; steps.c has their order:
 *
 *   stop      region and regions below are killed at once; waits until the region stands still and the regions below
 *             are over
 *   clear     after the rest of the pipe and the callbacks: handles are unbound; waits until the region's memory
 *             is overwritten, and a layer is kept; scratch and sections follow
 *   record    region.released, invocation.ended */
#include "invoke/types.h"

#include "base/clock.h"
#include "base/log.h"
#include "invoke/keep-layer.h"
#include "scrub/teardown.h"
#include "store/blocked-time.h"

#include <errno.h>
#include <string.h>

/* Row, control group and scratch folder of the region stay: the next start tries to finish the region. */
static void end_leave(Run *run, const char *why) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        if (r->state == REGION_ENDED)
                region_explain_denials(r);
        teardown_leave(r, &run->evidence);
        run->end.torn_down = true;
        e = run->store.failed ? 0 : record_left(run->store.db, r, &run->evidence, why, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record that a region was left behind", e, &d);
}

/* Undying processes are left to the next start. */
static RunStep end_give_up(Run *run, int e, const Diag *d) {
        Region *r = &run->region;

        log_error("region %s cannot be stopped: %s", r->id, *d->text ? d->text : strerror(e < 0 ? -e : EBUSY));
        if (r->left > 0)
                end_leave(run, d->text);
        r->has_worker = false;
        r->cgroup.made = false;
        region_move(r, REGION_UNRECORDED);
        return RUN_OVER;
}

static void end_record_breach(Run *run) {
        Diag d = {};
        int e;

        if (!outcome_is_breach(run->region.outcome) || run->store.failed || run->end.faulted)
                return;
        run->end.faulted = true;
        e = record_fault(run->store.db, &run->region, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record the fault", e, &d);
}

static void end_below(Run *run) {
        Tree *tree = run->tree;

        for (size_t i = 0; i < tree->n_runs; i++) {
                Run *below = tree->runs[i];

                if (below == run || !run_is_below(below, run) || below->end.step == RUN_OVER)
                        continue;
                if (below->region.callback)
                        run_release_hurry(below, run);
                else
                        region_end(&below->region, OUTCOME_CANCELLED, 0, "region %s, which it stands below, ended",
                                   run->region.id);
        }
        for (size_t i = 0; i < tree->n_runs; i++)
                if (tree->runs[i]->region.state == REGION_ENDED && tree->runs[i]->end.step == RUN_LIVE &&
                    run_is_below(tree->runs[i], run))
                        teardown_kill(&tree->runs[i]->region);
}

void end_begin_stop(Run *run) {
        Region *r = &run->region;

        if (outcome_is_breach(r->outcome))
                teardown_kill(r); /* at once: later acts of the region do not count */
        run_watch_end(run);
        region_proxy_close(&r->proxy);
        end_below(run);
        teardown_begin_stop(r);
        end_record_breach(run);
}

/* The order was carried out, or will not be: the step itself then finds out why. */
bool end_stands(Run *run) {
        teardown_go_on(&run->region);
        return run->end.no_use || teardown_is_ready(&run->region);
}

bool end_is_stopped(Run *run) {
        return end_stands(run) && !run_has_below(run);
}

RunStep end_stop(Run *run) {
        Diag d = {};
        int e;

        run->store.failed |= run->tree->runs[0]->store.failed;
        e = teardown_stop(&run->region, &d);
        if (e != 0)
                return end_give_up(run, e, &d);
        run->end.stopped_usec = clock_mono_usec();
        run_judge_rest(run);
        if (run->pipe.dispatch && run->region.io.out.kept) /* output for the region above, or the decision of a turn */
                run_hide_keys(run);
        end_record_breach(run);
        return RUN_RELEASE;
}

bool end_is_cleared(Run *run) {
        return end_stands(run) && layer_reader_look(&run->layer, clock_mono_usec());
}

void end_begin_clear(Run *run) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        /* before the region's last events, and before its first byte is overwritten (I-13) */
        vault_unbind(r->vault);
        if (run->watch.hook)
                hook_finish(run->watch.hook);
        run->end.clear_usec = clock_mono_usec();
        teardown_begin_clear(r);
        run_begin_layer(run);
        if (run->pipe.dispatch && !run->store.failed && (e = dispatch_finish(run->pipe.dispatch, &d)) != 0)
                run_store_trouble(run, "the store cannot record refused requests", e, &d);
}

/* Waits for the store are left out of the teardown's time while no part of the teardown was under way: the guard's
 * evidence has the time when an order was carried out. With callbacks, every wait counts. */
static void end_leave_out_waits(const Run *run, TeardownEvidence *e) {
        const Region *r = &run->region;
        const GuardEvidence *g = &e->guard;
        uint64_t now = r->ended_usec + e->usec, stands = r->freezing ? g->frozen_usec : g->empty_usec,
                 cleared = r->freezing ? g->empty_usec : stands;

        if (stands == 0) /* no guard, or no evidence of it */
                stands = cleared = run->end.stopped_usec;
        if (r->grant->n_releases > 0)
                stands = run->end.clear_usec;
        stands = MIN(MAX(stands, r->ended_usec), run->end.clear_usec);
        e->store_wait_usec =
                store_blocked_usec(stands, run->end.clear_usec) + store_blocked_usec(MAX(cleared, run->end.clear_usec), now);
        e->usec -= MIN(e->store_wait_usec, e->usec);
}

RunStep end_clear(Run *run) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        run_keep_layer(run); /* before the first byte of the scratch is overwritten */
        e = teardown_clear(r, &run->evidence, &d);

        if (e > 0)
                return end_give_up(run, e, &d);
        if (e < 0)
                log_warning("%s", *d.text ? d.text : strerror(-e));
        end_leave_out_waits(run, &run->evidence);
        run->end.torn_down = true;
        region_move(r, REGION_RELEASED);
        return run_release_again(run) ? RUN_RETRY : RUN_RECORD;
}

/* Answering the waiting client is the only work left. */
static bool end_answers_next(const Run *run) {
        return run->options->over && !run->parent && run->tree->n_runs == 1;
}

/* Saves and deletions of memory that conflict with changes by other regions. */
static void end_tell_refused(const Run *run) {
        size_t n = run->pipe.dispatch
                           ? json_array_size(json_object_get(dispatch_memory_ended(run->pipe.dispatch), "refused"))
                           : 0;

        if (n > 0 && !run->store.failed)
                log_warning("region %s: %zu of what it saved or deleted of memory %s refused at its end; `lethe log "
                            "--region %s` has the codes",
                            run->region.id, n, n == 1 ? "was" : "were", run->region.id);
}

RunStep end_record(Run *run) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        run_note_unwanted(run);
        if (region_proxy_finish(&r->proxy, &r->denials) < 0)
                run_proxy_lost(r);
        if (!run->store.failed && (e = record_end(run->store.db, r, run->pipe.dispatch,
                                                  run->parent ? NULL : run->options->object, &run->evidence,
                                                  end_answers_next(run) ? &run->store.rest : NULL, &d)) != 0)
                run_store_trouble(run, "the store cannot record the region's end", e, &d);
        if (r->session && run->pipe.dispatch && !run->store.failed)
                run->options->in_session->carried = dispatch_carried(run->pipe.dispatch);
        end_tell_refused(run);
        if (!end_answers_next(run))
                guard_done(&r->guard);
        region_move(r, run->store.failed ? REGION_UNRECORDED : REGION_RECORDED);
        return RUN_OVER;
}
