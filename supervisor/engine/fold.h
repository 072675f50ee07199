/* Runs: supervisor, CLI. Canonical tables are a fold of the ledger (G-29): here it is done again, from the first event to the last, into empty tables
 * beside the store's, and the two are compared row by row. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "store/table.h"

typedef struct FoldResult {
        uint64_t events;   /* entries that were read */
        uint64_t rows;     /* of the tables that are a fold */
        uint64_t differ;   /* rows that were missing, too many, or others */
        uint64_t usec;     /* what folding and comparing took */
        Table table;       /* of the first row that differed */
        char key[192];     /* its key, as it can be shown */
        const char *how;   /* "missing", "extra", "differs"; NULL: none did */
} FoldResult;

/* Compares only; any transaction. Returns 0 (also when rows differ), STORE_E_* of the tables beside, -errno. */
int engine_fold_compare(Txn *t, FoldResult *ret, Diag *reterr);
/* A store of version 2 has an index that does not say which rows have ended. Who looks for rows makes it anew first, and nothing else; on another store that
 * costs a look at one row. In a write transaction, before anything is written. Returns 0, -errno (-EIO: the tables beside cannot be made). */
int engine_index_need(Txn *t);
/* Puts in order what differs: afterwards the tables are byte for byte the fold of the ledger. In a write transaction of its own. */
int engine_fold_rebuild(Txn *t, FoldResult *ret, Diag *reterr);
