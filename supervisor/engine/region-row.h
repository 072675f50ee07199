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
