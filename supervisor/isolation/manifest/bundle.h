/* Runs: supervisor, CLI. The files of a skill and the digest that is its identity (schema/manifest.md has the formula). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"

#define DIGEST_TEXT_MAX 72 /* "sha256:" + 64 hex + NUL */
#define BUNDLE_DEPTH_MAX 32

enum {
        BUNDLE_E_MISSING = 1, /* no such folder or file */
        BUNDLE_E_KIND,        /* FIFO, socket or device; a symlink that leaves the folder; a name that is not plain UTF-8 */
        BUNDLE_E_LIMIT,       /* more files, bytes or depth than schema/limits.h allows */
        BUNDLE_E_ACCESS,      /* cannot be read */
        BUNDLE_E_CHANGED,     /* changed while it was read */
        BUNDLE_E_COPY,        /* the copy cannot be written: disk full, read-only */
};

typedef struct BundleFile {
        char *path;      /* relative, '/' between parts */
        bool link;       /* a symlink that stays inside; else a regular file */
        bool executable; /* a file with any execute bit */
        uint64_t bytes;  /* of the content; of the target's text for a symlink */
        char digest[DIGEST_TEXT_MAX]; /* of the same */
} BundleFile;

typedef struct Bundle {
        BundleFile *files; /* sorted by the bytes of their paths; folders are not listed */
        size_t n_files;
        uint64_t bytes;
        char digest[DIGEST_TEXT_MAX];
        char *others;        /* of the first file or folder in it that a user other than root and this one can write: who can, and the fix; NULL: none */
} Bundle;

void bundle_deinit(Bundle *b);
#define _cleanup_bundle_ _cleanup_(bundle_deinit)

/* Walks the folder behind dirfd, following no symlink. Returns 0, BUNDLE_E_* with a message that names the path, -errno. */
int bundle_read(int dirfd, Bundle *ret, Diag *reterr);
/* The same, and writes each file into the empty folder `into` while it is hashed: the digest is of the bytes that were written. Files get mode 0444 or 0555,
 * folders below 0555, all of them one fixed time; empty folders are left out, because the digest does not have them. Each is on the disk when this
 * returns 0; `into` itself is left to the caller. What was written stays there when it fails. */
int bundle_copy(int dirfd, int into, Bundle *ret, Diag *reterr);
#define BUNDLE_COPY_TIME 946684800 /* 2000-01-01: archives of the ZIP format know no time before 1980 */
const BundleFile *bundle_find(const Bundle *b, const char *path); /* or NULL */
/* Reads one regular file of the bundle again and holds it against its digest, so that what is parsed is what was hashed.
 * Returns 0 with an owned, NUL-terminated text; BUNDLE_E_*; -errno. */
int bundle_read_file(const Bundle *b, int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, Diag *reterr);

/* [{"bytes","digest","executable","link","path"}]: the list whose canonical form is hashed. New reference. */
json_t *bundle_to_json(const Bundle *b);
/* Names the first file in which the bundle differs from a list that bundle_to_json() made: an owned sentence, NULL when there is no
 * difference or no memory. */
char *bundle_difference(const Bundle *b, const json_t *recorded);

/* Digest of one program file behind an open descriptor. Returns 0, BUNDLE_E_*, -errno. */
int bundle_program_digest(int fd, const char *path, char ret[static DIGEST_TEXT_MAX], Diag *reterr);
