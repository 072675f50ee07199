/* Runs: supervisor, CLI. SessionState memory beside the ledger: notes are in no entry, but which runs go on, and what became of a note that was committed or waits,
 * is (G-7, G-56). */
#pragma once

#include "base/diag.h"
#include "store/table.h"

/* *ret_bad: the first thing that does not hold is in ret_what: a run that goes on has no row, a row is of none that does or says another agent or scope,
 * notes are not those that the row counts, an outcome has no event, an event's note has another outcome or none. In a read transaction. Returns 0,
 * -EUCLEAN, -errno. */
int audit_runs(Txn *t, bool *ret_bad, Diag *ret_what);
