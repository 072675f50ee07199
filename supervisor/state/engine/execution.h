/* Runs: supervisor, CLI. The open execution of a persistent object, and its region (O-21, O-38). The changes of slots
 * and memory by an execution count once, or not at all:
 *
 *   object.entry, kind started    makes the row: now a region may start for the trace
 *   region.allocated              notes the region in the row: no second region starts
 *   invocation.ended              notes the end and whether the changes were kept
 *   object.entry, any other move  deletes the row: no region starts any more; so does object.adopted with "back": the
 *                                 object goes on from an earlier entry
 *
 * Table object: id, NUL, "trace", NUL, trace -> be64 seq of invocation.ended (0: alive), region (26 bytes, NUL: not
 * started). An object has at most a single row. A region below an execution (a sub-skill, a release callback) keeps no
 * changes: the region ends before the execution, and a second execution would repeat the changes. */
#pragma once

#include "base/id.h"
#include "engine/engine.h"

/* Reasons of a discard: below an execution; the object has moved on (ended, or the outcome is recorded). So the outcome
 * of a region comes behind engine_region_end() in the same transaction. */
#define EXECUTION_BELOW "below_execution"
#define EXECUTION_OVER "execution_over"

typedef struct ExecutionRow {
        uint64_t ended;             /* seq of invocation.ended; 0: alive */
        char region[REGION_ID_MAX]; /* "": no region has started */
} ExecutionRow;
/* Returns 0, -ENOENT (no open execution of the trace), -errno. */
int execution_get(Txn *t, const char *object, const char *trace, ExecutionRow *ret);
/* May the region start? Returns 0, ENGINE_E_CONFLICT with a message, -errno. */
int execution_may_start(Txn *t, const RegionStart *s, Diag *reterr);
/* The effect of region.allocated, invocation.ended, object.entry or object.adopted on the row; 0 for events of no
 * execution. region: of the event, or NULL. Both the live path and the fold of the ledger use this function. Returns 0
 * or -errno. */
int execution_project(Txn *t, uint64_t seq, const char *type, const char *region, const json_t *entry);
