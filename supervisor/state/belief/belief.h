/* Runs: supervisor, CLI. Shared belief as people and skills read it: canonical rows only. Raw notes and what is pending are none of it (G-51). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

/* {"bucket","id","state","version","created","last","agent"?,"payload"?,"aliases"?,"phrases"?}; created and last are sequences. New reference in *ret. */
int belief_row(Txn *t, const Record *rec, json_t **ret);
/* Array of rows by bucket and id: of one bucket, or of all (KIND_NONE); in one state, or in any (RECORD_NONE). */
int belief_list(Txn *t, uint64_t scope, Kind bucket, RecordState state, json_t **ret);
/* A part of that list, for who cannot take all of it at once. */
typedef struct BeliefAsk {
        Kind bucket;
        RecordState state;
        const char *after;   /* the place that the part before ended at, "BUCKET/ID"; NULL: from the first on */
        size_t limit, bytes; /* rows; bytes of their JSON, but the first is given whatever its size */
} BeliefAsk;
#define BELIEF_PLACE_MAX 96
/* next: where the next part begins, "" when there is none. It may be there though fewer rows than `limit` are: so many were looked at that were not in that state.
 * Returns 0, ENGINE_E_BAD_NAME for an `after` that is no place, -errno. */
int belief_page(Txn *t, uint64_t scope, const BeliefAsk *ask, json_t **ret, char next[static BELIEF_PLACE_MAX], Diag *reterr);
/* Returns 0, ENGINE_E_NO_RECORD, -errno. */
int belief_get(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr);
/* Array of {"seq","time","operation","version","state","agent"?,"run"?,"who"|"region","note"?,"applied","raw_input"?,"source_ref"?}, oldest first: why each thing was
 * changed (G-27). Returns 0, ENGINE_E_NO_RECORD, -errno. */
int belief_history(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr);
