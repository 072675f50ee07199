/* Runs: supervisor. Detached mounts that a supervisor with privilege makes for a region: only it can show a folder that belongs to root
 * to a region whose user is another one, by a mount that maps the owner's id. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

/* Clones the mount of `source` (absolute, no symbolic link in it), private, nosuid, nodev and read-only unless `write`. The owner of `of` (NULL: of
 * source) appears as user and group `owner` of the host (0: it stays), where the file system can do that. Returns a descriptor, or -errno with `reterr`. */
int tree_open(const char *source, bool write, uint32_t owner, const char *of_or_null, Diag *reterr);

/* Writes /proc/PID/{setgroups,uid_map,gid_map}; deny_groups as an ordinary user must. Returns 0 or -errno. */
int tree_write_maps(pid_t pid, const char *uids, const char *gids, bool deny_groups);
