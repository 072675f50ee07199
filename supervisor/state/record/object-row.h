/* Runs: supervisor, CLI. Rows of objects and of trusted keys, and rows of `due` and `wake`, as a fold of the ledger:
 * the live path, `lethe rebuild` and `lethe verify` use this module, and no other code writes the tables. The rows
 * follow from members of the events alone; readers of an object's memory read the bodies.
 *
 * Table `object`:
 *   id, NUL, be64 n        -> be64 seq of the event object.entry whose body is the line of entry n
 *   id, NUL, "row"         -> canonical JSON (below)
 *   id, NUL, "trace", NUL, trace -> an open execution (engine/execution.h)
 *   "trust", NUL, keyid    -> {"node","vkey","state": "trusted"|"revoked","seq"}
 *   "state", NUL, state    -> be64, the number of objects in this state
 *   "run", NUL, id         -> "": the object is in state execution
 *
 * The row: {"n": entries, "head": hex, "state", "created": seq, "last": seq of the newest event, "time": usec of the
 * last entry, "signers": [keyid...] of all entries, "checkpoint"?: as in memory.h, "due"?: usec, none: not by the
 * clock, "wake"?: [[key, match|null]...], "woken"?: [{"type","seq","match": object|null}...] (fulfilled event
 * conditions since the newest move, at most WAKE_KEYS_MAX), "lock"?, "parent"?: id, "do"?: {"skill": NAME} |
 * {"delegate": n} | {"wait": true} | {"steps": n}, "reason"?: of a dormant or terminated entry,
 * "status"?: the kind of outcome of a terminated object, "away"?: true,
 * "behind"?: true, "unknown"?: true, "branches"?: [{"from": n,"n","head","seq"}...],
 * "keys"?: {KEYID: vkey} of signers without trust at the time of the import}. Tables `due` and `wake` have the
 * row's due and wake unless the object is away, behind, of an unknown signer, or forked (has branches).
 *
 * Events, with the members read here (all have "object", but object.woken and the events about keys):
 *   object.entry     "n", "kind", "trace", "state", "head", "time_usec", "keyid", "note"?: true (the state stays),
 *                    "due"?, "wake"?, "checkpoint"?: true, "lock"?, "parent"?, "do"?, "reason"?, "status"?;
 *                    body: the line
 *   object.armed     "n", "due"?, "wake"?: the rows from now on; n: entries, as a check
 *   object.woken     "by"?, "of"?: seq and type of the cause, "objects": [id...], "seen"?: {id: [match|null...]}
 *   object.moved     "n", "head": exported for good: away
 *   object.imported  "how": "new"|"ahead"|"equal" (here again, and not behind) | "behind"; "unknown"?: true,
 *                    "keys"?
 *   object.branch    "from": first n of the other branch, "n", "head": of it, "keys"?; body: its lines
 *   object.adopted   "n", "head", "state", "checkpoint"?, "back"?: true: the object from now on, without branches. A
 *                    continued other branch makes the object shorter first; events object.entry with the branch follow.
 *   object.replaced  "n", "head": the object, never eligible here, gives way to another with its id; events object.entry
 *                    with the other follow, from entry 0
 *   object.trusted   "keyid", "node", "vkey";   object.revoked   the same */
#pragma once

#include "base/id.h"
#include "base/json.h"
#include "record/event.h"
#include "store/table.h"

#define OBJECT_ROW_MAX (128 * 1024) /* bytes */
#define OBJECT_ROW_KEY_MAX (REGION_ID_MAX + 8)

/* id, NUL, be64 n. Returns its length. */
size_t object_entry_key(const char *id, uint64_t n, uint8_t ret[static OBJECT_ROW_KEY_MAX]);
/* Returns 0, -ENOENT, -EUCLEAN, -errno. *ret: owned. */
int object_row_get(Txn *t, const char *id, json_t **ret);
/* The row's bytes in the table, lent. Returns 0, -ENOENT, -errno. */
int object_row_bytes(Txn *t, const char *id, Bytes *ret);
/* {"node","vkey","state","seq"} of a key. 0, -ENOENT, -EUCLEAN. */
int object_trust_get(Txn *t, const char *keyid, json_t **ret);
#define OBJECT_TRUST "trust" /* the first part of their keys */
/* The seq of the event with entry n. 0, -ENOENT, -EUCLEAN. */
int object_entry_seq(Txn *t, const char *id, uint64_t n, uint64_t *ret);
/* The first object behind `after` (""; NULL: from the first). 0, -ENOENT at the end. */
int object_row_next(Txn *t, const char *after, char ret[static REGION_ID_MAX]);
int object_row_alive(Txn *t, uint64_t *ret); /* objects that are not terminated */
int object_row_in_state(Txn *t, const char *state, uint64_t *ret);
/* The first object in state execution behind `after` (""; NULL: from the first). 0, -ENOENT at the end. */
int object_row_next_execution(Txn *t, const char *after, char ret[static REGION_ID_MAX]);

/* For object-project.c: first, NUL, second. */
Bytes object_row_key(const char *first, const char *second, uint8_t key[static 64]);

/* Does an event of this type change these tables? */
bool object_row_concerns(const char *type);
/* Returns 0, -EUCLEAN for an event that contradicts the rows, -errno. */
int object_row_project(Txn *t, uint64_t seq, const char *type, const json_t *entry);
/* The same for an event about one object whose row the caller has read in t, or made by the event before: *row (owned;
 * NULL: a new object) becomes the new row. */
int object_row_project_on(Txn *t, uint64_t seq, const char *type, const json_t *entry, json_t **row);
