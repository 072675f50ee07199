/* Runs: supervisor, CLI. Inside of store/: the gate, taken before LMDB's lock for writers (I-79). LMDB waits for its
 * own lock without end and knows no holder. A wait at the gate has a time limit, and the holder is known.
 *
 * The gate is a robust mutex, shared by processes, in the file run/gate. Without a second writer the gate needs no
 * system call. After the holder's death the kernel hands the gate on. The file is valid for one boot of the machine and
 * one inode. A copy, or the rest after a power cut, is replaced, since the holder is gone. */
#pragma once

#include "base/util.h"

#define GATE_SAY_USEC 1000000U /* a wait for a process longer than this is reported */
extern unsigned gate_stopped_usec; /* wait for a stopped or invisible holder: half a minute; shorter in tests */

typedef struct GatePage GatePage;

/* data.mdb after the last write of a process that had checked the pages (page-check.c); all 0: not known. */
typedef struct GateLeft {
        uint64_t device, inode, size, mtime_sec, mtime_nsec, ctime_sec, ctime_nsec;
} GateLeft;

typedef struct Gate {
        GatePage *page;   /* mapped at the first write; NULL: not yet */
        bool none;        /* no gate: LMDB's own lock must do */
        char comm[16];    /* of the own process, as in /proc/PID/comm */
        int stuck_pid; /* a stopped holder after the end of a wait: no second wait */
        uint64_t stuck_since;
        _Atomic bool hurry; /* the store is about to be closed */
} Gate;

/* Waits for the gate of the store below dir_fd. After a second, reports the holder. Returns 0, -ECANCELED
 * (store_stop_at()), -ETIME (the holder is stopped, or the thread is in a hurry, and the time is up). For both errors
 * gate_why() has the words. */
int gate_take(Gate *g, int dir_fd, const char *dir);
void gate_leave(Gate *g);
void gate_deinit(Gate *g);
/* Shared by all writers, for the gate's holder. NULL: there is no gate. */
GateLeft *gate_left(const Gate *g);
/* For other waits for a process: true when store_stop_at() or store_hurry() of the calling thread ends the wait. */
bool gate_wait_is_over(uint64_t waited_usec);
/* The reason of the calling thread's last failed gate_take(). */
const char *gate_why(void);
