/* Runs: supervisor, CLI. Compares the data that people and skills read with the ledger (G-56). */
#pragma once

#include "base/json.h"
#include "store/table.h"

/* In a read transaction:
 * {"version":1,"intact":bool,"first":null|{"check","what"…},"entries","rows","differ","waits","unapplied":[…]}. Checks,
 * in order: projections are the fold of the ledger; no event waits for its projection; each pending item has its
 * request; each event with a change has a region or a person; runs and notes agree with the ledger (runs.h). Returns 0,
 * STORE_E_*, -errno. */
int audit_state(Txn *t, json_t **ret, Diag *reterr);
