/* Runs: supervisor, CLI. What becomes of an interpreted request: resolved, validated, and put to the engine as a mutation, or into the queue. One piece for
 * promotion, for the queue's replay and for what a person decides. */
#pragma once

#include "base/keyscan.h"
#include "belief/bucket.h"
#include "belief/request.h"
#include "engine/mutate.h"
#include "engine/note.h"
#include "engine/resolve.h"
#include "engine/wait.h"

#define APPLY_CONFIDENCE_LEAST 0.5 /* of a request that creates and is bound to nothing (G-23) */

typedef struct Applying {
        uint64_t scope;
        const char *scope_name;
        const BeliefRequest *request;
        const char *note;       /* its text */
        size_t n_note;
        const char *agent, *run; /* or NULL */
        uint64_t number;        /* of the note in its run; 0: none */
        uint64_t pending;       /* id of the item that this is a replay of; 0: none */
        const char *waits_for;  /* its reason; or NULL */
        const char *target;     /* a person says which row it is: the resolver is not asked; or NULL */
        const ResolvePolicy *policy;
        const char *who, *region; /* one of them */
        const KeySet *keys;     /* or NULL */
        Bucket *bucket;         /* of the request's kind */
        const char *advisor;    /* the region that made the request of the note; or NULL */
        const json_t *interpreted; /* who said so, and how (G-12); or NULL */
} Applying;

typedef struct Applied {
        NoteOutcome outcome;   /* committed, pending, rejected, invalid */
        char code[48];         /* "no_cue", "ambiguous", "low_confidence", an EngineCode's or BeliefCode's word …; "" when committed */
        Diag why;              /* for people; "" when committed */
        uint64_t seq;          /* of the event that was committed; of a pending item its id; else 0 */
        char id[RECORD_ID_MAX]; /* the row, when committed */
        Kind kind;
        Op op;
        RecordState state;
        bool created, reactivated, applied;
        bool held_back;        /* the key of a region that lives is in it, or a row cannot be read: it was not held against all rows */
        bool damaged;          /* the latter */
        json_t *source_ref;    /* owned, or NULL (G-18) */
        BucketRow *was;        /* owned: the row before it was committed, where something waits for its bucket; NULL: it was not there. */
} Applied;
void applied_deinit(Applied *a);
#define _cleanup_applied_ _cleanup_(applied_deinit)

/* In the caller's write transaction, who also asks for the copy of the checkpoint outside the store (ledger_want_anchor). Of a replay (pending) that
 * cannot be decided now either, nothing is written: outcome pending. Returns 0 or -errno. */
int belief_apply(Txn *t, const Applying *a, Applied *ret);
/* {"outcome","code"?,"message"?,"seq"?,"bucket"?,"operation"?,"id"?,"state"?,"created"?,"reactivated"?,"source_ref"?}; new reference. */
json_t *applied_json(const Applied *a);
