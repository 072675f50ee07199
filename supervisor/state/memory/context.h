/* Runs: supervisor, CLI. What an agent is served at the beginning of a turn, by tiers that are never mixed (M-3, M-4, G-51): core (active rules of the
 * kernels), belief
 * (rows of governed memory that hold now), and advisory lanes, marked as such. Never in it: working state, notes, what is pending, what was archived or
  * removed. */
#pragma once

#include "engine/engine.h"

#define CONTEXT_LANE_STANDARD 10 /* records of each advisory lane, and of results and learnings */
#define CONTEXT_LANE_MAX 100

/* query: of the search that fills the advisory lanes, NULL: the newest of each.
 * {"scope","core":[{"kernel","id","statement"}],"belief":{bucket:[{"id","state","version",…}]},
 * "advisory":[{"lane":"memory"|"knowledge"|"skill","advisory":true,"records":[{"id","type"?,"payload","score"?}]}]}. Returns 0, ENGINE_E_NO_SCOPE,
 * ENGINE_E_BAD_QUERY, -EUCLEAN, -errno. */
int memory_context(Txn *t, const char *scope, const char *query_or_null, unsigned lane, uint64_t now_usec, json_t **ret, Diag *reterr);
