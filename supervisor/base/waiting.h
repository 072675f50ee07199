/* Runs: supervisor, CLI. The name that this thread waits for, where another process can read it: `lethe run` has one
 * above it that ends it when whoever serves that name's file system does not answer (cli/front.h). Elsewhere, and in
 * other threads, nothing is noted. */
#pragma once

#include "base/util.h"

#include <limits.h>
#include <stdatomic.h>

#define WAITING_DEEP 8 /* that stand inside each other; those below are not noted */

typedef struct WaitingFor {
        const char *what; /* the option or kind of thing, a literal */
        char name[PATH_MAX];
} WaitingFor;

/* In memory that both processes have. */
typedef struct WaitingPage {
        /* how many of those that follow are waited for; the last one is the one to tell of */
        atomic_uint deep;
        atomic_uint_fast64_t since;    /* CLOCK_MONOTONIC usec: when the last one began or ended */
        WaitingFor names[WAITING_DEEP];
} WaitingPage;

/* From here on the wait of this thread is noted there. */
void waiting_begin(WaitingPage *page);

/* A mark for a block: `_cleanup_waiting_ Waiting w = waiting_for("--policy", path);` */
typedef struct Waiting {
        WaitingPage *page;
} Waiting;

/* Nothing is noted of a place on a file system of the kernel: a disk may be slow. */
Waiting waiting_for(const char *what, const char *name);
/* For whoever reads what the region wrote; counts when that is the process above. */
#define WAITING_STREAMS "what was written to"
Waiting waiting_for_streams(void);
void waiting_over(Waiting *w);
/* Something was answered. */
void waiting_goes_on(void);
#define _cleanup_waiting_ __attribute__((unused)) _cleanup_(waiting_over)
