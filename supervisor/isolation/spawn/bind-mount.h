/* Runs: supervisor. Detached mounts that a privileged supervisor makes for a region: only such a mount, with a map of
 * the owner's id, can show a folder of root to a region with another user. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

/* Clones the mount of `source` (absolute, without symbolic links), private, nosuid, nodev and read-only unless `write`.
 * The owner of `of` (NULL: of source) appears as user and group `owner` of the host (0: unchanged), where the file
 * system supports the map. Returns a descriptor, or -errno with `reterr`. */
int bind_mount_open(const char *source, bool write, uint32_t owner, const char *of_or_null, Diag *reterr);
