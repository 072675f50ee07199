/* Runs: supervisor. The life of a region: a table of moves, and the closed set of outcomes of an invocation.
 *
 *   DECLARED --> ALLOCATED --> RUNNING --> ENDED --> STOPPED --> CLEARED --> RELEASED --> RECORDED
 *      |             |                       ^  |                               |
 *      v             +-----------------------+  +--> UNRECORDED <--+------------+
 *   REFUSED
 *
 * DECLARED    a grant was made; no resource exists yet
 * REFUSED     no resource was allocated: refused by policy, limit, tier or set-up. End
 * ALLOCATED   region.allocated is durable; the worker waits for the go byte or confines itself
 * RUNNING     the worker was let go
 * ENDED       the outcome is known: end of the program, a broken budget, a cancel; processes may still run
 * STOPPED     no process runs: the tree was killed and reaped, with the kernel's proof. With callbacks or handles still
 *             due, each process stands at its exit stop, not yet overwritten
 * CLEARED     storage was overwritten and given back: scratch gone, descriptors closed, control groups removed (I-13).
 *             Release callbacks and unbinding of handles stand between STOPPED and CLEARED.
 * RELEASED    the evidence is complete (I-16); no resource of the region is left
 * RECORDED    region.released and then invocation.ended are durable (I-15). End
 * UNRECORDED  the store refused the record of the end, or the kernel could not end the region; the next start
 *             retries and records region.recovered (I-60). End */
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
bool region_state_is_end(RegionState s); /* A final state, without moves. */

/* The outcome of an invocation: a closed set, part of the contract of the receipt. */
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
        OUTCOME_GUARD_LOST, /* the guard ended first, so the kernel killed the traced processes */
        OUTCOME_SETUP_FAILED,
} Outcome;
#define OUTCOMES 14

const char *outcome_name(Outcome o); /* "exited", …; "none" before the end */
/* True for a broken budget or rule: the region's proposals are discarded (I-24). */
bool outcome_is_breach(Outcome o);
/* True when proposals count at such an end, by the manifest (I-78). */
bool outcome_is_kept(Outcome o, int status, CommitWhen when);
/* The exit code of `lethe run`. status: exit code of EXITED and SETUP_FAILED, signal of SIGNALED or CANCELLED. */
int outcome_exit_code(Outcome o, int status);
