/* Runs: supervisor. What run.c (begin, end, receipt) and run-events.c (everything between) share. */
#pragma once

#include "daemon/loop.h"
#include "daemon/run.h"
#include "desk/desk.h"
#include "region/region.h"
#include "scrub/evidence.h"

#include <poll.h>

#define EXIT_OURS 125

typedef struct Run {
        const RunOptions *options;
        Store *store;           /* borrowed, or own_store once it is open */
        Store *own_store;
        const char *store_path;
        Region region;
        Evidence evidence;
        bool torn_down;
        Desk *desk;
        Buf reply;
        Loop loop;
        int signals;
        struct pollfd pipe[2];  /* what the skill's pipe waits for now */
        uint64_t pipe_deadline;
        bool store_failed;      /* the store can record no more: whatever the region did, we did not succeed */
} Run;

/* Registers everything that a living region waits for. */
void run_watch(Run *run);
/* From ALLOCATED to the known end. */
void run_until_ended(Run *run);
/* What the region wrote to its pipe before it died is judged like all else (a breach would discard it anyway). */
void run_judge_rest(Run *run);
