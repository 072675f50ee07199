/* Runs: supervisor, CLI. Resolves a path of a region to a path of the host: through granted files, system folders and
 * links, as the region resolves them. The scratch counts as empty. */
#pragma once

#include "manifest/vocabulary.h"

typedef struct ResolvedPath {
        char *end;    /* path in the region, without links; on -ENOENT, the place where the search ended */
        char *host;   /* the file on the host */
        bool settled; /* only root can change the file, the links and the granted folders on the path */
} ResolvedPath;
void resolved_path_deinit(ResolvedPath *i);
#define _cleanup_resolved_path_ _cleanup_(resolved_path_deinit)

/* path: absolute; ".." means the folder above in the region. Returns 0, -ENOENT with ret->end set, -EISDIR (a folder
 * that only holds places of grants), -ELOOP, -ENAMETOOLONG, -ETIMEDOUT, -EREMOTE (base/path-lookup.h), -ENOMEM, -errno. */
int path_resolve(const FileGrant *files, size_t n, const char *path, ResolvedPath *ret);
/* Whether the path is a host folder that every region has at the same path, or lies below such a folder. */
bool path_is_shared(const char *path);
/* Whether only root can change the host's file or folder, and every folder above. real: absolute, without links. */
bool path_only_root_writes(const char *real);
