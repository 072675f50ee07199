/* Runs: supervisor, CLI. What an event does to the tables of records: a function of the event, its body and the rows as they are, without a clock, chance or
 * a model (G-31). The live path, `lethe rebuild`, `lethe verify` and the retry of what failed all go through here, and nothing else writes those tables. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "store/table.h"

/* Does this event change the tables of records? */
bool project_concerns(const char *type);
/* entry: the event's members; body: of its payload, NULL when it has none or was erased. Returns 0, -EUCLEAN when the event does not fit the rows as they
 * are, -errno. On failure what it wrote is to be taken back (table_save). */
int project_event(Txn *t, uint64_t seq, const json_t *entry, const json_t *body);
/* Tables that are a fold of the ledger: TABLE_COUNT_ ends it. */
extern const Table projected_tables[];
