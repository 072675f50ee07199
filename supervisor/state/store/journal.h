/* Runs: supervisor, CLI. Inside of store/: what a member of a batch changed, so that it can be taken back without the others' changes.
 *
 * Not LMDB's nested transactions, which do the same: each has lists of 3 MB and copies every page again that its parent wrote already, and
 * with the list of LMDB 0.9's later repairs of them (ITS#9564, ITS#10342) they are not what to build on. The rows of one event are few. */
#pragma once

#include "store/table.h"

typedef struct Change Change;

/* Call before the write. Returns 0 or -errno: nothing is to be written then. The second one is for who has just read what is there (p NULL: nothing). */
int journal_note(Txn *t, Table table, Bytes key);
int journal_note_read(Txn *t, Table table, Bytes key, Bytes was);
/* The newest note is dropped: what it was for was not written. */
void journal_drop(Txn *t);
/* Puts rows back, the last first, down to the note `until` (NULL: all). Returns 0 or -errno: the transaction cannot be used then. */
int journal_undo(Txn *t, const Change *until);
void journal_free(Txn *t);
