/* Runs: supervisor, CLI. Inside of engine/: events whose projection failed. They are recorded, and their rows are as if they were not. Nothing else is
 * done to such a record before its event is projected, so that order is kept (G-28, G-30). */
#pragma once

#include "engine/engine.h"
#include "record/record.h"

/* Projects the event that was just appended; read: as in project_event(). Returns 0; 1 when that failed: what it wrote is taken back, and it is in the table;
 * -errno. */
int dead_letter_project(Txn *t, uint64_t seq, const json_t *entry, const json_t *body, Record *read);
/* The first event about this record that is not projected. Returns 0, -ENOENT, -EUCLEAN, -errno. */
int dead_letter_of(Txn *t, const RecordKey *key, uint64_t *ret_seq);
