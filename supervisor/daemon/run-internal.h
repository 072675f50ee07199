/* Runs: supervisor. What run.c (begin, end, receipt) and run-events.c (everything between) share.
 *
 * A Tree is one invocation with everything that it started: its Runs wait in one loop, and each is taken down before the one it stands
 * below. Handlers only ever make moves of regions; what follows from a move is done between two waits (run_until_ended). */
#pragma once

#include "daemon/loop.h"
#include "daemon/run.h"
#include "desk/desk.h"
#include "region/region.h"
#include "schema/limits.h"
#include "scrub/early.h"
#include "scrub/evidence.h"

#include <poll.h>

#define EXIT_OURS 125
#define RUN_SOURCES_MAX 16 /* what one Run registers, of each kind */

#define TREE_RUNS_MAX (SUBSKILL_ALIVE_MAX + 1) /* the invocation itself, and what is below it at once */
static_assert(LOOP_SOURCES_MAX >= TREE_RUNS_MAX * RUN_SOURCES_MAX + 1, "the loop has room for a whole tree");

typedef struct Run Run;

typedef struct Tree {
        Loop loop;
        int signals;
        Run *runs[TREE_RUNS_MAX]; /* borrowed: those that live, each behind the one that started it */
        size_t n_runs;
        unsigned n_calls;         /* skill.run requests that started something */
} Tree;

struct Run {
        Tree *tree;             /* borrowed */
        Run *parent;            /* borrowed; NULL: the invocation itself */
        Grant own_grant;        /* of a Run that another one started */
        json_t *call;           /* id of the skill.run that started it, owned; NULL: none, or it was answered */
        const RegionFeed *feed; /* borrowed until it has begun */
        const RunOptions *options;
        Store *store;           /* borrowed, or own_store once it is open */
        Store *own_store;
        const char *store_path;
        Region region;
        Evidence evidence;
        Early *early;           /* discipline multipass: what is given back while the region runs; NULL: other ones, or not begun */
        uint64_t early_deadline;
        bool torn_down;
        Desk *desk;
        Buf reply;
        struct pollfd pipe[2];  /* what the skill's pipe waits for now */
        uint64_t pipe_deadline;
        uint64_t attach_deadline; /* for the guard's answer */
        bool store_failed;      /* the store can record no more: whatever the region did, we did not succeed */
};

static inline Run run_new(Tree *tree, const RunOptions *o, Store *store, const char *store_path) {
        return (Run){.tree = tree, .options = o, .store = store, .store_path = store_path, .pipe_deadline = LOOP_NEVER, .attach_deadline = LOOP_NEVER,
                     .early_deadline = LOOP_NEVER, .pipe = {{.fd = -1}, {.fd = -1}}};
}

/* A Run that is ALLOCATED joins its tree: everything that a living region waits for is registered. */
void run_watch(Run *run);
/* From ALLOCATED to the known end of the first Run. */
void run_until_ended(Tree *tree);
/* DECLARED -> ALLOCATED, or an end. */
void run_begin(Run *run);
/* ENDED -> RECORDED or UNRECORDED; else, of a region that was refused, drops its worker. */
void run_finish(Run *run);
/* Says on standard error how it ended, as far as that is wanted. */
void run_tell(const Run *run);
/* Frees what the Run holds; its region is at an end. */
void run_deinit(Run *run);
/* Of a region that stands still: its release callbacks, each in a region of its own, the last one first, each once (I-35). What becomes of them
 * is in region.callbacks and changes nothing else. */
void run_release(Run *run);
/* Before its keys are gone: output that holds the key of a region that lives is not given to another one (I-11). */
void run_hide_keys(Run *run);
/* For desk_set_starter(): userdata is the Run that asks. */
int run_start_sub(void *userdata, const DeskStart *start, Diag *reterr);
/* Between two waits: children that ended are taken down and answered, those that are done with are freed. */
void run_reap_subs(Tree *tree);
/* Takes down everything below a Run that has ended: all of it is killed at once, and then ended the youngest first. */
void run_end_below(Run *run);
/* Delivers what is left of the children's output and frees them. */
void run_free_subs(Tree *tree);
/* What the region wrote to its pipe before it died is judged like all else (a breach would discard it anyway). */
void run_judge_rest(Run *run);
