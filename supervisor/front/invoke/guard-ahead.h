/* Runs: supervisor. The start of a guard needs neither the region's record nor its control groups, and is done beside
 * them, in a thread: the guard is started, and takes hold of the program's process as soon as the process exists. Where
 * a Spawner makes the guard, a thread would cost more than it gains: the guard is made while the worker confines
 * itself, and the loop does the rest. */
#pragma once

#include "invoke/types.h"

#include <pthread.h>
#include <stdatomic.h>

struct Ahead {
        Run *run;             /* borrowed; the thread reads the region's `spawned`, and alone uses `guard` */
        GuardOrder order;
        int wake, started;    /* eventfds: `told` has changed; guard_start() is done. -1: no thread */
        atomic_uint told;
        pthread_t thread;
        bool later;           /* a Spawner makes the guard: no thread */
        bool running, born, sent;
        int scratch;          /* the descriptor of STATUS_BORN, or -1 */
        int e_guard;          /* of guard_start(), to be read after `started` */
        int e;                /* of the thread's later work, to be read after its end */
        Diag d_guard, d;
};

/* Starts the thread, unless the region has no guard. To be called before there is a worker; ahead_end() has to
 * follow. */
void ahead_begin(Ahead *a, Run *run);
/* Waits until the guard runs. Returns 0, GUARD_E_START with a message, -errno. */
int ahead_guard(Ahead *a, Diag *reterr);
/* There is a worker. */
void ahead_worker(Ahead *a);
/* There is a store, and so a folder for the guard's evidence. */
void ahead_store(Ahead *a);
/* Ends the thread; the rest of its work is left to the loop. An error ends the region. */
void ahead_end(Ahead *a);
