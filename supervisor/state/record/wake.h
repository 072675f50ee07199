/* Runs: supervisor, CLI. Who waits for what (O-30): two tables beside the ledger, settled in the commit that fulfils.
 *
 *   due   be64 usec, id            -> ""      look at the object then; 0: at once
 *   wake  key, NUL, id             -> match   a change of `key` makes the object due at once; match: canonical JSON of
 *                                             the members of the event's entry {MEMBER: value...}, an array of several
 *                                             matches, or ""
 *   keys: "slot/NAME" (slot.written), "object/ID" (its end), "child/ID" (the end of a child of ID), "event/TYPE",
 *         "policy" (wake_on_key()). Rows of "event/TYPE" with a match have a member of the match in the key as well:
 *         "event/TYPE?MEMBER=HASH", with the beginning of the SHA-256 of the value.
 *
 * event_record() calls wake_on_event() for every event; an empty table `wake` costs one look at the table's size. Event
 * object.woken names the woken objects (several events for many objects), which are due at once and lose their rows in
 * `wake`, except for conditions on other events of the ledger: an event can be seen only once. The projection of
 * object.woken, object.armed and object.entry makes the rows (record/object-row.h); no other code writes the tables.
 *
 * A due object whose cycle finds nothing to do gets no entry (O-33). The row in `due` would stay, and the rows in
 * `wake` are gone: object_cycle() records object.armed {"object","due"?,"wake"?}, the needed rows from now on. An
 * object without a due row (a person polls) gets no event at all. */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "store/table.h"

#define WAKE_KEY_MAX 200   /* bytes: "slot/" and a slot's name, "event/" and a type */
#define WAKE_MATCH_MAX 512 /* bytes of canonical JSON */
#define WAKE_KEYS_MAX 64   /* of an object: of TRIGGER_NODES_MAX conditions */

/* seq, type, entry: of the event that was appended just now. Returns 0 or -errno. */
int wake_on_event(Txn *t, uint64_t seq, const char *type, const json_t *entry);
/* Wakes the objects with rows under `key` without a causing event: "policy", when a supervisor reads a new policy.
 * *ret: the number of woken objects. Returns 0 or -errno. */
int wake_on_key(Txn *t, const char *key, size_t *ret);
/* The earliest due time of all, UINT64_MAX: none. */
int wake_next(Txn *t, uint64_t *ret_usec);
typedef struct WakeDue {
        uint64_t usec;
        char object[REGION_ID_MAX];
} WakeDue;
/* Up to `most` rows with a time not after now, earliest first, behind the row `after` (NULL: from the first on; a
 * deleted row still names its place). Returns 0 or -errno. */
int wake_due(Txn *t, uint64_t now_usec, const WakeDue *after, size_t most, WakeDue *ret, size_t *ret_n);

/* For object-row.c. keys: array of [key, match|null], or NULL; due UINT64_MAX: none. wake_put() returns -EUCLEAN for
 * keys beyond the bounds; wake_del() deletes the same rows, missing rows aside. */
int wake_put(Txn *t, const char *id, uint64_t due_usec, const json_t *keys);
int wake_del(Txn *t, const char *id, uint64_t due_usec, const json_t *keys);
