/* Runs: supervisor. The tables of an invocation's steps: name, action, condition, wait, undo. life.c walks through
 * them. */
#include "invoke/keep-layer.h"

#define NAMESPACES (1U << TIER_NAMESPACES)
#define LANDLOCK (1U << TIER_LANDLOCK)
#define ANY ~0U

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
        {"publish", NAMESPACES, begin_publish, NULL}, /* undone with the pipes */
        /* A scratch in a folder of the host is found by recovery through the record alone: the record comes before
         * a worker. */
        {"store", LANDLOCK, begin_store, NULL},
        {"record", LANDLOCK, begin_record, NULL},
        {"durable", LANDLOCK, begin_durable, NULL},
        {"worker", ANY, begin_worker, NULL}, /* run_drop(), or the steps of the end */
        {"proxy", NAMESPACES, begin_proxy, NULL}, /* undone with the pipes */
        {"store", NAMESPACES, begin_store, undo_store},
        {"layer", NAMESPACES, begin_layer, run_drop_layer},
        {"guard", ANY, begin_guard, undo_guard},
        {"pid", LANDLOCK, begin_pid, NULL},
        {"record", NAMESPACES, begin_record, undo_record},
        {"groups", NAMESPACES, begin_groups_written, NULL}, /* while the disk takes the record */
        {"durable", NAMESPACES, begin_durable, NULL},
        {"groups", ANY, begin_groups, NULL},
        {"watch", 0, NULL, undo_watch}, /* taken by the loop, with STATUS_READY */
};

/* A region of a pool: the start in two halves (pool-region.h). */
static const StartStep prepared[] = {
        {"pipes", ANY, begin_pipes, NULL},
        {"vault", ANY, begin_vault, NULL},
        {"tier", ANY, prepare_tier, NULL},
        {"guard", ANY, begin_guard, NULL},
        {"worker", ANY, begin_worker, NULL},
        {"note", ANY, prepare_note, NULL}, /* pool_notes_drop() */
        {"groups", ANY, begin_groups, NULL},
        {"wait", ANY, prepare_wait, NULL},
        {"record", ANY, prepare_record, NULL}, /* where every invocation would have the same record */
};

static const StartStep bound[] = {
        {"publish", NAMESPACES, begin_publish, NULL},
        {"record", ANY, begin_record, NULL},
        {"durable", ANY, begin_durable, NULL},
        {"limit", ANY, prepare_limit, NULL},
        {"proxy", NAMESPACES, begin_proxy, NULL},
        {"layer", NAMESPACES, begin_layer, NULL},
};

static bool live_is_done(Run *run) {
        return run->region.state == REGION_ENDED;
}

static const LifeStep life[] = {
        [RUN_LIVE] = {"live", {REGION_ALLOCATED, REGION_RUNNING}, NULL, live_is_done, NULL, .next = RUN_STOP},
        [RUN_STOP] = {"stop", {REGION_ENDED, REGION_ENDED}, end_begin_stop, end_is_stopped, end_stop, .timed = true},
        [RUN_RELEASE] = {"release",
                         {REGION_STOPPED, REGION_STOPPED},
                         run_release_find,
                         run_release_done,
                         NULL,
                         .next = RUN_CLEAR},
        [RUN_CLEAR] = {"clear",
                       {REGION_STOPPED, REGION_STOPPED},
                       end_begin_clear,
                       end_is_cleared,
                       end_clear,
                       .timed = true},
        [RUN_RETRY] = {"retry", {REGION_RELEASED, REGION_RELEASED}, NULL, run_release_done, NULL, .next = RUN_RECORD},
        [RUN_RECORD] = {"record", {REGION_RELEASED, REGION_RELEASED}, NULL, NULL, end_record},
        [RUN_OVER] = {"over", {REGION_RECORDED, REGION_UNRECORDED}, NULL, NULL, NULL},
};

const Life invocation_life = {start, prepared, bound, ARRAY_SIZE(start), ARRAY_SIZE(prepared), ARRAY_SIZE(bound),
                              life};
