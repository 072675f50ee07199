/* Runs: supervisor, CLI. Who can change a file of the host: its owner, users whom its mode lets write, and whoever can
 * change a folder above it. Configuration of the operator's, and what is placed below a system folder, must be root's,
 * or this user's own (I-82, I-93). */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#include <sys/stat.h>
#include <sys/types.h>

enum {
        OWNER_E_OTHER = 1, /* somebody else can change it: the message names the file or folder, who can write it, and
                              the fix */
};

#define OWNER_ROOT_ALONE 0 /* as `self`: nobody but root */

/* Whether root and `self` alone can change what stands at this path: itself, and each folder above it, with every
 * symbolic link on the way resolved and the folder of the link checked as well. In a sticky folder (/tmp) the owner of
 * the entry decides. A path, or the rest of one, that does not exist is nobody's. On a FUSE file system it is also who
 * serves it: owners and modes are what that user says. Returns 0, OWNER_E_OTHER, -errno. */
int owner_check(const char *path, uid_t self, Diag *reterr);

/* The user who serves the file system of what stands at `path`, of which `st` is known: whose word its owners, modes
 * and bytes are. 0: the kernel, or root.
 * -1: cannot be told. */
uid_t owner_server(const char *path, const struct stat *st);

/* Whether all users whom this user namespace does not map look like this one in it (user_namespaces(7)), so that its
 * number tells nobody. */
bool owner_is_anybody(uid_t uid);

/* The same of one file or folder, without what is above it: of what was opened or looked at by the caller. */
bool owner_alone(const struct stat *st, uid_t self);
/* The message of OWNER_E_OTHER, which is returned. */
int owner_refuse(const char *path, const struct stat *st, uid_t self, Diag *reterr);
