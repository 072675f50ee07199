/* Runs: supervisor. The denials of a region: each distinct operation once, with a count and the line to allow it. */
#pragma once

#include "base/json.h"
#include "base/util.h"

#define DENIALS_MAX 256           /* distinct entries; further denials are only counted */
#define DENIAL_OBJECT_MAX 1024 /* bytes of an object kept unchanged; a longer object, or bad UTF-8, is quoted and cut */

typedef struct Denial {
        char *rule;       /* "seccomp", "path", "network", "file-size" … */
        char *operation;  /* "ptrace", "open", "connect" … */
        char *object;     /* path, address, argument */
        char *allow_with; /* a line for lethe.json or the command line; NULL: cannot be allowed */
        uint64_t count;
} Denial;

typedef struct Denials {
        Denial *v;
        size_t n;
        uint64_t others; /* denials beyond the room for distinct entries */
        uint64_t total;
} Denials;

/* Copies the strings. object: any bytes; an object with a living region's key is withheld. Returns 0 or
 * -ENOMEM: counted in `others`. */
int denials_add(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object,
                const char *allow_with_or_null);
/* Adds `count` equal denials. */
int denials_add_many(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object,
                     const char *allow_with_or_null, uint64_t count);
/* Array of {rule, operation, object, count, allow_with}, cut before max_bytes of text. A last entry with rule "others"
 * counts the rest. New reference, NULL when out of memory. */
json_t *denials_to_json(const Denials *d, size_t max_bytes);
void denials_deinit(Denials *d);

/* The manifest line to allow a file or an address. Owned; NULL: out of memory, or no such line is possible. */
char *denial_allow_file(const char *path, bool write);
char *denial_allow_connect(const char *address);

/* Paths outside of the region, named by calls. Only the host's tree tells whether a path exists, and so whether the
 * call was denied. The host is examined after the region's end: a living region can measure the time (I-64). */
#define OUTSIDE_MAX 512          /* different paths of a region; further paths are only counted */
#define OUTSIDE_LOOK_USEC 100000 /* for all paths together */

typedef struct OutsidePath {
        char *path;            /* owned */
        const char *rule;      /* static, as in FilterVerdict */
        const char *operation; /* static */
        char *allow_with;      /* owned, or NULL */
        uint64_t count;
        bool writes;
} OutsidePath;

typedef struct RegionOutside {
        OutsidePath *v; /* owned */
        size_t n;
        uint64_t others; /* paths without room */
} RegionOutside;

/* path: absolute and plain; copied. Takes allow_with over. */
void region_outside_add(RegionOutside *o, const char *rule, const char *operation, const char *path, bool writes,
                        char *allow_with);
/* Call when no process of the region runs: adds existing paths to the denials. Returns the number of denials. */
uint64_t region_outside_explain(RegionOutside *o, Denials *denials);
void region_outside_deinit(RegionOutside *o);
