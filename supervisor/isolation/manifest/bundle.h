/* Runs: supervisor, CLI. The files of a skill and the digest that identifies the skill (schema/manifest.md). */
#pragma once

#include "base/json.h"
#include "manifest/bundle-types.h"

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
