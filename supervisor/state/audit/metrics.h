/* Runs: CLI. Counters about a store, in the text format of Prometheus (exposition format 0.0.4). The counters are
 * folded from the ledger: they never go back and need no running process. The store's cache has the state of the fold,
 * so the next run reads only new entries. Counters show activity; `lethe audit` proves. */
#pragma once

#include "base/buf.h"
#include "base/diag.h"
#include "base/json.h"
#include "store/table.h"

/* *ret: "name{labels}" to value, times in microseconds. Returns 0, HISTORY_E_BROKEN (history.h), -errno. */
int metrics_read(Txn *t, json_t **ret, Diag *reterr);
/* The same as text. Returns 0 or -errno. */
int metrics_text(const json_t *series, Buf *ret);
/* {"version":1,"series":{…}}, times in seconds. New reference, NULL when out of memory. */
json_t *metrics_json(const json_t *series);
