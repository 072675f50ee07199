/* Runs: supervisor, CLI. What entries about slots and skills do to the tables slot, hist, held, gather, verdict and skill. These rows are a fold of
 * the ledger: nothing but this writes them, whether an entry was appended a moment ago or is read again by a rebuild. No clock, no chance, no payload,
 * and no other entry is looked at. */
#pragma once

#include "record/event.h"

/* The entry `seq`, parsed; entries in their order. Those of other types do nothing. Returns 0; -EUCLEAN when it lacks what its type has, or cannot
 * follow those before it; -errno. */
int fold_slot_event(Txn *t, uint64_t seq, const json_t *entry);

/* event_append(), and what the new entry does. */
int fold_slot_append(Txn *t, const Event *e, uint64_t *ret_seq);
