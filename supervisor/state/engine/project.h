/* Runs: supervisor, CLI. What an event does to the tables of records: a function of the event, its body and the rows as they are, without a clock, chance or
 * a model (G-31). The live path, `lethe rebuild`, `lethe verify` and the retry of what failed all go through here, and nothing else writes those tables. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "record/record.h"
#include "store/table.h"

/* Does this event change the tables of records? */
bool project_concerns(const char *type);
/* entry: the event's members; body: of its payload, NULL when it has none or was erased. read: the record that it is about, as the table has it (state
 * RECORD_NONE: it has none), which is used up; or NULL: who calls has not read it. Returns 0, -EUCLEAN when the event does not fit the rows as they are,
 * -errno. On failure what it wrote is to be taken back (table_save). */
int project_event(Txn *t, uint64_t seq, const json_t *entry, const json_t *body, Record *read);
/* Tables that are a fold of the ledger: TABLE_COUNT_ ends it. */
extern const Table projected_tables[];
