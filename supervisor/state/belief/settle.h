/* Runs: supervisor, CLI. Tries pending items again: after a commit, on request, or for a row that a person chose. */
#pragma once

#include "belief/note-to-row.h"

#define SETTLE_ATTEMPTS_MAX 64 /* of a root commit, with the attempts after replayed commits (G-47) */

#define SETTLE_ALIKE_MOST 4 /* failed attempts after one commit, of items that share the same terms with its row */

/* Tries the pending items that the committed row concerns, with the bucket of the commit, in the caller's transaction.
 * Takes done->was. *ret_resolved: the number of decided items. */
int belief_settle(Txn *t, Bucket *b, Applied *done, const Trying *by, uint64_t *ret_resolved);
typedef struct Retried {
        uint64_t tried, resolved;
        uint64_t expired; /* overdue items: closed, not tried */
        uint64_t damaged; /* the item, or a row that may be its subject, cannot be read */
} Retried;
/* On request: tries every open item of a scope (0: of all), oldest first, at most `most` (0: all). Damaged items, and
 * items with the key of a living region, are not tried and lose no attempt. Returns 0, ENGINE_E_OLD_INDEX, -errno. */
int belief_retry(Txn *t, uint64_t scope, uint64_t most, const Trying *by, Retried *ret, Diag *reterr);
/* The reason why an open or stuck item waits now (G-64), by the rows as they are: {"reason","message"?,"candidates":[…]}, the
 * best three with their scores. reason "ready": the next attempt would commit; "overdue": the next commit of the scope
 * closes the item. Reads only; bucket_of() of nothing, or
 * the bucket of the call before. Returns 0 with *ret owned; -EUCLEAN: the item cannot be read; -errno. */
#define LOOK_CANDIDATES 3
int belief_look(Txn *t, Bucket *b, const Wait *w, const Trying *by, json_t **ret);
/* A person chooses the row of an item (G-50). Returns 0 with the result in *ret, ENGINE_E_*, -errno. */
int belief_bind(Txn *t, uint64_t pending, const char *target, const Trying *by, Applied *ret, Diag *reterr);
