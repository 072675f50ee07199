/* Runs: CLI, supervisor. Finds the program of `lethe run --exec` on the host.
 *
 * A program that only root can write, itself and every folder above it, is run where it is: what was hashed can be changed by root alone, who can change
 * Lethe as well. Of any other program a region is given a copy in the store (manifest/copy.h), at the path of the program. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "manifest/bundle.h"

extern int program_settled_sec; /* how long ago the last change must be for a digest to be remembered; tests change it */

typedef struct Program {
        char *path; /* as it is called in the region */
        char *real; /* where its copy is bound; NULL: it is run where it is */
        char *copy; /* what is bound there: its copy in the store, or itself when only root can write it; NULL: there is no copy yet, or no store */
        char digest[DIGEST_TEXT_MAX];
} Program;
void program_deinit(Program *p);
#define _cleanup_program_ _cleanup_(program_deinit)

/* A program of the system folders (/usr, /bin, /sbin, /lib*) keeps the path that it was called by, because a region has those folders and some programs look at
 * the name; any other is resolved, and bound. The digest is of the file's content; of a large one that only root can write it is remembered in
 * the cache of the store at store_dir (NULL: none). Returns 0, REQUEST_E_NOT_FOUND, REQUEST_E_NOT_EXECUTABLE, REQUEST_E_BAD, -errno. */
int program_find(const char *program, const char *store_dir, Program *ret, Diag *reterr);
/* Copies the program at `real`, called `path` in the region: digest and *ret_copy are of the bytes that were copied. Returns as program_find(). */
int program_copy(const char *path, const char *real, const char *store_dir, char ret_digest[static DIGEST_TEXT_MAX], char **ret_copy, Diag *reterr);
