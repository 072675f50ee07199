/* Runs: supervisor, CLI. Why a record may be cleaned up: typed reasons, each of which names refs and holds or does not hold in the refgraph as it is (M-42,
 * M-44). What proposes (a routine in its region) and what judges (the engine) find them apart from each other. Reads only. */
#pragma once

#include "refs/graph.h"

typedef enum ReasonCode {
        REASON_NONE = 0,
        REASON_BROKEN_REF,         /* refers to what is removed or deleted */
        REASON_SUPERSEDED_BY,      /* an active record refers to it with role "supersedes" */
        REASON_RETIRED_DEPENDENCY, /* refers strongly to what was archived: by which event */
        REASON_UNSUPPORTED_SINCE,  /* nothing live refers to it, and did not at the pass either */
        REASON_COUNT_,
} ReasonCode;
const char *reason_name(ReasonCode c);
ReasonCode reason_from_name(const char *name);
#define REASONS_DEFAULT (1U << REASON_BROKEN_REF | 1U << REASON_SUPERSEDED_BY | 1U << REASON_RETIRED_DEPENDENCY)

typedef struct Reason {
        ReasonCode code;
        RecordKey ref;  /* the target or the record; none of REASON_UNSUPPORTED_SINCE */
        uint64_t event; /* of REASON_RETIRED_DEPENDENCY */
        uint64_t pass;  /* of REASON_UNSUPPORTED_SINCE */
} Reason;
#define REASONS_MAX 64 /* of one record; further ones are not looked for */

/* The reasons of `wanted` (1 << code | …) that hold now, by code, then by kind and id of the ref. Returns 0 or -errno. */
int reasons_of(Txn *t, const RecordKey *k, unsigned wanted, Reason ret[static REASONS_MAX], size_t *ret_n);
/* 1, 0, -errno. */
int reason_holds(Txn *t, const RecordKey *k, const Reason *reason);

/* {"reason","kind"?,"id"?,"event"?,"pass"?}. New reference or NULL. */
json_t *reason_json(const Reason *r);
/* 0 or ENGINE_E_BAD_PAYLOAD. */
int reason_parse(const json_t *o, uint64_t scope, Reason *ret, Diag *reterr);
