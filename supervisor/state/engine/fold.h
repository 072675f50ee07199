/* Runs: supervisor, CLI. Repeats the fold of the ledger into the canonical tables (G-29), from the first event to the
 * last, into empty tables beside the store's tables, and compares both row by row. */
#pragma once

#include "base/json.h"
#include "engine/engine.h"
#include "store/table.h"

typedef struct FoldResult {
        uint64_t events;   /* entries read */
        uint64_t rows;     /* of the folded tables */
        uint64_t differ;   /* missing, extra or different rows */
        uint64_t usec;     /* time of fold and comparison */
        Table table;       /* of the first difference */
        char key[192];     /* the key of the first difference, printable */
        const char *how;   /* "missing", "extra", "differs"; NULL: no difference */
} FoldResult;

/* Compares only; any transaction. Returns 0 (also with differences), STORE_E_* of the tables beside, -errno. */
int engine_fold_compare(Txn *t, FoldResult *ret, Diag *reterr);
/* The index of a store of version 2 marks neither ended rows nor removed records. The first opener for writing rebuilds
 * such an index before other work, in transactions of its own with bounded memory; a current store costs the read of a
 * row. No other process may have the store open meanwhile: an older Lethe would write rows of the older form. With
 * another process (STORE_E_LOCKED, named in the message) all but governed memory works without the rebuild. Returns 0,
 * STORE_E_*, -errno. */
int engine_index_renew(Store *s, Diag *reterr);
/* The same for callers that work without the rebuild while another process has the store open. */
static inline int engine_index_renew_now(Store *s, Diag *reterr) {
        int r = engine_index_renew(s, reterr);

        return r == STORE_E_LOCKED ? 0 : r;
}
/* For searches in governed memory: 0, ENGINE_E_OLD_INDEX with a message before the rebuild, -errno. */
int engine_index_need(Txn *t, Diag *reterr);
/* Repairs all differences: afterwards the tables equal the fold of the ledger byte for byte. In a write transaction of
 * its own. */
int engine_fold_rebuild(Txn *t, FoldResult *ret, Diag *reterr);
