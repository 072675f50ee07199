/* Runs: supervisor, CLI. The list of a skill's files, as bundle.h makes it. */
#pragma once

#include "base/diag.h"

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
