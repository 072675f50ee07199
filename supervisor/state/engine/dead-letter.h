/* Runs: supervisor, CLI. Events whose projection failed. The event stays recorded; the rows stay as before the event.
 * The record accepts no other change before the projection of the event (G-28, G-30). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

/* For engine/ only: projects an event just after its append; read: see project_event(). Returns 0; 1 after a failed
 * projection: the rows are restored, and the event is in the table; -errno. */
int dead_letter_project(Txn *t, uint64_t seq, const json_t *entry, const json_t *body, Record *read);
/* For engine/ only: the record's first event without a projection. Returns 0, -ENOENT, -EUCLEAN, -errno. */
int dead_letter_of(Txn *t, const RecordKey *key, uint64_t *ret_seq);

/* Retries all failed projections in order; *ret_applied succeeded, *ret_left failed again (G-30). */
int engine_retry_dead_letters(Txn *t, uint64_t *ret_applied, uint64_t *ret_left);
/* At a start, if there are any: in a transaction of its own, committed after a success. `lethe verify` reports the
 * remaining and the unreadable ones. Returns 0, STORE_E_*, -errno. */
int engine_retry_dead_letters_at_start(Store *s, Diag *reterr);
/* Array of {"seq","type","scope"?,"kind"?,"id"?,"reason"}. */
int engine_dead_letter_list(Txn *t, json_t **ret);
