/* Runs: supervisor, CLI. Shared belief for people and skills: canonical rows, no raw notes, no pending items (G-51). */
#pragma once

#include "engine/engine.h"
#include "engine/past.h"
#include "record/record.h"

/* Array of rows by bucket and id: of a bucket, or of all (KIND_NONE); in a state, or in any (RECORD_NONE). upto: the
 * rows after that event, PAST_NOW: the present rows; content erased since is "erased" instead of the payload. */
int belief_list_at(Txn *t, uint64_t scope, Kind bucket, RecordState state, uint64_t upto, json_t **ret);
static inline int belief_list(Txn *t, uint64_t scope, Kind bucket, RecordState state, json_t **ret) {
        return belief_list_at(t, scope, bucket, state, PAST_NOW, ret);
}
/* A part of belief_list(), for a caller with limited room. */
typedef struct BeliefAsk {
        Kind bucket;
        RecordState state;
        uint64_t upto;       /* PAST_NOW: the present rows */
        const char *after;   /* the end of the previous part, "BUCKET/ID"; NULL: from the first row on */
        size_t limit, bytes; /* rows; bytes of the rows' JSON. The first row is given whatever its size */
} BeliefAsk;
#define BELIEF_PLACE_MAX 96
/* next: the beginning of the next part, "" at the end. next may be set although the part has fewer than `limit` rows,
 * after many rows in a different state. Returns 0, ENGINE_E_BAD_NAME for an invalid `after`, -errno. */
int belief_page(Txn *t, uint64_t scope, const BeliefAsk *ask, json_t **ret, char next[static BELIEF_PLACE_MAX],
                Diag *reterr);
/* Returns 0, ENGINE_E_NO_RECORD, -errno. */
int belief_get_at(Txn *t, uint64_t scope, Kind bucket, const char *id, uint64_t upto, json_t **ret, Diag *reterr);
static inline int belief_get(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr) {
        return belief_get_at(t, scope, bucket, id, PAST_NOW, ret, reterr);
}
/* Array of {"seq","time","operation","version","state","agent"?,"run"?,"who"|"region","note"?,"applied","raw_input"?,
 * "source_ref"?}, oldest first: the reason of each change (G-27). Expired items that could be about the row have
 * "pending" and "expired" (G-63), and applied false. Returns 0, ENGINE_E_NO_RECORD, -errno. */
int belief_history(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr);
