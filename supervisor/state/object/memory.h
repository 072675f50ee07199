/* Runs: supervisor, CLI. The fold of an object's entries (O-17): all that selection reads. A pure function of the
 * entries; no node keeps anything beside it (O-13). */
#pragma once

#include "object/entry.h"

/* O-48: the kinds of outcome descriptors: {"kind", "latency_usec", "exit_code"?, "signal"?, "reason"?, "remainder"?,
 * "capability"?, "value"?}. */
typedef enum OutcomeKind {
        OUTCOME_KIND_SUCCESS, OUTCOME_KIND_FAILURE, OUTCOME_KIND_TIMEOUT, OUTCOME_KIND_PARTIAL,
        OUTCOME_KIND_NON_RESPONSE, OUTCOME_KIND_NEGATIVE, OUTCOME_KIND_DENIED, OUTCOME_KIND_INTERRUPTED,
        OUTCOME_KIND_FAULT, OUTCOME_KIND_COUNT_,
} OutcomeKind;
const char *outcome_kind_name(OutcomeKind k); /* "success" … "non_response", "negative" … */
OutcomeKind outcome_kind_of(const char *name); /* OUTCOME_KIND_COUNT_: none */

/* Bounds of the fold, whatever the entries are (O-54). */
#define MEMORY_COUNTS_MAX 64
#define MEMORY_NEGATIVE_MAX 64
#define MEMORY_CLOSED_MAX 16
#define MEMORY_CHILDREN_MAX 2048
#define MEMORY_BY_MAX 127                /* bytes of the context's "by", which events of this store repeat */
#define MEMORY_FOLD_REASON_MAX 256       /* bytes of a reason or a capability; a longer one is left out */
#define MEMORY_VALUE_MAX (4 * 1024)      /* bytes of a value, canonical; a longer one is left out */
#define MEMORY_REMAINDER_MAX (32 * 1024) /* of a remainder, and of all values of a collecting aggregate */
#define MEMORY_NEXT_MAX (64 * 1024)

typedef struct ObjectMemory {
        char object[REGION_ID_MAX];
        uint64_t n;                     /* entries so far: the next one has this number */
        uint8_t head[ENTRY_HASH_BYTES]; /* hash of the last */
        uint64_t time_usec;             /* of the last */
        ObjectState state;
        json_t *intent;  /* the present one, complete; owned, as all json_t here */
        json_t *context; /* as at creation; "scope" as narrowed */
        /* All else that selection reads, as one object, so that checkpoints and comparison are the same thing:
         * {"step": n (of steps), "successes": n (rounds), "attempts": n (non-successes in a row), "weight10": n
         *  (weighted run of non-successes times ten, O-51), "latency_usec": of the last execution,
         *  "last": descriptor|null, "last_time": usec, "timeouts": n (of the present form of the step, O-50),
         *  "waited": bool (the backoff of "last" is over), "rest": bool (a round is over, the rest is not),
         *  "serial": of the last delegation, "remainder"?: value of a partial outcome,
         *  "again"?: {"delegate": [intents], "gather", "proposed"} (left by an aggregate),
         *  "started"?: {"trace","node","n","time","deadline_usec","skill"} (an execution without outcome, O-38),
         *  "negative": [{"node","capability","skill","n"}] (the newest MEMORY_NEGATIVE_MAX),
         *  "next"?: proposal of a skill, not yet decided,
         *  "delegation"?: {"serial","mode","n"?,"since","until_usec"?,"within_usec"?,"proposed","closed": false,
         *   "children": {ID: {"status": null|KIND, "intent", "value"?}}} (open; a closed delegation is gone),
         *  "closed": {SERIAL: descriptor} (the newest MEMORY_CLOSED_MAX),
         *  "children_ever": {ID: SERIAL} (children without an answer; the newest, about MEMORY_CHILDREN_MAX),
         *  "dormant"?: {"trigger","reason","since","not_before"},
         *  "counts": {KIND: [usec...]} (of the present dormancy, the newest MEMORY_COUNTS_MAX each),
         *  "inputs": n, "ended"?: reason, "policy"?: ref of the last entry}
         * A fold is shared with copies and entries: read only. */
        json_t *fold;
        uint64_t checkpoint; /* n of the last checkpoint entry + 1; 0: none */
} ObjectMemory;
#define OBJECT_MEMORY_NULL ((ObjectMemory){0})
void memory_deinit(ObjectMemory *m);
#define _cleanup_memory_ _cleanup_(memory_deinit)

/* Takes the next entry. Checked are number, prev, object, the move (O-18), "state", and data as of entry.h: intents
 * parse and stay in the scope, a mutation refines (O-23), a child belongs to the object and answers once (O-26). The
 * time is only recorded: clocks may jump. First of a memory: instantiated, or a checkpoint (memory_from_checkpoint()).
 * A terminated object takes only late answers of children and adopted histories (O-20). Returns 0, OBJECT_E_CHAIN, OBJECT_E_MOVE,
 * OBJECT_E_SYNTAX, OBJECT_E_INTENT, OBJECT_E_SCOPE with a message, -ENOMEM; the memory is unchanged then. */
int memory_apply(ObjectMemory *m, const Entry *e, Diag *reterr);
/* {"version":1,"n","head","time","state","intent","context","fold"}: for checkpoints, and for comparing two folds.
 * *ret: new; its members are shared. */
int memory_to_json(const ObjectMemory *m, json_t **ret);
/* The reverse. Returns 0, OBJECT_E_SYNTAX, OBJECT_E_VERSION with a message, -ENOMEM. */
int memory_from_json(const json_t *v, const char *object, ObjectMemory *ret, Diag *reterr);
/* Begins at a checkpoint entry; "fold" must be that of the entries before. */
int memory_from_checkpoint(const Entry *e, ObjectMemory *ret, Diag *reterr);

/* The trust scope, as left by the constraints slots_write and skills of the intent: no child has more (O-25). *ret:
 * new. */
int memory_scope(const ObjectMemory *m, json_t **ret);
/* The data of ENTRY_CHILD for a child's outcome (a descriptor), with "late" as needed (O-26). Returns 0,
 * OBJECT_E_SYNTAX: no child of this object, or a second answer (append nothing); -ENOMEM. */
int memory_child_note(const ObjectMemory *m, const char *child, const json_t *outcome, json_t **ret, Diag *reterr);
/* The same for the children without answer when `within` of the open delegation is over at now_usec, by id, up to the
 * child with which the aggregate closes; else []. */
int memory_non_responses(const ObjectMemory *m, uint64_t now_usec, json_t **ret);
/* The descriptor of a terminated object for its parent (O-26): satisfied is success, policy is denied, deadline is
 * timeout, requested is interrupted; otherwise the last outcome. NULL (and 0) before the end. */
int memory_status(const ObjectMemory *m, json_t **ret);
