/* Runs: supervisor, guard. Empties a folder that a hostile program filled: follows no link, opens at most two
 * descriptors at any depth of nesting, and never recurses. Nobody may make or move files in the tree meanwhile. */
#pragma once

#include <sys/stat.h>

/* Called before the removal of an entry; for a folder, maybe several times. Returns 0, or -errno: the entry stays, and
 * the emptying ends. */
typedef int (*FolderEntryFn)(int folder, const char *name, const struct stat *st, void *arg);
/* fn may be NULL. Returns 0, or -errno: some entries stay. */
int folder_empty(int top, FolderEntryFn fn, void *arg);
