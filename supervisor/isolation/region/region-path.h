/* Runs: supervisor. Decides from the text of a path alone whether the region could reach the path. For the record only:
 * mounts and Landlock decide about access. No file system is asked, neither the host's nor a granted one. The name must
 * not reach a server of a file system, and the answer's time must reveal nothing about the host (I-62, I-64). */
#pragma once

#include "policy/grant.h"

#include <limits.h>

/* Makes a path of the process absolute and plain. dirfd: the process's descriptor or AT_FDCWD. Returns 0 or -errno. */
int region_path_absolute(pid_t pid, int dirfd, const char *path, char out[static PATH_MAX]);
typedef enum PathReach {
        PATH_INSIDE,  /* inside the region: the call succeeds or fails by itself */
        PATH_DENIED,  /* a write where the region may only read */
        PATH_OUTSIDE, /* outside the region: a denial when the host has the path (region_outside_explain()) */
} PathReach;
/* path: absolute and plain. scratch, shims: tier landlock, host folders. */
PathReach region_path_reach(const Grant *g, Tier tier, const char *scratch, const char *shims, const char *path,
                            bool writes);
/* Tier namespaces: true for a path of the region's scratch, mounted in place of the host's /tmp. */
bool region_path_is_scratch(const Grant *g, Tier tier, const char *path);
/* True when a path of the scratch exists now. The kernel caches all names in memory, so only the cache is asked. */
bool region_path_is_there(int root, const char *path);
/* The line of lethe.json to allow the path, owned; NULL when no line can, for example below a granted /proc. */
char *region_path_allow(const Grant *g, Tier tier, const char *path, bool writes);
