/* Runs: supervisor. The life of a region: one table of moves, and the closed set of ways in which an invocation ends.
 *
 *   DECLARED --> ALLOCATED --> RUNNING --> ENDED --> STOPPED --> CLEARED --> RELEASED --> RECORDED
 *      |             |                       ^  |                               |
 *      v             +-----------------------+  +--> UNRECORDED <--+------------+
 *   REFUSED
 *
 * DECLARED    a grant was made; nothing exists yet
 * REFUSED     nothing was allocated: policy, limit, tier or set-up said no. End
 * ALLOCATED   region.allocated is durable; the worker waits for the go byte or confines itself
 * RUNNING     the worker was let go
 * ENDED       it is known how it ended: the program ended, a budget was broken, a cancel came; some of it may still run
 * STOPPED     nothing of it runs: the tree was killed and reaped, and the kernel asked for proof; or, where callbacks or handles come
 *             before the overwriting, each of its processes stands at its exit stop
 * CLEARED     storage was overwritten and is given back: scratch gone, descriptors closed, control groups removed (I-13).
 *             Release callbacks and unbinding of handles stand between STOPPED and CLEARED.
 * RELEASED    the evidence is complete (I-16); nothing of the region is left
 * RECORDED    region.released and then invocation.ended are durable (I-15). End
 * UNRECORDED  the store refused to record the end, or the kernel would not let the region die; the next start tries again and
 *             records it as region.recovered (I-60). End */
#pragma once

#include "base/util.h"
#include "manifest/vocabulary.h"

typedef enum RegionState {
        REGION_DECLARED,
        REGION_REFUSED,
        REGION_ALLOCATED,
        REGION_RUNNING,
        REGION_ENDED,
        REGION_STOPPED,
        REGION_CLEARED,
        REGION_RELEASED,
        REGION_RECORDED,
        REGION_UNRECORDED,
} RegionState;
#define REGION_STATES 10

const char *region_state_name(RegionState s);
bool region_state_can_move(RegionState from, RegionState to);
/* No move leads out of it. */
bool region_state_is_end(RegionState s);

/* How an invocation ended: closed, part of the contract of the receipt. */
typedef enum Outcome {
        OUTCOME_NONE, /* not ended yet */
        OUTCOME_EXITED,
        OUTCOME_SIGNALED,
        OUTCOME_TIMED_OUT,
        OUTCOME_OUT_OF_REGION,
        OUTCOME_CPU_EXCEEDED,
        OUTCOME_PIDS_EXCEEDED,
        OUTCOME_OUTPUT_EXCEEDED,
        OUTCOME_SCRATCH_EXCEEDED,
        OUTCOME_FILE_SIZE_EXCEEDED,
        OUTCOME_DENIED,
        OUTCOME_CANCELLED,
        OUTCOME_GUARD_LOST, /* its guard ended before it did, and so the kernel killed what the guard traced */
        OUTCOME_SETUP_FAILED,
} Outcome;
#define OUTCOMES 14

const char *outcome_name(Outcome o); /* "exited", …; "none" before the end */
/* A budget or a rule was broken: what the region proposed is discarded (I-24). */
bool outcome_is_breach(Outcome o);
/* An invocation's proposals count at such an end, by its manifest (I-78). */
bool outcome_is_kept(Outcome o, int status, CommitWhen when);
/* What `lethe run` exits with; status is the exit code of EXITED and the signal of SIGNALED or CANCELLED, the code to use of SETUP_FAILED. */
int outcome_exit_code(Outcome o, int status);
