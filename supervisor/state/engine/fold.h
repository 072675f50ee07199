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
/* A store of version 2 has an index that says neither which rows have ended nor which records were removed. Whoever opens a store to write makes it anew
 * first, and nothing else, in transactions of its own that are bounded in memory; on another store that costs a look at one row. Nobody else may have the
 * store open meanwhile: an older Lethe that did would go on and write rows of the older form. When somebody has (STORE_E_LOCKED, the message says who),
 * everything but governed memory goes on without. Returns 0, STORE_E_*, -errno. */
int engine_index_renew(Store *s, Diag *reterr);
/* The same for who goes on without when somebody else has the store open. */
static inline int engine_index_renew_now(Store *s, Diag *reterr) {
        int r = engine_index_renew(s, reterr);

        return r == STORE_E_LOCKED ? 0 : r;
}
/* For who looks for rows of governed memory: 0, ENGINE_E_OLD_INDEX with a message when that is still to be done, -errno. */
int engine_index_need(Txn *t, Diag *reterr);
/* Puts in order what differs: afterwards the tables are byte for byte the fold of the ledger. In a write transaction of its own. */
int engine_fold_rebuild(Txn *t, FoldResult *ret, Diag *reterr);
