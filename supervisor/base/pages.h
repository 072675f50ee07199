/* Runs: supervisor, CLI. Overwrites pages that LMDB keeps unused. LMDB gives its copies of changed pages back to the
 * heap only when a store is closed; between two write transactions they lie in a list of LMDB's, with rows that a
 * transaction changed or took back. heap.c reports each such page when allocated and freed, and all are overwritten
 * whenever no write transaction is open. */
#pragma once

#include "base/util.h"

#define PAGES_BYTES 4096 /* the size of LMDB's pages: the kernel's page size */
#define PAGES_TAIL 16    /* added by heap.c to each page */

/* More than 0 while the thread is inside LMDB. */
extern _Thread_local volatile int pages_depth;

/* Around a write transaction of LMDB: no page is overwritten in between. The last end overwrites the used pages. */
void pages_begin(void);
void pages_end(void);

/* For heap.c: a page of PAGES_BYTES + PAGES_TAIL was allocated, or a block is about to be freed or cut: no page
 * then. */
void pages_note(void *p);
void pages_forget(void *p, size_t usable);
