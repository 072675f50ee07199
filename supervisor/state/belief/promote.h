/* Runs: supervisor, CLI. The pipeline of governed memory: the notes of a run, in order, are interpreted, resolved,
 * validated and persisted (G-5), in the transaction that sets the outcome (G-7). Each commit tries pending items again
 * (G-46). */
#pragma once

#include "belief/interpret.h"
#include "belief/settle.h"

#define PROMOTE_BATCH_MAX 64

typedef struct Promoting {
        const char *run;
        uint64_t most;            /* notes; 0: all */
        /* notes in a transaction, 1 to PROMOTE_BATCH_MAX; an advisor is asked outside of the transaction */
        unsigned batch;
        const Advisor *advisor;   /* or NULL: built in */
        const ResolvePolicy *policy;
        const WaitLimits *limits; /* of the age of pending items; NULL: WAIT_LIMITS_DEFAULT */
        const char *who, *region; /* one of the two */
        const KeyHold *keys;      /* of the living regions: a note with a key is invalid; or NULL */
        /* Called with each durable outcome of a note (borrowed); or NULL. A result other than 0 ends the promotion. */
        int (*told)(void *user, uint64_t note, const json_t *outcome);
        void *user;
} Promoting;

typedef struct Promoted {
        uint64_t notes, committed, pending, rejected, invalid;
        uint64_t resolved; /* pending items that a commit decided */
        uint64_t expired;  /* pending items that were overdue (engine/wait-age.h) */
} Promoted;

/* Makes its own transactions. Returns 0, ENGINE_E_NO_RECORD for an unknown run, STORE_E_* (and *ret_store), -errno. */
int belief_promote(Store *s, const Promoting *p, Promoted *ret, bool *ret_store, Diag *reterr);
