/* Runs: supervisor, CLI. Between bundle.c (the list, its digest) and bundle-walk.c (the folder). */
#pragma once

#include "base/hash.h"
#include "manifest/bundle.h"

#include <sys/types.h>

void bundle_digest_text(const uint8_t hash[static HASH_BYTES], char out[static DIGEST_TEXT_MAX]);
/* openat2(2), again while the kernel asks for it. Returns a descriptor or -errno. */
int bundle_open(int dirfd, const char *path, int flags, uint64_t resolve);
const char *bundle_quote(const char *s, char out[static 256]);
/* An errno that means "cannot be read" is a condition of the folder (BUNDLE_E_*); any other is returned as -errno. */
int bundle_access_or_errno(int e, const char *path, Diag *reterr);
/* Lists and hashes every file below dirfd, in the order of the folder. With `into`, an empty folder of ours, each file is written there as well, and
 * hashed from the bytes that are written. *b may be half filled when it fails. Returns 0, BUNDLE_E_*, -errno. */
int bundle_walk(int dirfd, int into, Bundle *b, Diag *reterr);
/* The mode and times of a finished file or folder of a copy, and what it holds on the disk. Returns 0 or -errno. */
int bundle_settle(int fd, mode_t mode);
