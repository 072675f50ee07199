/* Runs: supervisor, CLI. A person ends a row of governed memory in favour of a second row (G-69). */
#pragma once

#include "belief/note-to-row.h"

typedef struct RowEnd {
        uint64_t scope;
        const char *scope_name;
        Kind kind; /* with OP_INVALIDATE */
        const char *id;
        const char *for_row;   /* "KIND/ID" of the second row: member "settles" of the event */
        const char *successor; /* id of a decision in place of the row, or NULL */
        const char *why;       /* a line */
        const Trying *by;
} RowEnd;
/* Invalidates the row, and tries the pending items about the row, in the caller's transaction. Returns 0,
 * ENGINE_E_BAD_OPERATION (the kind cannot be invalidated), ENGINE_E_BAD_STATE, -errno. */
int belief_end_row(Txn *t, const RowEnd *e, uint64_t *ret_seq, Diag *reterr);
