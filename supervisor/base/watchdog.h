/* Runs: supervisor, CLI. For the watchdog of `lethe run`: the name that this thread waits for, readable by the process
 * above, which ends `lethe run` when the server of the name's file system does not answer (cli/front.h). Elsewhere, and
 * in other threads, no name is noted. */
#pragma once

#include "base/util.h"

#include <limits.h>
#include <stdatomic.h>

#define WATCHDOG_DEEP 8 /* nested names; deeper names are not noted */

typedef struct WatchdogName {
        const char *what; /* the option or kind of thing, a literal */
        char name[PATH_MAX];
} WatchdogName;

/* In memory shared by both processes. */
typedef struct WatchdogPage {
        /* number of names below in use; messages tell the last */
        atomic_uint deep;
        atomic_uint_fast64_t since;    /* CLOCK_MONOTONIC usec: when the last wait began or ended */
        WatchdogName names[WATCHDOG_DEEP];
} WatchdogPage;

/* From here on the waits of this thread are noted in page. */
void watchdog_begin(WatchdogPage *page);

/* A mark for a block: `_cleanup_watchdog_ WatchdogWait w = watchdog_wait("--policy", path);` */
typedef struct WatchdogWait {
        WatchdogPage *page;
} WatchdogWait;

/* Names on a file system of the kernel are not noted: a disk may be slow. */
WatchdogWait watchdog_wait(const char *what, const char *name);
/* For a wait on the reader of the region's output; counts when the reader is the process above. */
#define WATCHDOG_STREAMS "what was written to"
WatchdogWait watchdog_wait_streams(void);
void watchdog_wait_end(WatchdogWait *w);
/* An answer came: the watchdog begins anew. */
void watchdog_ping(void);
#define _cleanup_watchdog_ __attribute__((unused)) _cleanup_(watchdog_wait_end)
