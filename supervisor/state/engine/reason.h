/* Runs: supervisor, CLI. The reasons to clean up a record: typed, with refs, each true or false in the present refgraph
 * (M-42, M-44). The proposing routine (in its region) and the judging engine find the reasons independently. Reads
 * only. */
#pragma once

#include "refs/graph.h"

typedef enum ReasonCode {
        REASON_NONE = 0,
        REASON_BROKEN_REF,         /* refers to a removed or deleted record */
        REASON_SUPERSEDED_BY,      /* an active record refers to the record with role "supersedes" */
        REASON_RETIRED_DEPENDENCY, /* refers strongly to an archived record; names the event of the archival */
        REASON_UNSUPPORTED_SINCE,  /* no live record refers to the record, now and at the named pass */
        REASON_DISPUTED_BY,        /* a live record says the opposite */
        REASON_COUNT_,
} ReasonCode;
const char *reason_name(ReasonCode c);
ReasonCode reason_from_name(const char *name);
#define REASONS_DEFAULT (1U << REASON_BROKEN_REF | 1U << REASON_SUPERSEDED_BY | 1U << REASON_RETIRED_DEPENDENCY | \
                         1U << REASON_DISPUTED_BY)

typedef struct Reason {
        ReasonCode code;
        RecordKey ref;  /* the target or the source; unset for REASON_UNSUPPORTED_SINCE */
        uint64_t event; /* of REASON_RETIRED_DEPENDENCY */
        uint64_t pass;  /* of REASON_UNSUPPORTED_SINCE */
} Reason;
#define REASONS_MAX 64 /* of a record; the search stops there */

/* The present reasons among `wanted` (1 << code | …), by code, then by kind and id of the ref. Returns 0 or -errno. */
int reasons_of(Txn *t, const RecordKey *k, unsigned wanted, Reason ret[static REASONS_MAX], size_t *ret_n);
/* Is the reason true now? 1, 0, -errno. */
int reason_holds(Txn *t, const RecordKey *k, const Reason *reason);

/* {"reason","kind"?,"id"?,"event"?,"pass"?}. New reference or NULL. */
json_t *reason_json(const Reason *r);
/* 0 or ENGINE_E_BAD_PAYLOAD. */
int reason_parse(const json_t *o, uint64_t scope, Reason *ret, Diag *reterr);
