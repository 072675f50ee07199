/* Runs: supervisor, CLI. Inside of store/: the lock before LMDB's lock for writers (I-79). LMDB waits for its own without end and knows no holder. A
 * writer therefore takes the gate first, which can be waited for with a time and knows who has it.
 *
 * The gate is a robust mutex of processes in the file run/gate: free of system calls while nobody else writes, and handed on by the kernel when its holder
 * dies. The file is of one boot of the machine and of one inode: a copy of it, or what a power cut left, is replaced, since its holder is not there. */
#pragma once

#include "base/util.h"

#define GATE_SAY_USEC 1000000U /* of any wait for a process: then it is told of */
extern unsigned gate_stopped_usec; /* for a holder that is stopped, or that cannot be seen: half a minute; tests wait less */

typedef struct GatePage GatePage;

typedef struct Gate {
        GatePage *page;   /* mapped with the first write that can have it; NULL: not yet */
        bool none;        /* LMDB's own lock has to do */
        char comm[16];    /* of this process, as /proc/PID/comm has it */
        int stuck_pid;    /* the holder that was given up, and since when it had the gate: this process waits for it no more while it is stopped */
        uint64_t stuck_since;
        _Atomic bool hurry; /* the store is about to be closed */
} Gate;

/* Waits until nobody else has the gate of the store below dir_fd. Says after a second who has it. Returns 0, -ECANCELED (store_stop_at()), -ETIME (the
 * holder is stopped, or the thread is in a hurry, and it was waited for long enough); gate_why() has the words for both. */
int gate_take(Gate *g, int dir_fd, const char *dir);
void gate_leave(Gate *g);
void gate_deinit(Gate *g);
/* For other waits for a process: store_stop_at() or store_hurry() of the calling thread end it. */
bool gate_wait_is_over(uint64_t waited_usec);
/* Of the calling thread's last gate_take() that failed. */
const char *gate_why(void);
