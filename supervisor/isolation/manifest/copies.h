/* Runs: CLI, supervisor. All copies of a store (copy.h): the number, the check of the digests, the removal. */
#pragma once

#include "base/diag.h"

typedef struct Copies {
        uint64_t n, bytes;
} Copies;

/* Reads every copy again. *ret_bad: a message about the first copy with a wrong digest, or empty. Returns 0 or
 * -errno. */
int copies_verify(const char *store_dir, Copies *ret, Diag *ret_bad);
/* Removes each copy whose digest ("sha256:HEX") keep() refuses, and unfinished copies of dead processes. The caller
 * must have the store open alone. Returns 0 or -errno. */
int copies_sweep(const char *store_dir, bool (*keep)(void *userdata, const char *digest), void *userdata,
                 Copies *ret_kept, Copies *ret_removed);
