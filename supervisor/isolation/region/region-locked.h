/* Runs: supervisor. Memory for a region's secrets in the supervisor: whole pages between two guard pages. The pages
 * stay out of swap, core dumps and forked children. The kernel gets them back overwritten. */
#pragma once

#include "base/util.h"

typedef struct Locked {
        uint8_t *p;   /* NULL: no memory; page-aligned */
        size_t n;     /* usable bytes: whole pages */
        bool resident; /* mlock() succeeded: the pages never reach swap */
} Locked;

/* At least one page, zeroed. Memory beyond RLIMIT_MEMLOCK is given as well, but not resident. Returns 0 or -errno. */
int locked_new(size_t n, Locked *ret);
/* Overwrites all bytes `passes` times (at least once; 0x00, 0xFF, random, and so on) and reads back the last pass.
 * Returns the number of bytes found as written. */
size_t locked_wipe(Locked *l, unsigned passes);
void locked_free(Locked *l); /* Gives the pages back. Unwiped bytes are zeroed. */
