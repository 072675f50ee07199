/* Runs: CLI. */
#pragma once

/* `lethe run --apply success`: applies the whole layer of a region that ended, by the policy in the file (NULL: the
 * usual). Nothing is printed but trouble. Returns EXIT_OK, also without a layer, or EXIT_* after a message. */
int apply_after_run(const char *store, const char *region, const char *policy_or_null);
