/* Runs: supervisor, CLI. The row of a living region: canonical JSON under the region's id. A later process finishes the
 * region by this row after the death of the supervisor. The end of the region deletes the row. */
#pragma once

#include "engine/engine.h"
#include "store/hooks.h"

/* *ret is owned. 0, ENGINE_E_NO_REGION, -errno. */
int region_json_get(Txn *t, const char *region, json_t **ret);
/* The same with a message. */
int region_json_need(Txn *t, const char *region, json_t **ret, Diag *reterr);
/* fresh: the id must be new. */
int region_json_put(Txn *t, const char *region, const json_t *row, bool fresh);
int region_json_del(Txn *t, const char *region);
/* The reason to discard all of this region at any end: "discard_asked" (I-78), or "timed_out of REGION": the nearest
 * region above with a broken budget or a requested discard (I-98); EXECUTION_BELOW, EXECUTION_OVER. Empty: no
 * reason. Returns 0 or -errno. */
#define REGION_BROKE_MAX 96
int region_broke_above(Txn *t, const json_t *row, char ret[static REGION_BROKE_MAX]);
