/* Runs: supervisor, CLI. How long the teardown of a region may take, from its budget and from what this machine was measured to do, and whether that fits
 * the cancel bound (I-72). Pure. */
#pragma once

#include "policy/grant.h"

/* Nanoseconds. Small: where one thread overwrites; large: where as many do as the guard has for a large process. */
typedef struct WipeRate {
        uint64_t page, page_large; /* each page of 4 KiB is looked for, overwritten once and read back */
        uint64_t pass, pass_large; /* each further pass over it */
        uint64_t gone;             /* the process's end gives it back */
        uint64_t process;          /* the end of a process beside its pages: to stop, to look at, to let go */
        uint64_t process_gone;     /* of which this much is its own work, and not that of who overwrites */
        uint64_t processors;       /* at least 1 */
        bool one_by_one;           /* the kernel does not show frames: processes that share pages by fork end one after the other (scrub/tracer/round.c) */
        bool measured;
} WipeRate;

/* For as long as nobody has measured this machine: no faster than a slow one, and so that a region of the default budgets has the default bound. */
extern const WipeRate wipe_rate_unknown;

/* The most bytes that a region of this grant can hold, and no more than the machine has. */
uint64_t admit_bytes(const Grant *g);
/* The longest that overwriting so much memory, of at most so many processes, takes when all of the budget is used, in usec. */
uint64_t admit_predict(const WipeRate *rate, uint64_t bytes, Discipline d, unsigned passes, uint64_t processes);

/* Twice the prediction is to fit the bound, and where there are release callbacks three quarters of it. A bound that somebody declared is held to that: else
 * GRANT_E_BOUNDS with the numbers. A bound that nobody declared is made as long as it takes, in steps of 250 ms, 500 ms, 1 s and so on, up to the policy's
 * ceiling. above_usec: the bound of the region that starts this one, which is not passed; 0: none does. Sets teardown_usec and cancel_bound_usec. */
int admit(Grant *g, const WipeRate *rate, uint64_t above_usec, Diag *reterr);
/* How much longer a region takes than its memory would by the discipline of the one above, of whose memory it is a part. */
uint64_t admit_beyond(const WipeRate *rate, const Grant *g, const Grant *above);
/* All that lives below a region takes so much beyond what was predicted for that region, and still fits its bound. Returns 0, or GRANT_E_BOUNDS with the
 * numbers. */
int admit_together(const Grant *above, uint64_t beyond_usec, Diag *reterr);
/* Of the bound, what release callbacks have together. */
uint64_t admit_callbacks_usec(const Grant *g);
