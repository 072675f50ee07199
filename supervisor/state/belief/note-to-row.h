/* Runs: supervisor, CLI. Resolves and validates an interpreted request, and gives a mutation to the engine or an item
 * to the queue. The same code for promotion, for replays of the queue and for decisions of a person. */
#pragma once

#include "base/keyscan.h"
#include "belief/bucket.h"
#include "belief/request.h"
#include "engine/mutate.h"
#include "engine/note.h"
#include "engine/resolve.h"
#include "engine/wait-age.h"

#define APPLY_CONFIDENCE_LEAST 0.5 /* of a request that creates and is bound to nothing (G-23) */

/* The actor and the thresholds of an attempt. */
typedef struct Trying {
        const ResolvePolicy *policy;
        const char *who, *region; /* one of the two */
        const KeyHold *keys;      /* of living regions: with a key, a note is invalid, an item keeps waiting; or NULL */
        const WaitLimits *limits; /* of the age of pending items; NULL: WAIT_LIMITS_DEFAULT */
} Trying;

typedef struct Applying {
        uint64_t scope;
        const char *scope_name;
        const BeliefRequest *request;
        const char *note;       /* its text */
        size_t n_note;
        const char *agent, *run; /* or NULL */
        const char *noted_by;   /* the region that added the note to a run of several regions; or NULL */
        uint64_t number;        /* the note's number in its run; 0: no run */
        uint64_t pending;       /* the id of the pending item under replay; 0: no replay */
        const char *waits_for;  /* the pending item's reason; or NULL */
        const char *target;     /* the row that a person chose, so the resolver is not asked; or NULL */
        const char *settles;    /* "KIND/ID" of the row for which a person ends this row; or NULL */
        bool look;              /* of a replay: what would become of the item; nothing is written */
        const Trying *by;
        Bucket *bucket;         /* the bucket of the request's kind */
        const char *advisor;    /* the region of the advisor that made the request; or NULL */
        struct NoteSupport *support; /* set by belief_apply() */
        bool from_tool;         /* the note is the output of a tool */
        bool advised;           /* an advisor made the request: the note has to say the same (support.h) */
        const json_t *interpreted; /* the interpreter, and its answers (G-12); or NULL */
} Applying;

typedef struct Applied {
        NoteOutcome outcome;   /* committed, pending, rejected, invalid */
        char code[48]; /* "no_cue", "ambiguous", …, the word of an EngineCode or BeliefCode; "" when committed */
        Diag why;              /* for people; "" when committed */
        uint64_t seq;          /* the committed event, or the id of the pending item; else 0 */
        char id[RECORD_ID_MAX]; /* the row, when committed */
        Kind kind;
        Op op;
        RecordState state;
        bool created, reactivated, applied;
        /* the request has the key of a living region, or a row cannot be read: not all rows were compared */
        bool held_back;
        bool damaged;          /* held back because a row cannot be read */
        json_t *source_ref;    /* owned, or NULL (G-18) */
        BucketRow *was; /* owned: the row before the commit, when an item waits for the bucket; NULL: a new row */
} Applied;
void applied_deinit(Applied *a);
#define _cleanup_applied_ _cleanup_(applied_deinit)

/* In the caller's write transaction; the caller also asks for the copy of the checkpoint (ledger_want_anchor()). A
 * replay without a decision writes nothing and has the outcome pending. Returns 0 or -errno. */
int belief_apply(Txn *t, const Applying *a, Applied *ret);
/* {"outcome","code"?,"message"?,"seq"?,"bucket"?,"operation"?,"id"?,"state"?,"created"?,"reactivated"?,"source_ref"?};
 * new reference. */
json_t *applied_json(const Applied *a);
