/* Runs: supervisor, CLI. Finds Lethe's own files: beside the running program (a build folder), in libexec/lethe of the
 * program's prefix, else in the configured place of installation. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

/* Opens a program. Returns a descriptor for execveat, or -errno; ret_path (or NULL) gets the last tried path, owned. */
int find_program(const char *name, char **ret_path);
/* A program for a start. Returns 0, `code` (positive) with a message when the program is missing, -errno. */
int find_needed(const char *name, int code, int *ret_fd, Diag *reterr);
/* The host folder bound at /lethe: bin/, python/, node/. Owned, or NULL when missing. */
char *find_shims(void);
/* The folder of a skill of Lethe's own. Owned, or NULL when missing. */
char *find_skill(const char *name);
/* For tests, whose program stands in a different folder: the first place to search. Borrowed for ever. */
void find_set_folder(const char *folder);
