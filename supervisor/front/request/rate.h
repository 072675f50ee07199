/* Runs: supervisor, CLI. The time in which this machine overwrites memory, measured by doing it (I-72). The numbers are kept in the store's cache, for this
 * boot, this version and this number of processors, and for a day; after that, a caller that may take the time measures again. */
#pragma once

#include "policy/admit.h"

/* store_dir NULL: nothing is kept. measure: about a tenth of a second of this process, which has no other thread at work, and of its children. Else the
 * numbers that are kept, however old, and wipe_rate_unknown where there are none. */
void rate_get(const char *store_dir_or_null, bool measure, WipeRate *ret);
/* The bound of this grant is held to the numbers, so that they are to be measured. */
bool rate_is_needed(const Grant *g);
