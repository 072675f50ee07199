/* Runs: supervisor, CLI. One event: builds the ledger entry and appends the entry. For engine/ only. */
#pragma once

#include "base/json.h"
#include "store/table.h"

typedef struct Event {
        const char *type;
        const char *region;   /* or NULL; set on every event of a region (I-53) */
        const char *who;      /* or NULL: the operator */
        json_t *fields;       /* further members; taken over, and may be changed; type, time, region, who, body win */
        const void *payload;  /* or NULL; stored in table body, its commitment in the entry */
        size_t n_payload;
        const json_t *json;   /* or NULL: the payload instead, in canonical form */
        json_t *commitment;   /* or NULL: member body of an earlier event with the same payload; borrowed */
} Event;
/* Takes e->fields over in all cases; NULL fields stand for a failed allocation: -ENOMEM. Returns 0 or -errno.
 * *ret_entry is the entry as event_get() would return it, for callers that project the event at once; both results may
 * be NULL. Fields too large for a ledger entry (64 KiB) become the entry's body as a whole: {"body":…,"fields":"body"}. */
int event_record(Txn *t, const Event *e, uint64_t *ret_seq, json_t **ret_entry);
static inline int event_append(Txn *t, const Event *e, uint64_t *ret_seq) {
        return event_record(t, e, ret_seq, NULL);
}
int event_get(Txn *t, uint64_t seq, json_t **ret);
/* The first event with a time of at least usec, of a ledger with `size` events; size: none. The times of a ledger never
 * decrease. Returns 0, -EUCLEAN, -errno. */
int event_since(Txn *t, uint64_t size, uint64_t usec, uint64_t *ret);
