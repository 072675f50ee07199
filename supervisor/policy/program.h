/* Runs: CLI, supervisor. Finds the program of `lethe run --exec` on the host. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "manifest/bundle.h"

/* *ret_path: owned. A program of the system folders (/usr, /bin, /sbin, /lib*) keeps the path that it was called by, because a region has
 * those folders and some programs look at the name; any other is resolved and *ret_bind is true. *ret_digest is of the file's content; of a large
 * one that only root can write it is remembered in the cache of the store at store_dir (NULL: none).
 * Returns 0, REQUEST_E_NOT_FOUND, REQUEST_E_NOT_EXECUTABLE, REQUEST_E_BAD, -errno. */
int program_find(const char *program, const char *store_dir, char **ret_path, bool *ret_bind, char ret_digest[static DIGEST_TEXT_MAX],
                 Diag *reterr);
