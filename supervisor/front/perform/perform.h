/* Runs: supervisor, CLI. Cycles of objects with their executions (O-10, O-21, O-38). state/object selects and appends;
 * this folder runs the skill of an execution in a region, and says how the region ended. */
#pragma once

#include "invoke/options.h"
#include "object/object.h"

/* `local` of select.h for a cycle of this node now, without "facts" and "interrupted". Returns 0, -errno. */
int perform_local(Store *s, const Policy *p, json_t **ret);

/* The execution that object_cycle() began: `begun` is the answer with "perform", already committed. Runs the skill as
 * any invocation with the options of `run` (policy, spawner, pool, groups, hooks; no streams, no receipt), waits for the
 * region's end, and appends the outcome; signals: as for run_invocation(). A refused or missing skill is an outcome, too
 * (O-14). *ret: of object_outcome(). Returns 0, a code as of object.h, STORE_E_*, -errno: then the execution stays
 * without outcome, and perform_recover() settles it. */
int perform_begun(const RunOptions *run, Store *s, const json_t *begun, int signals, json_t **ret, Diag *reterr);

/* One cycle, whole: transaction, object_cycle(), commit, and perform_begun() for an execution. For callers without other
 * objects at hand (the command line). */
int perform_cycle(const RunOptions *run, Store *s, const char *id, const char *who, int signals, json_t **ret,
                  Diag *reterr);

/* Executions without outcome whose region is over, because their supervisor died: each gets the outcome `interrupted`,
 * or the one that its recorded region had (O-38). After recover_all(). *ret: how many. Failures of single objects are
 * logged, and stop no other. Returns 0, STORE_E_*, -errno. */
int perform_recover(Store *s, const Policy *p, size_t *ret, Diag *reterr);
