/* Runs: supervisor. Lineage detail (I-36, I-37): which events of a region are entries of their own and which are only counted. It changes what is
 * recorded and nothing that occurs (I-38); what slots are made of, and the region's life itself, is recorded at every level.
 *
 *   stats     the region's life, breaches, and every step of a slot that it writes; all else is counted
 *   events    everything but traces of handles
 *   handles   everything */
#pragma once

#include "record/event.h"

/* Appends the event, or counts it in the region's row: the caller puts the row when *ret_counted. row: of region_json_get, or NULL when there is
 * none (the event is then recorded). ret_seq may be NULL; it is set only when the event is recorded. Returns 0 or -errno. */
int lineage_event(Txn *t, json_t *row, const Event *e, uint64_t *ret_seq, bool *ret_counted);
/* The same for a region whose row the caller does not hold. */
int lineage_event_of(Txn *t, const Event *e, uint64_t *ret_seq);

/* The fields of region.released with what was counted: {"lineage":{"detail":…,"counts":{type:n}}}. New reference or NULL. */
json_t *lineage_released(const json_t *row, const json_t *fields);
