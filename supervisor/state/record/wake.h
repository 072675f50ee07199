/* Runs: supervisor, CLI. Who waits for what (O-30): two tables beside the ledger, settled in the commit that fulfils.
 *
 *   due   be64 usec, id            -> ""      look at the object then; 0: at once
 *   wake  key, NUL, id             -> match   a change of `key` makes the object due at once; match: canonical JSON of
 *                                             {MEMBER: value...} that the event's entry must have, or ""
 *   keys: "slot/NAME" (slot.written), "object/ID" (its end), "event/TYPE", "policy"
 *
 * event_record() calls wake_on_event() for every event; without rows in `wake` it costs one look at the table's size.
 * The objects that an event wakes are named in one event object.woken (member "by": the seq of the cause), and lose their
 * rows in `wake`. Projection of object.woken and of object.entry makes the rows; no other code writes them. */
#pragma once

#include "base/json.h"
#include "store/table.h"

/* seq, type, entry: of the event that was appended just now. Returns 0 or -errno. */
int wake_on_event(Txn *t, uint64_t seq, const char *type, const json_t *entry);
/* Rows of an object: replaced as a whole. keys: array of [key, match|null]; due UINT64_MAX: none. */
int wake_set(Txn *t, const char *id, uint64_t due_usec, const json_t *keys);
/* The earliest due time of all, UINT64_MAX: none. */
int wake_next(Txn *t, uint64_t *ret_usec);
/* Up to `most` ids whose time is not after now, earliest first, from the time and id `after` on (NULL: the first). */
int wake_due(Txn *t, uint64_t now_usec, size_t most, char (*ret)[27], size_t *ret_n);
