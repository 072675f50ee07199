/* Runs: supervisor, CLI. Reads the folder of a skill: opens, hashes and copies the files of a bundle. */
#pragma once

#include "base/hash.h"
#include "manifest/bundle.h"

#include <sys/types.h>

void bundle_digest_text(const uint8_t hash[static HASH_BYTES], char out[static DIGEST_TEXT_MAX]);
/* openat2(2), repeated while the kernel asks for a repetition. Returns a descriptor or -errno. */
int bundle_open(int dirfd, const char *path, int flags, uint64_t resolve);
/* An errno for "cannot be read" becomes a condition of the folder (BUNDLE_E_*); others are returned as -errno. */
int bundle_access_or_errno(int e, const char *path, Diag *reterr);
/* Lists and hashes every file below dirfd, in the order of the folder. With `into`, an empty folder, each file is also
 * copied there, and hashed from the written bytes. *b may be half filled on failure. Returns 0, BUNDLE_E_*, -errno. */
int bundle_walk(int dirfd, int into, Bundle *b, Diag *reterr);
/* Sets mode and times of a finished file or folder of a copy, and syncs its content. Returns 0 or -errno. */
int bundle_settle(int fd, mode_t mode);
