/* Runs: supervisor, CLI. The files of a skill and the digest that identifies the skill (schema/manifest.md). */
#pragma once

#include "base/json.h"

#define DIGEST_TEXT_MAX 72 /* "sha256:" + 64 hex + NUL */
#define BUNDLE_COPY_TIME 946684800 /* 2000-01-01: the ZIP format has no time before 1980 */
#define BUNDLE_DEPTH_MAX 32

enum {
        BUNDLE_E_MISSING = 1, /* no such folder or file */
        BUNDLE_E_KIND, /* FIFO, socket or device; a symlink that leaves the folder; a name that is not plain UTF-8 */
        BUNDLE_E_LIMIT,       /* more files, bytes or depth than schema/limits.h allows */
        BUNDLE_E_ACCESS,      /* cannot be read */
        BUNDLE_E_CHANGED,     /* changed during the reading */
        BUNDLE_E_COPY,        /* the copy cannot be written: disk full, read-only */
};

typedef struct BundleFile {
        char *path;      /* relative, '/' between parts */
        bool link;       /* a symlink that stays inside; else a regular file */
        bool executable; /* a file with any execute bit */
        uint64_t bytes;  /* of the content; of the target's text for a symlink */
        char digest[DIGEST_TEXT_MAX]; /* of the content, or of a symlink's text */
} BundleFile;

typedef struct Bundle {
        BundleFile *files; /* sorted by the bytes of their paths; folders are not listed */
        size_t n_files;
        uint64_t bytes;
        char digest[DIGEST_TEXT_MAX];
        char *others; /* owned: the first file or folder that a foreign user can write, and the fix; or NULL */
} Bundle;

void bundle_deinit(Bundle *b);
#define _cleanup_bundle_ _cleanup_(bundle_deinit)

/* Walks the folder behind dirfd without following symlinks. Returns 0, BUNDLE_E_* with the path in the message,
 * -errno. */
int bundle_read(int dirfd, Bundle *ret, Diag *reterr);
/* Like bundle_read(), and writes each file into the empty folder `into`; the digest is of the written bytes. Files get
 * mode 0444 or 0555, folders below `into` 0555, and all get a fixed time. Empty folders are left out, as in the digest.
 * On return 0 every file is on the disk; `into` itself is left to the caller. On failure the written files stay. */
int bundle_copy(int dirfd, int into, Bundle *ret, Diag *reterr);
const BundleFile *bundle_find(const Bundle *b, const char *path); /* or NULL */
/* Reads one regular file of the bundle again and compares its digest, so that the parsed bytes are the hashed bytes.
 * Returns 0 with an owned, NUL-terminated text; BUNDLE_E_*; -errno. */
int bundle_read_file(const Bundle *b, int dirfd, const char *path, size_t max, char **ret, size_t *ret_n, Diag *reterr);

/* [{"bytes","digest","executable","link","path"}]: the list whose canonical form is hashed. New reference. */
json_t *bundle_to_json(const Bundle *b);
/* The first difference between the bundle and a list of bundle_to_json(): an owned sentence, or NULL (also: no
 * memory). */
char *bundle_difference(const Bundle *b, const json_t *recorded);

/* Digest of one program file behind an open descriptor. Returns 0, BUNDLE_E_*, -errno. */
int bundle_program_digest(int fd, const char *path, char ret[static DIGEST_TEXT_MAX], Diag *reterr);
