/* Runs: CLI. Inside of audit/: the ledger's facts about each object, for the report (O-4, O-16). */
#pragma once

#include "audit/map.h"
#include "base/id.h"
#include "base/json.h"

#define OBJECT_MARKS_MAX 2048 /* of an object; further entries are counted, and the newest is kept */

/* The object had the state from this time on. */
typedef struct ObjectMark {
        uint64_t usec;
        const char *state; /* static: object_state_name() */
} ObjectMark;

typedef struct ObjectFacts {
        char id[REGION_ID_MAX], parent[REGION_ID_MAX]; /* parent "": none */
        char *what;           /* a skill's name or a few words; owned */
        char *reason;         /* of the last entry, dormant or terminated, or ""; owned */
        uint64_t first;       /* seq */
        uint64_t entries, executions;
        uint64_t last_usec;
        ObjectMark *marks;    /* owned; n > 0 */
        size_t n;
} ObjectFacts;

typedef struct ObjectsFacts {
        ObjectFacts **objects; /* by first entry; owned */
        size_t n;
        Map by_id;
} ObjectsFacts;
void objects_facts_deinit(ObjectsFacts *f);

/* Takes an event object.entry with its fields; usec: time of the event. Returns 0, -EUCLEAN, -ENOMEM. */
int objects_facts_take(ObjectsFacts *f, uint64_t seq, uint64_t usec, const json_t *event);
