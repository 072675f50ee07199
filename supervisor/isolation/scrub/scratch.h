/* Runs: supervisor. Overwrites the files of a region's scratch before their names go, after the region's processes. */
#pragma once

#include "base/util.h"

typedef struct ScratchSum {
        uint64_t most; /* largest sum, near the end, of the file system's bytes and `known`; 0: not taken */
        uint64_t known; /* bytes of files without a name that were overwritten, or counted as missed */
        uint64_t lent;  /* the part of `known` that a process outside of the region still holds */
} ScratchSum;

/* Bytes are whole blocks of 4,096: the rest of a file's last page is overwritten, too. */
typedef struct ScratchWiped {
        uint64_t files;
        uint64_t bytes_held;        /* in files that were found: overwritten + missed */
        uint64_t bytes_overwritten; /* and read back as written */
        uint64_t bytes_missed;      /* of files that could not be opened, written or read back, and bytes_unseen */
        uint64_t bytes_unseen;      /* the part of bytes_missed in files without a name and without a known holder */
        bool failed;                /* the search for files failed: the rest is unknown */
        bool on_disk;               /* not in memory: the device may keep earlier writes, out of reach */
} ScratchWiped;

/* root: the folder; it is empty afterwards. passes: 1 is zeros; more: 0x00, 0xFF, random bytes, and again. Only a
 * file's last name is overwritten. A file with a further name stays: it may belong to a program outside. A file system
 * of the region's own is summed up: nameless bytes at the end, neither listed nor lent, are missed. Adds to *ret.
 * Returns 0 or -errno. */
int scratch_wipe(int root, unsigned passes, const ScratchSum *sum, ScratchWiped *ret);
/* Overwrites a nameless file of the scratch that the supervisor held for the region, and adds it to *ret. Any
 * different file stays as it is. Returns the file's bytes, or 0. */
uint64_t scratch_wipe_deleted(int root, int fd, unsigned passes, ScratchWiped *ret);
