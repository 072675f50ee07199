/* Runs: supervisor. Tells a path that is simply not there from one that the region was kept away from. For the record only: what a region
 * can open is decided by its mounts and by Landlock. */
#pragma once

#include "policy/grant.h"

#include <limits.h>

/* The path as the process means it, made absolute and plain. dirfd is the region's descriptor number or AT_FDCWD.
 * Returns 0 or -errno. */
int region_path_absolute(pid_t pid, int dirfd, const char *path, char out[static PATH_MAX]);
/* True when the host has the path and the region has not, or when writing is asked where the region may only read.
 * scratch, shims: tier landlock, host folders; root: the region's root folder (tier namespaces) or -1. */
bool region_path_is_denial(const Grant *g, Tier tier, const char *scratch, const char *shims, int root, const char *path, bool writes);
/* The line of lethe.json that would allow it, owned; NULL when none can, as where a /proc was granted and does not have the path. */
char *region_path_allow(const Grant *g, Tier tier, const char *path, bool writes);
