/* Runs: supervisor, CLI. The effect of entries about slots and skills on the tables slot, hist, held, gather, verdict
 * and skill. The rows are a fold of the ledger. Only this module writes the rows, for a new entry and for a rebuild.
 * The fold uses no clock, no chance, no payload and no further entry. */
#pragma once

#include "record/event.h"

/* Folds the entry `seq`, in the order of the ledger; entries of other types do nothing. Returns 0; -EUCLEAN for an
 * entry with missing members or out of order; -errno. */
int fold_slot_event(Txn *t, uint64_t seq, const json_t *entry);

/* event_append() and the fold of the new entry. */
int fold_slot_append(Txn *t, const Event *e, uint64_t *ret_seq);
/* The same for an event about one object whose row is known: as object_row_project_on(). */
int fold_object_append(Txn *t, const Event *e, json_t **row);
