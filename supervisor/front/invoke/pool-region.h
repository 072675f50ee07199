/* Runs: supervisor that lives long. A start in two halves, before and after the invocation is known:
 *
 *   prepare   pipes, vault, control groups; a confined worker that waits before its exec; a guard with a hold on the
 *             worker. No record is made; the worker has no arguments, no environment, no streams
 *   bind      region.allocated is durable; streams, arguments and environment follow; the caller lets the worker go
 *
 * With lineage detail `stats`, the first half records region.allocated, if no part of the record depends on the
 * invocation: no slot is read, no gate evaluated, regions of the skill are not counted, the client is not traced. The
 * invocation then waits for a single commit, at the end. An unused region has a release and an end like any region.
 * Until it has an invocation, a prepared region does not count against max_regions.
 *
 * A supervisor that dies between the halves leaves nothing: the worker ends with its lifeline, the guard overwrites,
 * and the control groups are in the caller's notes. */
#pragma once

#include "invoke/types.h"

/* note: called before control groups are made, with their folders (region_cgroup_text()). g: of grant_copy_untold();
 * taken over. Returns an owned Run, or NULL with a message. */
Run *run_prepare(const RunOptions *o, Store *store, Grant *g, PrepareNote note, void *userdata, Diag *reterr);
/* Worker and guard live, and the region's view of the host's system folders is the present one. */
bool run_prepared_is_usable(const Run *run);
/* An invocation with this grant can have this Run, even if the region was recorded ahead. */
bool run_prepared_fits(const Run *run, const Grant *g);
/* The second half. After an error the region is at an end, as after run_begin(). g: borrowed, allows the same as the
 * grant of run_prepare(). */
void run_bind(Run *run, Tree *tree, const RunOptions *o, const Grant *g);
/* Gives up an unbound Run. */
void run_prepare_drop(Run *run);
