/* Runs: supervisor. Memory for what belongs to a region and lies with us: pages of its own between two that nobody may touch, kept out of
 * swap, out of core dumps and out of forked children, and overwritten before the kernel gets them back. */
#pragma once

#include "base/util.h"

typedef struct Locked {
        uint8_t *p;   /* NULL: none; page-aligned */
        size_t n;     /* bytes that may be used: whole pages */
        bool resident; /* mlock() took: it cannot reach swap */
} Locked;

/* At least one page, zeroed. Without leave to lock (RLIMIT_MEMLOCK) it is given all the same, not resident. Returns 0 or -errno. */
int locked_new(size_t n, Locked *ret);
/* Overwrites all of it `passes` times (at least once; 0x00, 0xFF, random, and so on) and reads back what was written last.
 * Returns how many bytes were found as written. */
size_t locked_wipe(Locked *l, unsigned passes);
/* Gives the pages back. What was not wiped before is zeroed. */
void locked_free(Locked *l);
