/* Runs: supervisor. Lineage detail (I-36, I-37): the events of a region with entries of their own; all others are only
 * counted. The detail changes the record, not the region (I-38). The life of the region and the data of slots are
 * recorded at every level.
 *
 *   stats     the region's life, breaches, and every step of a slot written by the region
 *   events    all but traces of handles
 *   handles   all */
#pragma once

#include "record/event.h"

/* Appends the event, or counts the event in the region's row: the caller puts the row if *ret_counted. row: of
 * region_json_get(), or NULL for no row: then the event is recorded. Takes e->fields over, as event_record() does.
 * ret_seq may be NULL, and is set only for a recorded event. Returns 0 or -errno. */
int lineage_event(Txn *t, json_t *row, const Event *e, uint64_t *ret_seq, bool *ret_counted);
/* The same for a caller without the row. */
int lineage_event_of(Txn *t, const Event *e, uint64_t *ret_seq);

/* The fields of region.released with the counts: {"lineage":{"detail":…,"counts":{type:n}}}. New reference or NULL. */
json_t *lineage_released(const json_t *row, const json_t *fields);
