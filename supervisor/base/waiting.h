/* Runs: supervisor, CLI. The name that this thread waits for, readable by another process: `lethe run` has a process
 * above, which ends `lethe run` when the server of the name's file system does not answer (cli/front.h). Elsewhere, and
 * in other threads, no name is noted. */
#pragma once

#include "base/util.h"

#include <limits.h>
#include <stdatomic.h>

#define WAITING_DEEP 8 /* nested names; deeper names are not noted */

typedef struct WaitingFor {
        const char *what; /* the option or kind of thing, a literal */
        char name[PATH_MAX];
} WaitingFor;

/* In memory shared by both processes. */
typedef struct WaitingPage {
        /* number of names below in use; messages tell the last */
        atomic_uint deep;
        atomic_uint_fast64_t since;    /* CLOCK_MONOTONIC usec: when the last wait began or ended */
        WaitingFor names[WAITING_DEEP];
} WaitingPage;

/* From here on the waits of this thread are noted in page. */
void waiting_begin(WaitingPage *page);

/* A mark for a block: `_cleanup_waiting_ Waiting w = waiting_for("--policy", path);` */
typedef struct Waiting {
        WaitingPage *page;
} Waiting;

/* Names on a file system of the kernel are not noted: a disk may be slow. */
Waiting waiting_for(const char *what, const char *name);
/* For a wait on the reader of the region's output; counts when the reader is the process above. */
#define WAITING_STREAMS "what was written to"
Waiting waiting_for_streams(void);
void waiting_over(Waiting *w);
/* An answer came. */
void waiting_goes_on(void);
#define _cleanup_waiting_ __attribute__((unused)) _cleanup_(waiting_over)
