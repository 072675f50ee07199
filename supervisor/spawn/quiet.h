/* Runs: supervisor. Looks at sources of grants, which may lie on a file system that somebody serves (FUSE, NFS): no thread waits for that server. */
#pragma once

#include "base/util.h"

#include <sys/stat.h>

#define QUIET_USEC 2000000 /* a server that answers later is taken for none */

/* A descriptor that is only a place (O_PATH) for the path; more: further flags, as O_NOFOLLOW; resolve: RESOLVE_* of openat2(2). What the kernel does not
 * have in its cache is asked for by a task of its own. Returns it, -ETIMEDOUT, or -errno. */
int quiet_open(const char *path, int more, uint64_t resolve);
/* Fills in what the kernel knows of the file without asking its server. Returns 0 or -errno. */
int quiet_fstat(int fd, struct stat *ret);
/* Both. follow: a link at the end is followed. Returns 0, -ETIMEDOUT, -errno. */
int quiet_stat(const char *path, bool follow, struct stat *ret);
