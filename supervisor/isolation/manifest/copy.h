/* Runs: supervisor, CLI. Copies of skills and programs in the store. A region runs a copy, never the original folder or
 * program: the hashed bytes are the running bytes, however the original is changed meanwhile.
 *
 *  STORE/skills/sha256-HEX/        the files of a skill whose digest is sha256:HEX
 *  STORE/programs/sha256-HEX/NAME  a program of --exec whose content has that digest
 *
 * A copy is made once per digest, hashed from the written bytes, and appears whole or not at all. Copies are never
 * written to: the files have mode 0444 or 0555, and the folders above are open to the owner alone. The look of a copy
 * (stat-digest.h) is kept in the store's cache. A copy with a different look is read again, and refused when its digest is
 * wrong. Only `lethe compact` removes copies (copies.h), because only `lethe compact` has the store for itself. */
#pragma once

#include "manifest/bundle.h"
#include "manifest/stat-digest.h"

#define COPY_SKILLS "skills"
#define COPY_PROGRAMS "programs"
#define COPY_NEW ".new-" /* prefix of the name of an unfinished copy */
#define COPY_NAME_MAX 72 /* "sha256-", 64 hex, NUL */

enum {
        COPY_E_CHANGED = 20, /* wrong digest, or writable by other users; numbered behind bundle.h */
        COPY_E_STORE, /* not made or not read: disk full, read-only, foreign store; message has path and cause */
};

typedef struct Copy {
        char *path; /* absolute, without symlinks; owned; NULL: no copy */
        Look look;
} Copy;
void copy_deinit(Copy *c);
#define _cleanup_copy_ _cleanup_(copy_deinit)

/* "sha256:HEX" as the name of a folder. False when the text is not a digest of that form. */
bool copy_name(const char *digest, char ret[static COPY_NAME_MAX]);
/* Finds the skill's copy with the digest. *ret_fd: its folder, owned. Returns 0, -ENOENT (no copy), COPY_E_*,
 * -errno. */
int copy_find_skill(const char *store_dir, const char *digest, Copy *ret, int *ret_fd, Diag *reterr);
/* The copy of the folder `from`, whose list is *b; made when there is none yet. On return *b lists the copied files:
 * the list differs from the first list when the folder changed in between. Returns 0, COPY_E_*, BUNDLE_E_*, -errno. */
int copy_skill(const char *store_dir, int from, Bundle *b, Copy *ret, int *ret_fd, Diag *reterr);
/* The same for a program, open behind `from` and named `name`. copy_program() sets digest. */
int copy_find_program(const char *store_dir, const char *digest, const char *name, char **ret_path, Diag *reterr);
int copy_program(const char *store_dir, int from, const char *name, char digest[static DIGEST_TEXT_MAX],
                 char **ret_path, Diag *reterr);
/* Copies the file behind `from`, of any size, to `to`, and returns the digest of the written bytes, or -errno. */
int copy_bytes(int from, int to, char ret_digest[static DIGEST_TEXT_MAX]);
/* Whether the copy is unchanged since copy_find_skill() or copy_skill() returned. */
bool copy_is_untouched(const Copy *c);
/* Reads a skill's folder or a program, open behind fd, and compares its digest. Returns 0, COPY_E_CHANGED, -errno. */
int copy_check(int fd, const char *path, const char *digest, Diag *reterr);
/* Removes a finished or unfinished copy and everything below it. Returns 0 or -errno. */
int copy_remove(int folder, const char *name);
