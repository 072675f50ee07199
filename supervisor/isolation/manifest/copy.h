/* Runs: supervisor, CLI. What a region runs is a copy in the store, never the folder or program that it was made of: what was hashed is what runs, however
 * that folder is changed meanwhile.
 *
 *   STORE/skills/sha256-HEX/        the files of a skill whose digest is sha256:HEX
 *   STORE/programs/sha256-HEX/NAME  a program of --exec whose content has that digest
 *
 * A copy is made once per digest, hashed from the bytes that are written, and appears whole or not at all. Nobody writes to it: its files have mode 0444
 * or 0555, the folders above it are open to their owner alone. Its look (look.h) is kept in the store's cache; a copy that looks otherwise is
 * read again, and refused when it does not have its digest. Copies are removed by `lethe compact` alone (copies.h), which has the store for itself. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "manifest/bundle.h"
#include "manifest/look.h"

#define COPY_SKILLS "skills"
#define COPY_PROGRAMS "programs"
#define COPY_NAME_MAX 72 /* "sha256-", 64 hex, NUL */

enum {
        COPY_E_CHANGED = 20, /* a copy does not have its digest any more, or others can write to it; behind those of bundle.h */
        COPY_E_STORE,        /* the copy cannot be made or read: disk full, read-only, another user's store; message has the path and the cause */
};

typedef struct Copy {
        char *path; /* absolute, without symlinks; owned; NULL: none */
        Look look;
} Copy;
void copy_deinit(Copy *c);
#define _cleanup_copy_ _cleanup_(copy_deinit)

/* "sha256:HEX" as the name of a folder. False when it is not such a digest. */
bool copy_name(const char *digest, char ret[static COPY_NAME_MAX]);
/* The skill's copy of that digest, when there is one. *ret_fd: its folder, owned. Returns 0, -ENOENT, COPY_E_*, -errno. */
int copy_find_skill(const char *store_dir, const char *digest, Copy *ret, int *ret_fd, Diag *reterr);
/* The copy of the folder `from`, of which b is the list; it is made when there is none yet. *b is then what was copied: another list than before when the
 * folder changed in between. Returns 0, COPY_E_*, BUNDLE_E_*, -errno. */
int copy_skill(const char *store_dir, int from, Bundle *b, Copy *ret, int *ret_fd, Diag *reterr);
/* The same of one program, open behind `from`, called `name`. copy_program() sets digest. */
int copy_find_program(const char *store_dir, const char *digest, const char *name, char **ret_path, Diag *reterr);
int copy_program(const char *store_dir, int from, const char *name, char digest[static DIGEST_TEXT_MAX], char **ret_path, Diag *reterr);
/* Writes what is open behind `from` to `to`, and says its digest of the bytes that were written: of any size. Returns 0, -errno. */
int copy_bytes(int from, int to, char ret_digest[static DIGEST_TEXT_MAX]);
/* Nobody has touched it since it was found or made. */
bool copy_is_untouched(const Copy *c);
/* Reads what is open behind fd, a skill's folder or a program, and holds it against its digest. Returns 0, COPY_E_CHANGED, -errno. */
int copy_check(int fd, const char *path, const char *digest, Diag *reterr);
