/* Runs: supervisor. The life of an invocation in tables of steps: name, action, condition, wait, undo. */
#include "invoke/guard-ahead.h"
#include "invoke/prepare.h"

#include "base/clock.h"
#include "region/region-cgroup-home.h"
#include "scrub/teardown.h"

#include <errno.h>
#include <string.h>

/* A start: DECLARED -> ALLOCATED. Steps follow one another and wait for the store alone; the worker confines itself
 * meanwhile, and the guard starts in a thread (guard-ahead.h). A failed step ends the
 * region, and the rest is left out. */
typedef struct StartStep {
        const char *name;
        unsigned tiers;                    /* bits of tiers; other tiers leave the step out */
        int (*take)(Run *run, Diag *d);
        void (*undo)(Run *run);            /* NULL: undone with a step above. Harmless where the step was not taken */
} StartStep;

#define NAMESPACES (1U << TIER_NAMESPACES)
#define LANDLOCK (1U << TIER_LANDLOCK)
#define ANY UINT_MAX

static void undo_pipes(Run *run) {
        region_deinit(&run->region);
}

static void undo_store(Run *run) { /* the guard ends meanwhile */
        store_free(run->store.own);
}

static void undo_guard(Run *run) {
        guard_done(&run->region.guard);
}

static void undo_record(Run *run) {
        assert(!run->store.rest && !run->start.record);
        dispatch_free(run->pipe.dispatch);
        buf_deinit(&run->pipe.reply);
}

static void undo_watch(Run *run) {
        hook_free(run->watch.hook);
}

/* A cold start. */
static const StartStep start[] = {
        {"pipes", ANY, begin_pipes, undo_pipes},
        {"vault", ANY, begin_vault, NULL},
        {"tier", ANY, begin_tier, NULL},
        /* A scratch in a folder of the host is found by recovery through the record alone: the record comes before
         * a worker. */
        {"store", LANDLOCK, begin_store, NULL},
        {"record", LANDLOCK, begin_record, NULL},
        {"durable", LANDLOCK, begin_durable, NULL},
        {"worker", ANY, begin_worker, NULL}, /* run_drop(), or the steps of the end */
        {"store", NAMESPACES, begin_store, undo_store},
        {"guard", ANY, begin_guard, undo_guard},
        {"pid", LANDLOCK, begin_pid, NULL},
        {"record", NAMESPACES, begin_record, undo_record},
        {"groups", NAMESPACES, begin_groups_written, NULL}, /* while the disk takes the record */
        {"durable", NAMESPACES, begin_durable, NULL},
        {"groups", ANY, begin_groups, NULL},
        {"watch", 0, NULL, undo_watch}, /* taken by the loop, with STATUS_READY */
};

/* A region of a pool: the start in two halves (prepare.h). */
static const StartStep prepared[] = {
        {"pipes", ANY, prepare_pipes, NULL},
        {"vault", ANY, begin_vault, NULL},
        {"tier", ANY, prepare_tier, NULL},
        {"guard", ANY, prepare_guard, NULL},
        {"worker", ANY, prepare_worker, NULL},
        {"note", ANY, prepare_note, NULL}, /* pool_notes_drop() */
        {"groups", ANY, begin_groups, NULL},
        {"wait", ANY, prepare_wait, NULL},
        {"record", ANY, prepare_record, NULL}, /* where every invocation would have the same record */
};

static const StartStep bound[] = {
        {"record", ANY, begin_record, NULL},
        {"durable", ANY, begin_durable, NULL},
        {"limit", ANY, prepare_limit, NULL},
};

static void life_take(Run *run, const StartStep *steps, size_t n) {
        Region *r = &run->region;
        Diag d = {};
        int e = 0;

        for (size_t i = 0; i < n && e == 0 && r->outcome == OUTCOME_NONE; i++)
                if (steps[i].tiers == ANY || steps[i].tiers & 1U << run->start.tier)
                        e = steps[i].take(run, &d);
        if (e != 0)
                region_end(r, OUTCOME_SETUP_FAILED, EXIT_OURS, "%s", *d.text ? d.text : strerror(e < 0 ? -e : EIO));
}

void life_take_prepared(Run *run) {
        life_take(run, prepared, ARRAY_SIZE(prepared));
}

void life_take_bound(Run *run) {
        life_take(run, bound, ARRAY_SIZE(bound));
}

void run_begin(Run *run) {
        Ahead ahead;

        if (!run->options->groups) /* before the group to be divided has a child of this process, as a guard is
                                      one */
                home_settle(NULL);
        ahead_begin(&ahead, run);
        run->start.ahead = &ahead;
        life_take(run, start, ARRAY_SIZE(start));
        run->start.ahead = NULL;
        store_commit_rest(TAKE_PTR(run->store.rest));
        ahead_end(&ahead);
}

void run_deinit(Run *run) {
        for (size_t i = ARRAY_SIZE(start); i-- > 0;)
                if (start[i].undo)
                        start[i].undo(run);
        json_decref(run->sub.call);
        grant_deinit(&run->own_grant);
        strv_free(run->for_owner.env);
}

/* From the known end to the record, in a loop that serves other regions while this region dies, is overwritten, or has
 * callbacks. teardown.h does the same work in the same order whether other regions live or not (I-14). */
typedef struct LifeStep {
        const char *name;
        RegionState needs[2];           /* the region's state in this step */
        void (*begin)(Run *run);        /* starts work for is_done() to wait for; or NULL */
        bool (*is_done)(Run *run);      /* without waiting; NULL: at once */
        RunStep (*finish)(Run *run);    /* the rest of the work; returns the next step */
        bool timed;                     /* the teardown is looked after again and again */
} LifeStep;

static bool live_is_done(Run *run) {
        return run->region.state == REGION_ENDED;
}

static RunStep live_finish(Run *run) {
        return RUN_STOP;
}

static RunStep release_finish(Run *run) {
        return RUN_CLEAR;
}

static RunStep retry_finish(Run *run) {
        return RUN_RECORD;
}

static const LifeStep life[] = {
        [RUN_LIVE] = {"live", {REGION_ALLOCATED, REGION_RUNNING}, NULL, live_is_done, live_finish, false},
        [RUN_STOP] = {"stop", {REGION_ENDED, REGION_ENDED}, end_begin_stop, end_is_stopped, end_stop, true},
        [RUN_RELEASE] = {"release",
                         {REGION_STOPPED, REGION_STOPPED},
                         run_release_find,
                         run_release_done,
                         release_finish,
                         false},
        [RUN_CLEAR] = {"clear", {REGION_STOPPED, REGION_STOPPED}, end_begin_clear, end_stands, end_clear, true},
        [RUN_RETRY] = {"retry", {REGION_RELEASED, REGION_RELEASED}, NULL, run_release_done, retry_finish, false},
        [RUN_RECORD] = {"record", {REGION_RELEASED, REGION_RELEASED}, NULL, NULL, end_record, false},
        [RUN_OVER] = {"over", {REGION_RECORDED, REGION_UNRECORDED}, NULL, NULL, NULL, false},
};

static void life_enter(Run *run, RunStep step) {
        const LifeStep *s = &life[step];
        RunEnd *e = &run->end;

        assert(run->region.state == s->needs[0] || run->region.state == s->needs[1]);
        e->step = step;
        e->since = clock_mono_usec();
        e->no_use = false;
        if (s->begin)
                s->begin(run);
        e->deadline = s->timed ? e->since + TEARDOWN_AGAIN_USEC : LOOP_NEVER;
}

/* One step of one Run; true: a further step may be possible. */
static bool life_move(Run *run) {
        const LifeStep *s = &life[run->end.step];

        if (!s->finish || (s->is_done && !s->is_done(run)))
                return false;
        life_enter(run, s->finish(run));
        if (run->end.step != RUN_OVER || !run->parent)
                return true;
        if (run->region.callback)
                run_release_over(run);
        else
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

static bool run_lives(const Run *run) {
        return run->region.state == REGION_ALLOCATED || run->region.state == REGION_RUNNING;
}

static void life_aim_pipe(Run *run) {
        int64_t wait = conn_wants(&run->region.pipe, clock_mono_usec(), run->pipe.poll);

        run->pipe.deadline = wait < 0 ? LOOP_NEVER : clock_mono_usec() + (uint64_t)wait;
}

static void life_wait(Tree *tree) {
        int e;

        for (size_t i = 0; i < tree->n_runs; i++)
                if (run_lives(tree->runs[i]))
                        life_aim_pipe(tree->runs[i]);
        e = loop_once(&tree->loop);
        if (e == 0)
                return;
        region_end(&tree->runs[0]->region, OUTCOME_CANCELLED, 0, "ppoll: %s", strerror(-e));
        for (size_t i = 0; i < tree->n_runs; i++)
                tree->runs[i]->end.no_use = true;
}

void run_until_over(Tree *tree) {
        for (life_go_on(tree); tree->runs[0]->end.step != RUN_OVER; life_go_on(tree)) {
                run_free_done(tree);
                life_wait(tree);
                for (size_t i = 0; i < tree->n_runs; i++)
                        if (tree->runs[i]->region.state == REGION_RUNNING)
                                run_judge_lines(tree->runs[i]);
        }
}
