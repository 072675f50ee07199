/* Runs: supervisor, CLI. The look of a file or folder: a hash of the kernel's data about each file (device, inode,
 * mode, links, owner, size, times of the last changes), made without reading any content. An equal look means that no
 * file changed in between, because only root can set back the time of an inode's last change. */
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
        bool links; /* whether symlinks are allowed; else a symlink fails the look */
} LookRule;

/* The look of a file or folder open behind fd. False when the look would prove nothing: more entries or deeper than the
 * rule allows, or a file belongs to a user other than root and the caller, or other users can write to a file (a change
 * through a mapping need not change a time). */
bool look_at(int fd, const char *name, const LookRule *rule, Look *ret);
static inline bool look_same(const Look *a, const Look *b) {
        return __builtin_memcmp(a->digest, b->digest, LOOK_BYTES) == 0;
}
