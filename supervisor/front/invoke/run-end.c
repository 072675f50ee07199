/* Runs: supervisor. From a region's known end to its record, in steps, so that the loop serves other regions while this one dies, is overwritten,
 * or its callbacks run:
 *
 *   STOP      all of it and all below it is killed at once; waits until it stands still and those below are over
 *   RELEASE   what it had written to its pipe is judged; release callbacks, one after the other
 *   CLEAR     handles are unbound; waits until its memory is overwritten; scratch and sections follow
 *   RETRY     release callbacks that did not run have a second try, one after the other; then region.released, invocation.ended
 *
 * Each step sets going what it waits for, and teardown.h does the same work in the same order whether anybody else is there or not (I-14). */
#include "invoke/run-internal.h"

#include "base/clock.h"
#include "base/log.h"
#include "invoke/record.h"
#include "scrub/teardown.h"
#include "store/waited.h"

#include <errno.h>
#include <string.h>

static void enter(Run *run, RunStep step) {
        run->step = step;
        run->step_since = clock_mono_usec();
        run->step_no_use = false;
        run->step_deadline = step == RUN_STOP || step == RUN_CLEAR ? run->step_since + TEARDOWN_AGAIN_USEC : LOOP_NEVER;
}

/* Its row stays in the store, and so do its control group and the folder of its scratch: the next start finishes what can be finished. */
static void leave(Run *run, const char *why) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        if (r->state == REGION_ENDED)
                region_explain_denials(r);
        teardown_leave(r, &run->evidence);
        run->torn_down = true;
        e = run->store_failed ? 0 : record_left(run->store, r, &run->evidence, why, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record that a region was left behind", e, &d);
}

/* What does not die is left to the next start. */
static void give_up(Run *run, int e, const Diag *d) {
        Region *r = &run->region;

        log_error("region %s cannot be stopped: %s", r->id, *d->text ? d->text : strerror(e < 0 ? -e : EBUSY));
        if (r->left > 0)
                leave(run, d->text);
        r->has_worker = false;
        r->cgroup.made = false;
        region_move(r, REGION_UNRECORDED);
        enter(run, RUN_OVER);
}

static void record_breach(Run *run) {
        Diag d = {};
        int e;

        if (!outcome_is_breach(run->region.outcome) || run->store_failed || run->faulted)
                return;
        run->faulted = true;
        e = record_fault(run->store, &run->region, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record the fault", e, &d);
}

void run_note_unwanted(Run *run) {
        const atomic_bool *unwanted = run->options->unwanted;
        Diag d = {};
        int e;

        if (run->parent || run->unwanted || run->store_failed || !unwanted || !atomic_load(unwanted))
                return;
        run->unwanted = true;
        e = record_discard(run->store, &run->region, &d);
        if (e != 0)
                run_store_trouble(run, "the store cannot record that nothing is to be kept", e, &d);
}

/* ENDED. */
static void begin_stop(Run *run) {
        Region *r = &run->region;

        if (outcome_is_breach(r->outcome))
                teardown_kill(r); /* at once, and nothing that it does from now on counts */
        run_watch_end(run);
        run_end_below(run);
        teardown_begin_stop(r);
        record_breach(run);
        enter(run, RUN_STOP);
}

/* What was set going is done, or will not be: the rest then finds out why. */
static bool stands(Run *run) {
        teardown_go_on(&run->region);
        return run->step_no_use || teardown_is_ready(&run->region);
}

/* ENDED -> STOPPED. */
static void stop(Run *run) {
        Diag d = {};
        int e = teardown_stop(&run->region, &d);

        if (e != 0) {
                give_up(run, e, &d);
                return;
        }
        run->stopped_usec = clock_mono_usec();
        run_judge_rest(run);
        if (run->parent && run->dispatch)
                run_hide_keys(run);
        record_breach(run);
        run_release_find(run);
        enter(run, RUN_RELEASE);
}

static void begin_clear(Run *run) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        vault_unbind(r->vault); /* before the last events of the region, and before a byte of it is overwritten (I-13) */
        if (run->early)
                hook_finish(run->early);
        run->clear_usec = clock_mono_usec();
        teardown_begin_clear(r);
        if (run->dispatch && !run->store_failed && (e = dispatch_finish(run->dispatch, &d)) != 0)
                run_store_trouble(run, "the store cannot record refused requests", e, &d);
        enter(run, RUN_CLEAR);
}

/* Nothing is left to be done but to say so to somebody who waits for it. */
static bool answers_next(const Run *run) {
        return run->options->over && !run->parent && run->tree->n_runs == 1;
}

/* What others did meanwhile stood against it. */
static void say_refused(const Run *run) {
        size_t n = run->dispatch ? json_array_size(json_object_get(dispatch_memory_ended(run->dispatch), "refused")) : 0;

        if (n > 0 && !run->store_failed)
                log_warning("region %s: %zu of what it saved or deleted of memory %s refused at its end; `lethe log --region %s` has the codes", run->region.id, n,
                            n == 1 ? "was" : "were", run->region.id);
}

/* RELEASED -> RECORDED or UNRECORDED. */
static void record(Run *run) {
        Region *r = &run->region;
        Diag d = {};
        int e;

        run_note_unwanted(run);
        if (!run->store_failed && (e = record_end(run->store, r, run->dispatch, &run->evidence, answers_next(run) ? &run->rest : NULL, &d)) != 0)
                run_store_trouble(run, "the store cannot record the region's end", e, &d);
        say_refused(run);
        if (!answers_next(run))
                guard_done(&r->guard);
        region_move(r, run->store_failed ? REGION_UNRECORDED : REGION_RECORDED);
        enter(run, RUN_OVER);
}

/* The supervisor's waits for its store are no part of the teardown, as far as nothing of that was under way: the guard says when it had come to the end of
 * what was ordered. While callbacks may run nothing is left out. */
static void leave_out_waits(const Run *run, Evidence *e) {
        const Region *r = &run->region;
        const GuardEvidence *g = &e->guard;
        uint64_t now = r->ended_usec + e->usec, stands = r->freezing ? g->frozen_usec : g->empty_usec, cleared = r->freezing ? g->empty_usec : stands;

        if (stands == 0) /* no guard, or nothing of it is known */
                stands = cleared = run->stopped_usec;
        if (r->grant->n_releases > 0)
                stands = run->clear_usec;
        stands = MIN(MAX(stands, r->ended_usec), run->clear_usec);
        e->store_wait_usec = store_waited(stands, run->clear_usec) + store_waited(MAX(cleared, run->clear_usec), now);
        e->usec -= MIN(e->store_wait_usec, e->usec);
}

/* STOPPED -> RELEASED. */
static void clear(Run *run) {
        Region *r = &run->region;
        Diag d = {};
        int e = teardown_clear(r, &run->evidence, &d);

        if (e > 0) {
                give_up(run, e, &d);
                return;
        }
        if (e < 0)
                log_warning("%s", *d.text ? d.text : strerror(-e));
        leave_out_waits(run, &run->evidence);
        run->torn_down = true;
        region_move(r, REGION_RELEASED);
        if (run_release_again(run))
                enter(run, RUN_RETRY);
        else
                record(run);
}

/* One step of one Run. Returns true when another may follow. */
static bool move(Run *run) {
        switch (run->step) {
        case RUN_NONE:
                if (run->region.state != REGION_ENDED)
                        return false;
                begin_stop(run);
                return true;
        case RUN_STOP:
                if (!stands(run) || run_has_below(run))
                        return false;
                run->store_failed |= run->tree->runs[0]->store_failed;
                stop(run);
                break;
        case RUN_RELEASE:
                if (run->callback)
                        return false;
                if (!run_release_next(run))
                        begin_clear(run);
                return true;
        case RUN_CLEAR:
                if (!stands(run))
                        return false;
                clear(run);
                break;
        case RUN_RETRY:
                if (run->callback)
                        return false;
                if (!run_release_next(run))
                        record(run);
                break;
        case RUN_OVER:
        default:
                return false;
        }
        if (run->step == RUN_OVER && run->parent) {
                if (run->region.callback)
                        run_release_over(run);
                else
                        run_sub_over(run);
        }
        return true;
}

void run_end_moves(Tree *tree) {
        bool moved;

        do {
                moved = false;
                for (size_t i = tree->n_runs; i-- > 0;)
                        if (i < tree->n_runs) /* one that was over may have gone */
                                moved |= move(tree->runs[i]);
        } while (moved);
}
