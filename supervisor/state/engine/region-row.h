/* Runs: supervisor, CLI. The row of a living region: canonical JSON under its id. It holds what a later process needs to finish the region
 * when its supervisor died; it goes with the region's end. */
#pragma once

#include "engine/engine.h"
#include "store/hooks.h"

/* *ret is owned. 0, ENGINE_E_NO_REGION, -errno. */
int region_json_get(Txn *t, const char *region, json_t **ret);
/* `fresh`: the id must be new. */
int region_json_put(Txn *t, const char *region, const json_t *row, bool fresh);
int region_json_del(Txn *t, const char *region);
/* Why nothing of this region is kept, whatever its end: "discard_asked" (I-78); or the nearest region above it that broke its budget, or of which that was asked
 * (I-98): "timed_out of REGION". Empty when there is no such reason. Returns 0 or -errno. */
#define REGION_BROKE_MAX 96
int region_broke_above(Txn *t, const json_t *row, char ret[static REGION_BROKE_MAX]);
