/* Runs: supervisor, CLI. The look of a file or folder: what the kernel keeps of each file in it (device, inode, mode, links, owner, size, times of the
 * last changes), hashed without reading any content. A look that is the same says that nothing changed in between, as far as nobody but root can
 * set back the time of an inode's last change. */
#pragma once

#include "base/util.h"

#include <time.h>

#define LOOK_BYTES 32

typedef struct Look {
        uint8_t digest[LOOK_BYTES];
        time_t changed; /* the latest of all changes */
} Look;

typedef struct LookRule {
        unsigned entries_max, depth_max;
        bool links; /* symlinks are looked at; else none may be there */
} LookRule;

/* Of what is open behind fd. False when it cannot be said: more or deeper than the rule allows, or something there belongs to a user other than root and
 * ourselves, or can be written by others: a change through a mapping need not change a time. */
bool look_at(int fd, const char *name, const LookRule *rule, Look *ret);
static inline bool look_same(const Look *a, const Look *b) {
        return __builtin_memcmp(a->digest, b->digest, LOOK_BYTES) == 0;
}
