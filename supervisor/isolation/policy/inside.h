/* Runs: supervisor, CLI. Where a path of a region leads on the host: through granted files and system folders, and through links as the region resolves
 * them. The scratch counts as empty. */
#pragma once

#include "base/util.h"
#include "manifest/vocabulary.h"

typedef struct Inside {
        char *end;    /* path in the region, without links; where the search ended when nothing is there */
        char *host;   /* the same file on the host */
        bool link;    /* a link was followed on the way */
        bool settled; /* only root can change the file, the links and the granted folders on the way */
} Inside;
void inside_deinit(Inside *i);
#define _cleanup_inside_ _cleanup_(inside_deinit)

/* path: absolute; ".." means the folder above in the region. Returns 0, -ENOENT with ret->end set, -EISDIR (a folder that only holds places of grants),
 * -ELOOP, -ENAMETOOLONG, -ETIMEDOUT, -EREMOTE (base/quiet.h), -ENOMEM, -errno. */
int inside_find(const FileGrant *files, size_t n, const char *path, Inside *ret);
/* A folder of the host that every region has at its own path, or below one. */
bool inside_is_system(const char *path);
/* Only root can change the file or folder of the host, and every folder above it. real: absolute, without links. */
bool inside_only_root_writes(const char *real);
