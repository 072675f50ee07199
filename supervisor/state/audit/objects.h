/* Runs: CLI. Inside of audit/: what the ledger says of each object, for the report (O-4, O-16). */
#pragma once

#include "audit/map.h"
#include "base/id.h"
#include "base/json.h"

#define OBJECT_MARKS_MAX 2048 /* of an object; the entries behind are counted, and the last one is kept */

/* From this time on the object had this state. */
typedef struct ObjectMark {
        uint64_t usec;
        const char *state; /* static: object_state_name() */
} ObjectMark;

typedef struct ObjectFacts {
        char id[REGION_ID_MAX], parent[REGION_ID_MAX]; /* parent "": none */
        char *what;           /* a skill's name or a few words; owned */
        char *reason;         /* of the last dormant or terminated entry, or ""; owned */
        uint64_t first, entries, mutations, delegations, executions, not_kept; /* first: seq; not_kept: moves without a mark */
        uint64_t last_usec;
        ObjectMark *marks;    /* owned; at least one */
        size_t n;
} ObjectFacts;

typedef struct ObjectsFacts {
        ObjectFacts **objects; /* by their first entry here; owned */
        size_t n;
        Map by_id;
} ObjectsFacts;
void objects_facts_deinit(ObjectsFacts *f);

/* Takes an event object.entry of the ledger, with its fields; usec: of the ledger's entry. Returns 0, -EUCLEAN, -ENOMEM. */
int objects_facts_take(ObjectsFacts *f, uint64_t seq, uint64_t usec, const json_t *event);
