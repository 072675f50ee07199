/* Runs: supervisor, CLI. Where the files that belong to Lethe are: beside the running program (a build folder), in libexec/lethe of the
 * prefix that it stands in, else where they were to be installed. */
#pragma once

#include "base/util.h"

#include <errno.h>

/* Opens a program of that name. Returns a descriptor for execveat, or -errno; ret_path (may be NULL) gets the path that was last tried, owned. */
int find_program(const char *name, char **ret_path);
/* True: the code of find_program() says that there is no such program. False: something else is wrong. */
static inline bool find_is_missing(int e) {
        return e == -ENOENT || e == -ENOTDIR || e == -EACCES;
}
int find_worker(char **ret_path);
/* The host folder that is bound at /lethe: bin/, python/, node/. Owned, or NULL when there is none. */
char *find_shims(void);
/* The folder of a skill that comes with Lethe. Owned, or NULL when there is none. */
char *find_skill(const char *name);
/* For tests, whose program stands elsewhere: looked at before all other places. Borrowed for ever. */
void find_set_folder(const char *folder);
