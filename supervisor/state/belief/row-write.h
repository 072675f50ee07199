/* Runs: supervisor, CLI. The writes of note-to-row.c: a decided request becomes an event and a row, or a pending
 * item. Each function takes the caller's write transaction, sets *ret, and returns 0 or -errno. */
#pragma once

#include "belief/note-to-row.h"

#define APPLY_ROLE_TOOL "tool_result" /* in the body of an item: the note is the output of a tool */

/* Sets outcome and code. Returns 0. */
int apply_outcome(Applied *ret, NoteOutcome outcome, const char *code);
/* The request waits. A replay writes nothing. */
int apply_to_queue(Txn *t, const Applying *a, const char *reason, Applied *ret);
/* A possible row, or an index entry for such a row, cannot be read, before any write. The request waits until the tables
 * are made anew, whatever the readable rows say (G-7, G-44). A replay does not count as an attempt. */
int apply_cannot_read(Txn *t, const Applying *a, Applied *ret);
/* Makes an id for people: a few words of the row's text; _2, _3 … follow for an id used now or before. */
int apply_new_id(Txn *t, const Applying *a, char ret[static RECORD_ID_MAX]);
/* keys: of the regions that live. was_closed: the row had ended. */
int apply_commit(Txn *t, const Applying *a, const KeySet *keys, const char *id, bool was_closed, Applied *ret);
