/* Runs: supervisor, CLI. Inside of store/: the changes of one member of a batch, for an undo without the other members'
 * changes.
 *
 * LMDB's nested transactions do the same, but each has lists of 3 MB and copies again every page written by its parent.
 * LMDB 0.9 also repaired nested transactions several times later (ITS#9564, ITS#10342). One event changes few rows
 * only. */
#pragma once

#include "store/row.h"
#include "store/store.h"

typedef struct Change Change;

/* Call before the write. was: the row now (p NULL: no row). Returns 0 or -errno: do not write then. */
int journal_note(Txn *t, Table table, Bytes key, Bytes was);
/* Drops the newest note, after a failed write. */
void journal_drop(Txn *t);
/* Restores rows back to the note `until` (NULL: all). Returns 0 or -errno: the transaction is unusable. */
int journal_undo(Txn *t, const Change *until);
/* For the ticket's holder, after the last write: the next member of the store may use the memory. */
void journal_end(Txn *t);
void journal_free(Txn *t);
