/* Runs: supervisor, CLI. Pages that a library keeps for itself when it has no use for them. LMDB gives its copies of
 * changed pages back to the heap only when a store is closed; between two write transactions they lie in a list of its
 * own, with rows that a transaction changed, or that it took back. heap.c tells of each such page when it is given out
 * and given back, and they are overwritten whenever no write transaction is open. */
#pragma once

#include "base/util.h"

#define PAGES_BYTES 4096 /* the size of LMDB's pages: that of the kernel's */
#define PAGES_TAIL 16    /* what heap.c adds to each */

/* This thread is inside LMDB. */
extern _Thread_local volatile int pages_depth;

/* Around a write transaction of LMDB: no page is touched in between. The last one to end overwrites those that were
 * used. */
void pages_begin(void);
void pages_end(void);

/* For heap.c: a page of PAGES_BYTES + PAGES_TAIL was given out, or a block is about to be given back or cut, so that it
 * is no page from now on. */
void pages_note(void *p);
void pages_forget(void *p, size_t usable);
