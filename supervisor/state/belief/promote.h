/* Runs: supervisor, CLI. The pipeline of governed memory: notes of a run, in order, each interpreted, resolved, validated and persisted (G-5), and what was
 * pending looked at again after every commit (G-46). The outcome of a note is set in the transaction that does what it says (G-7). */
#pragma once

#include "belief/apply.h"
#include "belief/interpret.h"

#define PROMOTE_BATCH_MAX 64
#define SETTLE_ATTEMPTS_MAX 64 /* of one root commit, those that replayed commits trigger included (G-47) */

typedef struct Promoting {
        const char *run;
        uint64_t most;            /* notes; 0: all that are there */
        unsigned batch;           /* notes in one transaction, 1 to PROMOTE_BATCH_MAX; an advisor is asked outside of it */
        const Advisor *advisor;   /* or NULL: built in */
        const ResolvePolicy *policy;
        const char *who, *region; /* one of them */
        const KeyHold *keys;      /* of the regions that live: what holds one is invalid; or NULL */
        /* Each note's outcome, once it is durable; borrowed. Or NULL. Another value than 0 ends it, and is returned. */
        int (*told)(void *user, uint64_t note, const json_t *outcome);
        void *user;
} Promoting;

typedef struct Promoted {
        uint64_t notes, committed, pending, rejected, invalid;
        uint64_t resolved; /* pending items that a commit decided */
} Promoted;

/* Transactions of its own. Returns 0, ENGINE_E_NO_RECORD for a run that is none, STORE_E_* (with *ret_store set), -errno. */
int belief_promote(Store *s, const Promoting *p, Promoted *ret, bool *ret_store, Diag *reterr);

/* By whom, and by which thresholds, something is tried. */
typedef struct Trying {
        const ResolvePolicy *policy;
        const char *who, *region; /* one of them */
        const KeyHold *keys;      /* of the regions that live: what holds one goes on waiting; or NULL */
} Trying;
/* Looks at what waits and is concerned by the row that was just committed, with the bucket by which it was. In the caller's transaction. done->was is
 * taken. *ret_resolved: how many were decided. */
int belief_settle(Txn *t, Bucket *b, Applied *done, const Trying *by, uint64_t *ret_resolved);
typedef struct Retried {
        uint64_t tried, resolved;
        uint64_t damaged; /* could not be tried: the item, or a row that it may be about, cannot be read */
} Retried;
/* On request: every open item of a scope (0: of all), oldest first, at most `most` (0: all). What holds the key of a region that lives is not tried, nor what
 * is damaged, and so uses up none of its attempts. Returns 0, ENGINE_E_OLD_INDEX, -errno. */
int belief_retry(Txn *t, uint64_t scope, uint64_t most, const Trying *by, Retried *ret, Diag *reterr);
/* A person says which row an item is about (G-50). Returns 0, ENGINE_E_*, -errno; *ret is what became of it. */
int belief_bind(Txn *t, uint64_t pending, const char *target, const Trying *by, Applied *ret, Diag *reterr);

/* {"issues":[{"id","version","title","aliases"}…],"decisions":[…],"constraints":[…]}: open and active now (G-6). What cannot be read is left out: what is said of it
 * waits (belief_apply). */
int belief_context(Txn *t, uint64_t scope, json_t **ret);
