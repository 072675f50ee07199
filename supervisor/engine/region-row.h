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
/* The nearest region above this one that broke its budget: nothing of what stands below it is kept any more (I-98). ret: "timed_out of REGION", empty when
 * there is none. Returns 0 or -errno. */
#define REGION_BROKE_MAX 96
int region_broke_above(Txn *t, const json_t *row, char ret[static REGION_BROKE_MAX]);
