/* Runs: supervisor, CLI. The effect of an event on the tables of records: a function of the event, the body and the
 * present rows, without clock, chance or model (G-31). The live path, `lethe rebuild`, `lethe verify` and retries all
 * use this module; no other code writes the tables. */
#pragma once

#include "engine/engine.h"
#include "record/event.h"
#include "record/record.h"

/* Does an event of this type change the tables of records? */
bool project_concerns(const char *type);
/* entry: the event's members; body: the payload, NULL if missing or erased. read: the event's record as in the table
 * (state RECORD_NONE: no row), used up by the call; or NULL: the call reads the record. Returns 0, -EUCLEAN for an
 * event that contradicts the rows, -errno. After a failure the caller restores the rows (table_save()). */
int project_event(Txn *t, uint64_t seq, const json_t *entry, const json_t *body, Record *read);
/* The effect of an event on its record alone, without a table. op is not OP_DELETE; rec: the record before, state
 * RECORD_NONE with its key: none. Returns 0, -EUCLEAN, -ENOMEM. */
int project_fold_record(Record *rec, uint64_t seq, Op op, const json_t *entry, const json_t *body);
/* event_record() and the projection, for an event about no record, which is never blocked. ret_seq may be NULL. */
int project_append(Txn *t, const Event *e, uint64_t *ret_seq);

/* An event about no record, for the module that projects the type. */
typedef struct Projection {
        uint64_t seq;
        const json_t *entry, *body;
} Projection;

/* The tables folded from the ledger; TABLE_COUNT_ ends the list. */
extern const Table projected_tables[];
