/* Runs: supervisor, CLI. Who waits for what (O-30): two tables beside the ledger, settled in the commit that fulfils.
 *
 *   due   be64 usec, id            -> ""      look at the object then; 0: at once
 *   wake  key, NUL, id             -> match   a change of `key` makes the object due at once; match: canonical JSON of
 *                                             {MEMBER: value...} that the event's entry must have, an array of
 *                                             several, or ""
 *   keys: "slot/NAME" (slot.written), "object/ID" (its end), "child/ID" (the end of a child of ID), "event/TYPE",
 *         "policy" (wake_on_key())
 *
 * event_record() calls wake_on_event() for every event; without rows in `wake` it costs one look at the table's size.
 * The objects that an event wakes are named in one event object.woken (several when they do not fit into one entry), and
 * are due at once. They lose their rows in `wake`, except for conditions on other events of the ledger: those events
 * can be seen only once. Projection of object.woken, object.armed and of object.entry makes the rows
 * (record/object-row.h); no other code writes them.
 *
 * An object that is due and whose cycle finds nothing to do gets no entry (O-33). Its row would stay due, and its rows in
 * `wake` are gone: so object_cycle() records object.armed {"object","due"?,"wake"?}, the rows that the object needs from
 * now on. Without a row that is due (a human polls) nothing is recorded at all. */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "store/table.h"

#define WAKE_KEY_MAX 200   /* bytes: "slot/" and a slot's name, "event/" and a type */
#define WAKE_MATCH_MAX 512 /* bytes of canonical JSON */
#define WAKE_KEYS_MAX 64   /* of an object: of TRIGGER_NODES_MAX conditions */

/* seq, type, entry: of the event that was appended just now. Returns 0 or -errno. */
int wake_on_event(Txn *t, uint64_t seq, const char *type, const json_t *entry);
/* Wakes whatever waits for `key`, without an event behind it: "policy", when a supervisor reads another policy. *ret:
 * how many. Returns 0 or -errno. */
int wake_on_key(Txn *t, const char *key, size_t *ret);
/* The earliest due time of all, UINT64_MAX: none. */
int wake_next(Txn *t, uint64_t *ret_usec);
typedef struct WakeDue {
        uint64_t usec;
        char object[REGION_ID_MAX];
} WakeDue;
/* Up to `most` rows whose time is not after now, earliest first, behind the row `after` (NULL: from the first on; a row
 * that is gone still names its place). Returns 0 or -errno. */
int wake_due(Txn *t, uint64_t now_usec, const WakeDue *after, size_t most, WakeDue *ret, size_t *ret_n);

/* For object-row.c. keys: array of [key, match|null], or NULL; due UINT64_MAX: none. wake_put() returns -EUCLEAN for keys
 * beyond the bounds; wake_del() takes away the same rows, as far as they are there. */
int wake_put(Txn *t, const char *id, uint64_t due_usec, const json_t *keys);
int wake_del(Txn *t, const char *id, uint64_t due_usec, const json_t *keys);
