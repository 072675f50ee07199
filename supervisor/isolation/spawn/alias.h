/* Runs: supervisor, CLI. Where else on the host a file or folder can be seen: a file system may be mounted, or a part of it be bound, at several places. */
#pragma once

#include "base/util.h"

/* All paths at which `real` (absolute, no symbolic link in it, there) or a part of it stands in this process's mounts, itself the first: strings that
 * *ret owns, NULL-terminated. A mount of a part of it (a folder in it that is bound elsewhere) is told by its mount point. Returns 0 or -errno. */
int alias_paths(const char *real, char ***ret);
