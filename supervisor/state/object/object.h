/* Runs: supervisor, CLI. Objects in the store (O-1..O-9, O-17, O-43). Tables: `object` (id, NUL, "row" -> the row;
 * id, NUL, be64 n -> seq of the event object.entry, whose body is the entry's line), `due` and `wake` (record/wake.h).
 * Rows are a fold of the ledger. Functions with a Txn work in the caller's transaction, and return 0, a positive
 * EngineCode with a message, or -errno. */
#pragma once

#include "engine/engine.h"
#include "object/memory.h"

typedef struct ObjectRow {
        char object[REGION_ID_MAX];
        uint64_t n, checkpoint, last; /* entries; as in memory.h; seq of the newest event */
        uint8_t head[ENTRY_HASH_BYTES];
        ObjectState state;
        uint64_t due_usec;            /* when to look again; 0: at once; UINT64_MAX: not by the clock */
        bool away, forked, behind, unknown; /* not eligible: exported with --move; diverged; an older copy came last;
                                               an entry's signer is not trusted here */
        /* in state execution: store_own_lock() of the performer, member "lock" of the event of `started`; 0: not in an
         * execution, or imported */
        uint64_t lock;
        json_t *row;                  /* whole; owned */
} ObjectRow;
void object_row_deinit(ObjectRow *r);
#define _cleanup_object_row_ _cleanup_(object_row_deinit)
int object_get(Txn *t, const char *id, ObjectRow *ret, Diag *reterr); /* ENGINE_E_NO_OBJECT */
/* The same from the row's JSON, which *ret shares. Returns 0, -EUCLEAN. */
int object_row_of(const char *id, json_t *row, ObjectRow *ret);
/* 0, or ENGINE_E_NOT_ELIGIBLE with a message: away, forked, behind or unknown_signer, and the remedy. */
int object_eligible(const ObjectRow *row, Diag *reterr);
/* The EngineCode of an OBJECT_E_*; 0 and -errno as they are. */
int object_code(int r);
/* The memory of an object, from the newest checkpoint on; whole: from the first entry. Another head than in the row
 * (O-8) is ENGINE_E_BAD_CHAIN. */
int object_memory(Txn *t, const ObjectRow *row, bool whole, ObjectMemory *ret, Diag *reterr);
/* As object_memory() from the newest checkpoint on, or the same fold as this process had it last (object/kept.h): for
 * cycles. A change of the stored entries behind the head's back is found by reading alone: verify and audit read. */
int object_memory_kept(Txn *t, const ObjectRow *row, ObjectMemory *ret, Diag *reterr);
/* Array of entries as JSON (with "hash", "keyid" and "seq" added), from `from` on. */
int object_history(Txn *t, const ObjectRow *row, uint64_t from, json_t **ret, Diag *reterr);
/* Calls each() for each object in this state (OBJECT_NONE: all), by id, with {"object","state","n","due"?: usec,
 * "intent": {"skill": NAME} | {"delegate": n} | {"wait": true} | {"steps": n},"parent"?,"reason"?,"status"?,"away"?,
 * "forked"?,"behind"?,"unknown"?}, borrowed: the memory does not grow with the number of objects. Returns 0, -errno,
 * or what each() returned, if not 0. */
int object_each(Txn *t, ObjectState state, int (*each)(void *user, const json_t *one), void *user);
/* The facts of trigger.h for needs: {"slots","objects","events"}. row: of the asking object, or NULL; member "woken"
 * has the events. */
int object_facts(Txn *t, const ObjectRow *row, const json_t *needs, json_t **ret);

typedef struct ObjectNew {
        const char *who;       /* "uid:1000" */
        const json_t *intent;  /* as written */
        const json_t *scope;   /* or NULL */
        const json_t *meta;    /* or NULL */
        const char *policy;    /* digest of the policy in force */
        uint64_t now_usec;
        uint64_t max_objects;  /* of policy: objects before their end; 0: no limit */
        const char *id;        /* of a child (O-24), chosen by the parent's delegation; NULL: a new id */
        const char *parent;    /* id, or NULL */
        uint64_t serial;       /* of the parent's delegation */
        const json_t *outer;   /* the parent's scope, a bound of the child's scope (O-25) */
        const char *trace;     /* NULL: a new id */
} ObjectNew;
/* Refuses with BAD_INTENT, BEYOND_SCOPE, TOO_MANY, TOO_LARGE, EXISTS. */
int object_create(Txn *t, const ObjectNew *n, char ret_id[static REGION_ID_MAX], uint64_t *ret_seq, Diag *reterr);

/* A cycle (O-10), in two halves around the performance; cycle.c. */
typedef struct ObjectCycle {
        const json_t *local;     /* of select.h, without "facts": object_cycle() looks them up in t */
        const char *who;
        const char *trace;       /* a new id; that of the region for an execution */
        bool later;              /* no place for an execution is free: a selected execution does not begin, and the
                                    answer is {"action":"none","reason":"later"} */
        uint64_t lock;           /* store_own_lock() of the performer, for the event of `started` */
        struct ObjectAhead *ahead; /* of object_cycle_ahead() with the same id and the same other members; or NULL */
} ObjectCycle;
/* Selects, makes and signs the entries of a cycle before the write transaction, in a snapshot: object_cycle() appends
 * them when row and facts are still as seen, else does the work again. NULL: not possible for this cycle, or a failure that
 * object_cycle() reports. The calling thread has no write transaction open; what *c points to stays until
 * object_cycle(). */
typedef struct ObjectAhead ObjectAhead;
ObjectAhead *object_cycle_ahead(Store *s, const char *id, const ObjectCycle *c);
void object_ahead_free(ObjectAhead *h);
#define _cleanup_object_ahead_ _cleanup_(object_ahead_freep)
static inline void object_ahead_freep(ObjectAhead **h) {
        object_ahead_free(*h);
}
/* Gathers outcomes of children, selects, and appends all entries of the action: except for an execution, the cycle is
 * over with the commit. *ret: {"object","action","state","entry": n,"reason","trace","unmet"?,"perform"?: {"skill",
 * "entry"?,"args","input"?,"timeout_usec","scope","constraints"?: of the intent,"trace"}}. With "perform" the entry
 * `started` is appended, and object_outcome() has to follow. */
int object_cycle(Txn *t, const char *id, const ObjectCycle *c, json_t **ret, Diag *reterr);
/* The outcome of a started execution (O-14, O-38), in the transaction of the region's end: effects and outcome
 * commit together. The call comes after engine_region_end(), which discards the changes of a finished execution
 * (engine/execution.h). outcome: a descriptor; next: the proposal in the skill's result, or NULL. region: NULL without a
 * region. ENGINE_E_CONFLICT, with nothing appended: the object is not in the execution of this trace (O-43). */
int object_outcome(Txn *t, const char *id, const char *trace, const char *region, const json_t *outcome,
                   const json_t *next, json_t **ret, Diag *reterr);
/* An advisory input (O-44). from: at most OBJECT_WORD_MAX bytes. Refuses with NO_OBJECT, TERMINATED, NOT_ELIGIBLE,
 * TOO_LARGE, BAD_UTF8. *ret: {"object","state","entry": n}. */
#define OBJECT_WORD_MAX 256
int object_input(Txn *t, const char *id, const char *who, const char *from, const json_t *input, json_t **ret,
                 Diag *reterr);
/* The end on request (O-35), as object_input(). reason: at most OBJECT_WORD_MAX bytes. */
int object_end(Txn *t, const char *id, const char *who, const char *reason, json_t **ret, Diag *reterr);
