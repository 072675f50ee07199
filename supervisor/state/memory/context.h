/* Runs: supervisor, CLI. The context for an agent at the beginning of a turn, in tiers that are never mixed (M-3, M-4,
 * G-51): core (active rules of the kernels), belief (rows of governed memory that hold now), and advisory lanes, marked
 * as advisory. Excluded: working state, notes, pending items, archived and removed records. */
#pragma once

#include "engine/engine.h"

#define CONTEXT_LANE_STANDARD 10 /* records of each advisory lane, and rows of results and of learnings */
#define CONTEXT_LANE_MAX 100

/* query: the search that fills the advisory lanes; NULL: the newest records of each lane.
 * {"scope","core":[{"kernel","id","statement"}],"belief":{bucket:[{"id","state","version",…}]},
 * "advisory":[{"lane":"memory"|"knowledge"|"skill","advisory":true,"records":[{"id","type"?,"payload","score"?}]}]}.
 * Returns 0, ENGINE_E_NO_SCOPE, ENGINE_E_BAD_QUERY, -EUCLEAN, -errno. */
int memory_context(Txn *t, const char *scope, const char *query_or_null, unsigned lane, uint64_t now_usec, json_t **ret,
                   Diag *reterr);
