/* Runs: supervisor. The paths outside of a region that it asked for. Whether one was a denial, or there is simply no such path, only the host's tree can say.
 * The host is not looked at while the region lives, because a look takes its time, and the region measures it (I-64). */
#pragma once

#include "region/region-denial.h"

#define OUTSIDE_MAX 512          /* different paths of one region; of what comes after only the number is kept */
#define OUTSIDE_LOOK_USEC 100000 /* for all of them together */

typedef struct OutsidePath {
        char *path;            /* owned */
        const char *rule;      /* static, as in FilterVerdict */
        const char *operation; /* static */
        char *allow_with;      /* owned, or NULL */
        uint64_t count;
        bool writes;
} OutsidePath;

typedef struct Outside {
        OutsidePath *v; /* owned */
        size_t n;
        uint64_t others; /* found no room */
} Outside;

/* path: absolute and plain; copied. allow_with is taken over. */
void region_outside_add(Outside *o, const char *rule, const char *operation, const char *path, bool writes, char *allow_with);
/* Nothing of the region runs any more: moves what the host has into the denials, and forgets the rest. Returns how many were denials. */
uint64_t region_outside_explain(Outside *o, Denials *denials);
void region_outside_deinit(Outside *o);
