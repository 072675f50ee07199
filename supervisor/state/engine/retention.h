/* Runs: supervisor, CLI. Retention: erasure of rows of a bucket with an old newest event, and of values of slots written
 * long ago. Turns are small, so no writer waits long (M-66, M-67). */
#pragma once

#include "engine/engine.h"
#include "record/kind.h"

#define RETENTION_TURN 16    /* rows, and slots, of a turn */
#define RETENTION_VALUES 256 /* of a slot in a turn */

typedef struct RetentionRule {
        const char *scope; /* name, with kind */
        Kind kind;         /* a bucket; KIND_NONE: slots */
        const char *slots; /* the beginning of the slots' names */
        const char *stay;  /* as written in the policy, for the events */
        uint64_t before;   /* CLOCK_REALTIME usec: older rows and values go */
} RetentionRule;
/* A turn over one rule, in the caller's write transaction. Open pending items about an erased row go, too.
 * *ret_n: rows and values erased; *ret_more: another turn is needed. A missing scope is no error. Returns 0, ENGINE_E_*
 * for a row with a refused erasure, -errno: abort the transaction after both. */
int engine_retention(Txn *t, const RetentionRule *rule, const char *who, uint64_t *ret_n, bool *ret_more,
                     Diag *reterr);
/* Has the rule rows or values to erase? 1, 0, -errno. Any transaction. */
int retention_any(Txn *t, const RetentionRule *rule);
