/* Runs: supervisor, CLI. Measures the machine's speed of overwriting memory (I-72). The store's cache keeps the numbers
 * for a boot, a version and a number of processors, for a day; then the next caller with time measures again. */
#pragma once

#include "policy/admit.h"

/* store_dir NULL: without the cache. measure: about a tenth of a second of the process (without a second busy thread)
 * and of its children. Otherwise the cached numbers of any age, or wipe_rate_unknown. */
void rate_get(const char *store_dir_or_null, bool measure, WipeRate *ret);
/* The grant has a bound on teardown, which needs measured numbers. */
bool rate_is_needed(const Grant *g);
