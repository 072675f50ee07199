/* Runs: supervisor, CLI. One event: builds the ledger entry and appends it. Inside of engine/ only. */
#pragma once

#include "base/json.h"
#include "store/table.h"

typedef struct Event {
        const char *type;
        const char *region;   /* or NULL; on every event that occurred in one (I-53) */
        const char *who;      /* or NULL: the operator */
        const json_t *fields; /* or NULL: further members, borrowed; type, time, region, who and body in it are overridden */
        bool takes_fields;    /* with a payload: fields is the caller's own object, which is written into instead of copied */
        const void *payload;  /* or NULL: goes to table body, the entry has its commitment */
        size_t n_payload;
        json_t *commitment;   /* or NULL: member body of an earlier event, whose payload this one speaks of; borrowed */
} Event;
/* Returns 0 or -errno. *ret_commitment (may be NULL) is a new reference to the member body. Fields that make the entry too large for the
 * ledger (64 KiB) go to its body as a whole: {"body":…,"fields":"body"}. */
int event_append(Txn *t, const Event *e, uint64_t *ret_seq, json_t **ret_commitment);

/* The same, and *ret_entry is the entry as event_get() would give it: for who projects it at once. */
int event_record(Txn *t, const Event *e, uint64_t *ret_seq, json_t **ret_entry);

/* The entry `seq`, parsed. */
int event_get(Txn *t, uint64_t seq, json_t **ret);
