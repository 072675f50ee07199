/* Runs: supervisor. What of a region's start needs neither its record nor its control groups is done beside them, in a thread: its guard is
 * started, and takes hold of the program's process as soon as that exists. Where a Spawner makes the guard, a thread would cost more than it
 * gains: it is made while the worker confines itself, and the loop does the rest. */
#pragma once

#include "invoke/run-internal.h"

#include <pthread.h>
#include <stdatomic.h>

struct Ahead {
        Run *run;             /* borrowed; the thread reads its region's `spawned`, and has its `guard` to itself */
        GuardOrder order;
        int wake, started;    /* eventfds: the thread is told something; guard_start() is done. -1: nothing is done ahead */
        atomic_uint told;
        pthread_t thread;
        bool later;           /* there is a Spawner: no thread */
        bool running, born, sent;
        int scratch;          /* what came with STATUS_BORN, or -1 */
        int e_guard, e;       /* of guard_start(), to be read once that is done; of what the thread did after it, once it has ended */
        Diag d_guard, d;
};

/* Starts it, unless the region has no guard. To be called before there is a worker, and always followed by ahead_end(). */
void ahead_begin(Ahead *a, Run *run);
/* Waits until the guard runs. Returns 0, GUARD_E_START with a message, -errno. */
int ahead_guard(Ahead *a, Diag *reterr);
/* From now on there is a worker; a store in which the guard has its folder. */
void ahead_worker(Ahead *a);
void ahead_store(Ahead *a);
/* Ends it; what it did not come to is left to the loop. An error ends the region. */
void ahead_end(Ahead *a);
