/* Runs: supervisor, CLI. The fold of an object's entries (O-17): all that selection reads. A pure function of the
 * entries; no node keeps anything beside it (O-13). */
#pragma once

#include "object/entry.h"

/* O-48: the kinds of outcome descriptors: {"kind", "latency_usec", "exit_code"?, "signal"?, "reason"?, "remainder"?,
 * "capability"?, "value"?}. */
typedef enum OutcomeKind {
        OUTCOME_KIND_SUCCESS, OUTCOME_KIND_FAILURE, OUTCOME_KIND_TIMEOUT, OUTCOME_KIND_PARTIAL, OUTCOME_KIND_NON_RESPONSE,
        OUTCOME_KIND_NEGATIVE, OUTCOME_KIND_DENIED, OUTCOME_KIND_INTERRUPTED, OUTCOME_KIND_FAULT, OUTCOME_KIND_COUNT_,
} OutcomeKind;
const char *outcome_kind_name(OutcomeKind k); /* "success" … "non_response", "negative" … */
OutcomeKind outcome_kind_of(const char *name); /* OUTCOME_KIND_COUNT_: none */

typedef struct ObjectMemory {
        char object[REGION_ID_MAX];
        uint64_t n;                     /* entries so far: the next one has this number */
        uint8_t head[ENTRY_HASH_BYTES]; /* hash of the last */
        uint64_t time_usec;             /* of the last */
        ObjectState state;
        json_t *intent;  /* the present one, complete; owned, as all json_t here */
        json_t *context; /* as at creation; "scope" as narrowed */
        /* Everything else that selection reads, as one object, so that checkpoints and comparison are the same thing:
         * {"step": n (of steps), "successes": n, "attempts": n (non-successes in a row), "weight10": n (weighted run of
         *  non-successes times ten, O-51), "latency_usec": of the last execution, "last": descriptor|null,
         *  "last_time": usec, "raised": bool (timeout raised once for this step, O-50), "remainder"?: value,
         *  "started"?: {"trace","node","n","time","deadline_usec"} (an execution without outcome, O-38),
         *  "negative": [{"node","capability","n"}], "next"?: proposal of a skill, not yet decided,
         *  "delegation"?: {"serial","mode","n","until_usec"?,"closed": bool,"children": {ID: {"status": null|KIND,"late"?}}},
         *  "closed": {SERIAL: descriptor}, "children_ever": {ID: SERIAL} (for late ones),
         *  "dormant"?: {"trigger","reason","since","not_before"}, "counts": {KIND: [usec...]} (since dormant, at most 64 each),
         *  "inputs": n, "ended"?: reason, "policy"?: ref of the last entry} */
        json_t *fold;
        uint64_t checkpoint; /* n of the last checkpoint entry + 1; 0: none */
} ObjectMemory;
#define OBJECT_MEMORY_NULL ((ObjectMemory){0})
void memory_deinit(ObjectMemory *m);
#define _cleanup_memory_ _cleanup_(memory_deinit)

/* Takes the next entry: checks number, prev, object, a time that does not run back by itself being an error (clocks may
 * jump: time is only recorded), the move (O-18) and that "state" is the state after. First of a memory: instantiated, or
 * a checkpoint (memory_from_checkpoint()). Returns 0, OBJECT_E_CHAIN, OBJECT_E_MOVE, OBJECT_E_SYNTAX with a message; the
 * memory is unchanged then. */
int memory_apply(ObjectMemory *m, const Entry *e, Diag *reterr);
/* {"version":1,"n","head","time","state","intent","context","fold"}: for checkpoints, and for comparing two folds. */
int memory_to_json(const ObjectMemory *m, json_t **ret);
/* Begins at a checkpoint entry; its "fold" must be that of the entries before. */
int memory_from_checkpoint(const Entry *e, ObjectMemory *ret, Diag *reterr);
