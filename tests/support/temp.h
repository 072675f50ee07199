/* Runs: tests. Temporary folders that remove themselves, and nothing that is mounted in them. */
#pragma once

#include "base/util.h"

#include <limits.h>

typedef struct TempDir {
        char path[PATH_MAX]; /* absolute */
        int fd;              /* the folder, opened; -1 when none */
} TempDir;

#define TEMP_DIR_NULL ((TempDir){.fd = -1})

/* Makes a folder of mode 0700 under $TMPDIR, or /tmp. Under reap that is reap's own folder, which goes even when a failed
 * assert jumps over the cleanup. Returns 0 or -errno. */
int temp_dir_make(TempDir *ret);
void temp_dir_remove(TempDir *t);
#define _cleanup_temp_dir_ _cleanup_(temp_dir_remove)

/* Removes a folder and all in it. Follows no symlink and enters no mount: a bind that a test left there must not cost the
 * files behind it. Returns 0, -EXDEV when a mount was in the way, -errno. */
int temp_remove_tree(int dirfd, const char *name);
