/* Runs: supervisor, CLI. Is what people and skills read what the ledger says? (G-56) */
#pragma once

#include "base/json.h"
#include "store/table.h"

/* In a read transaction: {"version":1,"intact":bool,"first":null|{"check","what"…},"entries","rows","differ","waits","unapplied":[…]}. Checks, in this order:
 * projections are the fold of the ledger; nothing waits for its projection; each pending item has its request; each event that changes anything has a region
 * or a person; runs and their notes are those of the ledger (runs.h). Returns 0, STORE_E_*, -errno. */
int audit_state(Txn *t, json_t **ret, Diag *reterr);
