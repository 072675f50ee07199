/* Runs: supervisor. Overwriting the files of a region's scratch before their names go, once nothing of the region runs. */
#pragma once

#include "base/util.h"

typedef struct ScratchSum {
        uint64_t most;  /* largest sum, near the end, of what the file system held and of what was `known` by then; 0: not taken */
        uint64_t known; /* bytes of files without a name that were overwritten, or counted as missed */
        uint64_t lent;  /* of these: still held by somebody who is not of the region */
} ScratchSum;

/* Bytes are whole blocks of 4,096: what stands behind a file's end in its last page is overwritten, too. */
typedef struct ScratchWiped {
        uint64_t files;
        uint64_t bytes_held;        /* in files that were found: overwritten + missed */
        uint64_t bytes_overwritten; /* and read back as written */
        uint64_t bytes_missed;      /* of a file that could not be opened, written or read back, and bytes_unseen */
        uint64_t bytes_unseen;      /* of bytes_missed: in files without a name, held by what nobody saw */
        bool failed;                /* not all of it was found: nothing is known of the rest */
        bool on_disk;               /* not in memory: what the device keeps of earlier writes is out of reach */
} ScratchWiped;

/* root: the folder; all below it is gone afterwards. passes: 1 zeros; more: 0x00, 0xFF, random bytes, and again. Only a file's last name is
 * overwritten, and a file that still has another one somewhere is not touched: it may be somebody's. A file system of the region's own is summed up: what
 * was there at the end and has no name, is in no account and is not lent, is missed. Returns 0 or -errno. */
int scratch_wipe(int root, unsigned passes, const ScratchSum *sum, ScratchWiped *ret);
/* A file of the scratch without a name, which the supervisor itself held for the region: overwrites it and adds it to *ret. Any other file is left as it is.
 * Returns its bytes, or 0. */
uint64_t scratch_wipe_deleted(int root, int fd, unsigned passes, ScratchWiped *ret);
