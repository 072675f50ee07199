/* Runs: CLI, supervisor. All copies of a store (copy.h): how many there are, whether each still has its digest, and which nobody needs any more. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

#define COPIES_NEW ".new-" /* what a copy is called until it is whole */

typedef struct Copies {
        uint64_t n, bytes;
} Copies;

/* Reads every copy again. *ret_bad: the first one that does not have its digest, as a message; empty: none. Returns 0 or -errno. */
int copies_verify(const char *store_dir, Copies *ret, Diag *ret_bad);
/* Removes each copy for whose digest ("sha256:HEX") keep returns false, and what a maker that died left half made. Nobody else may have the store open.
 * Returns 0 or -errno. */
int copies_sweep(const char *store_dir, bool (*keep)(void *userdata, const char *digest), void *userdata, Copies *ret_kept, Copies *ret_removed);
/* Removes a copy, or one that is half made, and everything below it. Returns 0 or -errno. */
int copies_remove(int folder, const char *name);
