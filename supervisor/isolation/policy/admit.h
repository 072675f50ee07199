/* Runs: supervisor, CLI. Predicts the time of a region's teardown from the budget and the measured speed of this
 * machine, and checks the prediction against the cancel bound (I-72). Pure. */
#pragma once

#include "policy/grant.h"

/* Nanoseconds. Small: with one overwriting thread; large: with the guard's threads for a large process. */
typedef struct WipeRate {
        uint64_t page, page_large; /* each page of 4 KiB: found, overwritten once, read back */
        uint64_t pass, pass_large; /* each further pass over a page */
        uint64_t gone;             /* returned to the kernel at the end of the process */
        uint64_t mapped;           /* each page in common with a second process: found, not overwritten, unmapped */
        uint64_t process;          /* the end of a process apart from its pages: stop, inspect, release */
        /* the part of `process` that the ending process does itself, not the overwriting thread */
        uint64_t process_gone;
        uint64_t processors;       /* at least 1 */
        bool one_by_one; /* no frames shown: processes that share pages end in turn (scrub/tracer/round.c) */
        bool measured;
} WipeRate;

/* Used without a measurement: a slow machine, on which a region of default budgets still has the default bound. */
extern const WipeRate wipe_rate_unknown;

/* The most bytes that a region of this grant can hold, but no more than the machine has. */
uint64_t admit_bytes(const Grant *g);
/* The longest time, in usec, to overwrite `bytes` of at most `processes` processes when all of the budget is used. */
uint64_t admit_predict(const WipeRate *rate, uint64_t bytes, Discipline d, unsigned passes, uint64_t processes);

/* Twice the prediction has to fit the bound; with release callbacks, three quarters of the bound. A declared bound is
 * kept: too short is GRANT_E_BOUNDS with the numbers. An undeclared bound is doubled from 250 ms (500 ms, 1 s and so
 * on) until the time fits, up to the policy's ceiling. above_usec: the bound of the region that starts this region, an
 * upper limit; 0: no such region. Sets teardown_usec and cancel_bound_usec. */
int admit(Grant *g, const WipeRate *rate, uint64_t above_usec, Diag *reterr);
/* The extra teardown time when the discipline is stronger than above; the memory is a part of the memory of `above`. */
uint64_t admit_beyond(const WipeRate *rate, const Grant *g, const Grant *above);
/* Checks that the extra time of all regions below fits the bound of `above`. Returns 0, GRANT_E_BOUNDS with numbers. */
int admit_together(const Grant *above, uint64_t beyond_usec, Diag *reterr);
/* The part of the bound for all release callbacks together. */
uint64_t admit_callbacks_usec(const Grant *g);

/* fork(2) maps all pages of the parent into the child in a moment, and each mapping makes the teardown longer. No budget
 * limits the mappings, so they are counted while the region runs: pages of anonymous and shared memory, once for each
 * process. Returns the most mappings with a teardown that fits the bound; UINT64_MAX: no limit. Pure. */
uint64_t admit_mappings(const Grant *g, uint64_t bound_usec);
/* Doubles the bound until that many mappings fit, where the bound was not declared. Returns whether they fit. */
bool admit_mapped(const Grant *g, uint64_t mappings, uint64_t *bound_usec);
