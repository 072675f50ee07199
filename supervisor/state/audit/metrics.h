/* Runs: CLI. Counters about a store, in the text format of Prometheus (exposition format 0.0.4). They are folded from the ledger, so that they never go
 * back and need nothing that runs; how far they were folded is remembered in the store's cache, so that the next time only new entries are read.
 * They tell how things go: what is proved, `lethe audit` tells. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "store/table.h"

enum {
        METRICS_E_BROKEN = 1, /* an entry cannot be read: `lethe audit` tells more */
};

/* *ret: every series as "name{labels}" and its value; times in microseconds. New reference. Returns 0, METRICS_E_BROKEN, -errno. */
int metrics_read(Txn *t, json_t **ret, Diag *reterr);
/* The same as text. Returns 0 or -errno. */
int metrics_text(const json_t *series, Buf *ret);
/* {"version":1,"series":{…}}, times in seconds. New reference, NULL when out of memory. */
json_t *metrics_json(const json_t *series);
