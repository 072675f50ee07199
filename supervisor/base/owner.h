/* Runs: supervisor, CLI. Finds the users who can change a file of the host: its owner, users with write access by mode,
 * and users who can change a folder above. The operator's configuration, and files below a system folder, must belong
 * to root, or to the user of this process (I-82, I-93). */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#include <sys/stat.h>
#include <sys/types.h>

enum {
        OWNER_E_OTHER = 1, /* another user can: the message names the file or folder, the user, and the fix */
};

#define OWNER_ROOT_ALONE 0 /* as `self`: no user but root */

/* Whether root and `self` alone can change the file at this path: the file, and each folder above, with every symbolic
 * link on the way resolved and the folder of the link checked as well. In a sticky folder (/tmp) the owner of the entry
 * decides. A path that does not exist, or its missing rest, counts as safe. A FUSE file system must also be served by
 * root or `self`: owners and modes are the server's word. Returns 0, OWNER_E_OTHER, -errno. */
int owner_check(const char *path, uid_t self, Diag *reterr);

/* The user who serves the file system of `path`; st: the stat of the file. Owners, modes and bytes there are that
 * user's word. 0: the kernel, or root. -1: unknown. */
uid_t owner_server(const char *path, const struct stat *st);

/* Whether the number stands for all users not mapped into this namespace (user_namespaces(7)), and identifies no
 * user. */
bool owner_is_anybody(uid_t uid);

/* As owner_check() for a single opened file or folder, without the folders above. */
bool owner_alone(const struct stat *st, uid_t self);
/* Writes the message of OWNER_E_OTHER and returns the code. */
int owner_refuse(const char *path, const struct stat *st, uid_t self, Diag *reterr);
