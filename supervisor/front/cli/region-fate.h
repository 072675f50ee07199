/* Runs: CLI, with the supervisor's recovery in it. How a region of the store ended, in the words of `lethe run`. */
#pragma once

#include "base/id.h"
#include "cli/with-store.h"

typedef struct RegionFate {
        bool alive;
        bool orphan;  /* alive in the store, and its supervisor is dead */
        int code;     /* exit code of `lethe run`, unless alive */
        char outcome[32];
} RegionFate;

/* Returns EXIT_OK, or another code after a message: also for a region without a record. */
int region_fate_look(const char *verb, Store *s, const char *region, RegionFate *ret);
/* Waits for the end, and finishes an orphan; *s is opened anew then. until_usec: CLOCK_MONOTONIC, UINT64_MAX for no
 * limit. Returns as region_fate_look(), EXIT_TIMED_OUT after a message. */
int region_fate_wait(const char *verb, const StoreOptions *o, Store **s, const char *region, uint64_t until_usec,
                    RegionFate *ret);
/* Finishes the region of a dead supervisor, in a process without an open Store. Returns EXIT_OK, also when another
 * process has done so, or another code after a message. */
int region_fate_recover(const char *verb, const StoreOptions *o, const char *region);
