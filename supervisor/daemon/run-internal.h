/* Runs: supervisor. What run.c (begin, end, receipt) and run-events.c (everything between) share.
 *
 * A Tree is one invocation with everything that it started: its Runs wait in one loop, and each is taken down before the one it stands
 * below. Handlers only ever make moves of regions; what follows from a move is done between two waits (run_until_ended). */
#pragma once

#include "daemon/loop.h"
#include "daemon/run.h"
#include "desk/desk.h"
#include "region/region.h"
#include "scrub/evidence.h"

#include <poll.h>

#define EXIT_OURS 125
#define RUN_SOURCES_MAX 16 /* what one Run registers, of each kind */

#define TREE_RUNS_MAX 17 /* the invocation itself, and what is below it at once */
static_assert(LOOP_SOURCES_MAX >= TREE_RUNS_MAX * RUN_SOURCES_MAX + 1, "the loop has room for a whole tree");

typedef struct Run Run;

typedef struct Tree {
        Loop loop;
        int signals;
        Run *runs[TREE_RUNS_MAX]; /* borrowed: those that live, each behind the one that started it */
        size_t n_runs;
} Tree;

struct Run {
        Tree *tree;             /* borrowed */
        const RunOptions *options;
        Store *store;           /* borrowed, or own_store once it is open */
        Store *own_store;
        const char *store_path;
        Region region;
        Evidence evidence;
        bool torn_down;
        Desk *desk;
        Buf reply;
        struct pollfd pipe[2];  /* what the skill's pipe waits for now */
        uint64_t pipe_deadline;
        bool store_failed;      /* the store can record no more: whatever the region did, we did not succeed */
};

/* A Run that is ALLOCATED joins its tree: everything that a living region waits for is registered. */
void run_watch(Run *run);
/* From ALLOCATED to the known end of the first Run. */
void run_until_ended(Tree *tree);
/* What the region wrote to its pipe before it died is judged like all else (a breach would discard it anyway). */
void run_judge_rest(Run *run);
