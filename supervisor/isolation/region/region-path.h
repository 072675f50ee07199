/* Runs: supervisor. Tells from a path's text, and from nothing else, whether a region was kept away from it. For the record only: what a
 * region can open is decided by its mounts and by Landlock. No file system is asked, neither the host's nor a granted one: a name that a region chose
 * must reach nobody who serves a file system, and the time of an answer must say nothing about the host (I-62, I-64). */
#pragma once

#include "policy/grant.h"

#include <limits.h>

/* The path as the process means it, made absolute and plain. dirfd is the region's descriptor number or AT_FDCWD.
 * Returns 0 or -errno. */
int region_path_absolute(pid_t pid, int dirfd, const char *path, char out[static PATH_MAX]);
typedef enum PathReach {
        PATH_INSIDE,  /* of the region: the call succeeds or fails for a reason of its own */
        PATH_DENIED,  /* writing is asked where the region may only read */
        PATH_OUTSIDE, /* not of the region: a denial if the host has such a path, which region_outside_explain() finds out after the end */
} PathReach;
/* path: absolute and plain. scratch, shims: tier landlock, host folders. */
PathReach region_path_reach(const Grant *g, Tier tier, const char *scratch, const char *shims, const char *path, bool writes);
/* Tier namespaces: the path is of the region's scratch, which stands where the host has its own /tmp. */
bool region_path_is_scratch(const Grant *g, Tier tier, const char *path);
/* A path of the scratch is there now. All names of a file system in memory are in the kernel's cache, and nothing else is asked. */
bool region_path_is_there(int root, const char *path);
/* The line of lethe.json that would allow it, owned; NULL when none can, as where a /proc was granted and does not have the path. */
char *region_path_allow(const Grant *g, Tier tier, const char *path, bool writes);
