/* Runs: supervisor that lives long. A region in two halves: what needs nothing of its invocation, done ahead, and what makes it that invocation's.
 *
 *   prepare   pipes, vault, worker confined and waiting before its exec, guard holding it, control groups. Nothing is recorded; the worker has
 *             no argument, no environment, no stream of anybody
 *   bind      region.allocated is durable; streams, then arguments and environment; the caller lets it go
 *
 * With lineage detail stats region.allocated is recorded when it is prepared, if nothing in it is of the invocation: no slot is read, no gate
 * evaluated, the regions of its skill are not counted, and who asks is not traced. The invocation then waits for one commit, that of its end; a
 * region that is not needed has its release and its end like any other. Until then it does not count against max_regions.
 *
 * Of a supervisor that dies between the two nothing stays: the worker ends with its lifeline, the guard overwrites, and the control groups are
 * where the caller noted them. */
#pragma once

#include "invoke/run-internal.h"

/* note is called before the control groups are made, with their folders (region_cgroup_text()), unless there are none. The grant is one of
 * grant_copy_untold(), and is taken over. Returns an owned Run, or NULL with a message. */
Run *run_prepare(const RunOptions *o, Store *store, Grant *g, PrepareNote note, void *userdata, Diag *reterr);
/* Nothing of it has ended meanwhile; what it shows of the host is what is there now. */
bool run_prepared_waits(const Run *run);
bool run_prepared_is_true(const Run *run);
/* Whether an invocation with this grant can have a region that was recorded ahead. */
bool run_prepared_fits(const Run *run, const Grant *g);
/* What it takes there is: else the region is at an end, as after run_begin(). g allows the same as the one of run_prepare(), and is borrowed. */
void run_bind(Run *run, Tree *tree, const RunOptions *o, const Grant *g);
/* It was not bound, and is given up. */
void run_prepare_drop(Run *run);

/* Steps of life.c's tables, as those of begin.c. */
int prepare_pipes(Run *run, Diag *d);
int prepare_tier(Run *run, Diag *d);
int prepare_guard(Run *run, Diag *d);
int prepare_worker(Run *run, Diag *d);
int prepare_note(Run *run, Diag *d);
int prepare_wait(Run *run, Diag *d);
int prepare_record(Run *run, Diag *d);
int prepare_limit(Run *run, Diag *d);
