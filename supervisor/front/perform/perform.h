/* Runs: supervisor, CLI. Cycles of objects with their executions (O-10, O-21, O-38). state/object selects and appends;
 * this folder judges by the local policy, runs the skill of an execution in a region, and says how the region ended. */
#pragma once

#include "invoke/options.h"
#include "object/object.h"

/* A failure of the store: PERFORM_E_STORE + STORE_E_*, with a message. Smaller positive codes are EngineCodes. */
#define PERFORM_E_STORE 1000

/* `local` of select.h for the next cycle of the object on the node, without "facts" (O-10, O-15): "interrupted" is a
 * member for an execution with a dead performer. More members: "n", the number of seen entries, and "skill", the
 * subject of the verdict (null: the step has no skill, or the object sleeps). Has separate read transactions: the thread has no
 * transaction open. The step's skill is looked up without a record and without a change of files. Returns 0,
 * ENGINE_E_NO_OBJECT with a message, PERFORM_E_STORE, -errno. */
int perform_local(Store *s, const Policy *p, const char *id, json_t **ret, Diag *reterr);

/* The first half of a cycle, in t: object_cycle() with a new trace, if the object is still as perform_local() saw the
 * object. Else ENGINE_E_CONFLICT, without an entry, and the caller judges again (O-43). later: as in ObjectCycle. */
int perform_begin(Txn *t, const char *id, const json_t *local, const char *who, bool later, json_t **ret, Diag *reterr);

/* The execution that perform_begin() began: `begun` is its answer with "perform", already committed. Runs the skill as
 * any invocation with the options of `run` (policy, spawner, groups, hooks, verbose; no streams, no receipt), in which
 * the hook `judging` may change the policy; waits for the region's end, and appends the outcome in the transaction of
 * the end; signals: as for run_invocation(). A refused
 * or missing skill is an outcome, too (O-14). *ret: of object_outcome(), with "action", "outcome" and "region"?.
 * Returns 0, a code as of object.h, PERFORM_E_STORE, -errno: then the execution stays without outcome, and a later
 * cycle settles it. */
int perform_begun(RunOptions *run, Store *s, const json_t *begun, int signals, json_t **ret, Diag *reterr);

/* A whole cycle: perform_local(), transaction, perform_begin(), commit, and perform_begun() for an execution. For
 * callers with a single object at hand (the command line). */
int perform_cycle(RunOptions *run, Store *s, const char *id, const char *who, int signals, json_t **ret,
                  Diag *reterr);

/* Executions without outcome and with a dead performer: each gets the outcome `interrupted` (O-38), and a cycle in
 * which no execution begins. After recover_all(). *ret: how many. Failures of single objects are logged, and do not stop the
 * work. Returns 0, PERFORM_E_STORE, -errno. */
int perform_recover(Store *s, const Policy *p, const char *who, size_t *ret, Diag *reterr);
