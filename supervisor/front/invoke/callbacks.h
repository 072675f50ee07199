/* Runs: supervisor. Release callbacks (callbacks.c, callbacks-left.c). */
#pragma once

#include "invoke/types.h"

/* The note of a callback in list. A second try stands in the note of the first. Returns 0 or -ENOMEM. */
int callbacks_note(json_t *list, const char *entry, const char *region, const char *outcome, int exit_code,
                   uint64_t usec);
/* The same for a Run at its end. */
int callbacks_note_of(const Run *run, json_t *list);
/* The callback's program did not run (the time was up, or no region could be made), and had no second try (I-74). */
bool callbacks_did_not_run(const json_t *list, const char *entry);
/* The end of the present callback's part of the time, of n callbacks. CLOCK_MONOTONIC usec. */
uint64_t callbacks_part_of(uint64_t until, size_t n);
/* The Run of a callback, DECLARED; to be freed even after an error. Returns 0 or -errno. */
int callbacks_make(const Owner *o, const ReleaseGrant *rel, Tree *tree, Run *run);

/* Runs the release callbacks that had not begun when the region's supervisor died; no process of the region is left.
 * policy NULL: the operator's. *ret: the outcome of each callback, new reference; NULL: the region has no callbacks.
 * Returns 0 or -errno; a callback that fails is an outcome, not an error. */
int run_release_left(Store *store, const Policy *policy_or_null, Spawner *spawner_or_null, const RegionRow *row,
                     json_t **ret);
