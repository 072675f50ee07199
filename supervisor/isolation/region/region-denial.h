/* Runs: supervisor. What a region was refused: each distinct operation once, with a count and the manifest line that would allow it. */
#pragma once

#include "base/json.h"
#include "base/util.h"

#define DENIALS_MAX 256           /* distinct entries; what comes after is only counted */
#define DENIAL_OBJECT_MAX 1024    /* bytes of an object kept as it is; a longer one, or one that is not UTF-8, is quoted and cut */

typedef struct Denial {
        char *rule;       /* "seccomp", "path", "network", "file-size" … */
        char *operation;  /* "ptrace", "open", "connect" … */
        char *object;     /* path, address, argument */
        char *allow_with; /* one line for lethe.json or the command line; NULL: nothing allows it */
        uint64_t count;
} Denial;

typedef struct Denials {
        Denial *v;
        size_t n;
        uint64_t others; /* denials that found no room among the distinct ones */
        uint64_t total;
} Denials;

/* Strings are copied; object is any bytes of a hostile region. One that holds a living region's key is withheld. Returns 0 or -ENOMEM. */
int denials_add(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object,
                const char *allow_with_or_null);
/* The same for `count` of them. */
int denials_add_many(Denials *d, const char *rule, const char *operation, const char *object, size_t n_object, const char *allow_with_or_null,
                     uint64_t count);
/* Array of {rule, operation, object, count, allow_with}. Stops before its text would pass max_bytes; what is left over is one last
 * entry with rule "others". New reference, NULL when out of memory. */
json_t *denials_to_json(const Denials *d, size_t max_bytes);
void denials_deinit(Denials *d);

/* The lines that would allow a thing. Owned or NULL (out of memory, or the path cannot be written in a manifest). */
char *denial_allow_file(const char *path, bool write);
char *denial_allow_connect(const char *address);
