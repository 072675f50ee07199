/* Runs: supervisor, CLI. The files of a skill and the digest that is its identity (schema/manifest.md has the formula). */
#pragma once

#include "base/diag.h"
#include "base/json.h"
#include "base/util.h"

#define DIGEST_TEXT_MAX 72 /* "sha256:" + 64 hex + NUL */

enum {
        BUNDLE_E_MISSING = 1, /* no such folder or file */
        BUNDLE_E_KIND,        /* FIFO, socket or device; a symlink that leaves the folder; a name that is not UTF-8 */
        BUNDLE_E_LIMIT,       /* more files, bytes or depth than schema/limits.h allows */
        BUNDLE_E_ACCESS,      /* cannot be read */
        BUNDLE_E_CHANGED,     /* changed while it was read */
};

typedef struct BundleFile {
        char *path;      /* relative, '/' between parts */
        char kind;       /* 'f' regular file, 'l' symlink, 'd' folder */
        bool executable; /* 'f': any execute bit */
        uint64_t bytes;
        char digest[DIGEST_TEXT_MAX]; /* of the content; of the target text for a symlink; empty for a folder */
} BundleFile;

typedef struct Bundle {
        BundleFile *files; /* sorted by the bytes of their paths */
        size_t n_files;
        uint64_t bytes;
        char digest[DIGEST_TEXT_MAX];
} Bundle;

void bundle_deinit(Bundle *b);
/* Walks the folder behind dirfd, following no symlink. Returns 0, BUNDLE_E_* with a message that names the path, -errno. */
int bundle_read(int dirfd, Bundle *ret, Diag *reterr);
const BundleFile *bundle_find(const Bundle *b, const char *path);
/* [{"path","kind","bytes","digest","executable"}] as it is hashed. New reference. */
json_t *bundle_to_json(const Bundle *b);
/* Digest of one program file. Returns 0, BUNDLE_E_*, -errno. */
int bundle_file_digest(const char *path, char ret[static DIGEST_TEXT_MAX], Diag *reterr);
/* Names the first file in which the bundle differs from a list that bundle_to_json() made: owned sentence, NULL when equal (or out of memory). */
char *bundle_difference(const Bundle *b, const json_t *recorded);
