/* Runs: supervisor. Overwriting the files of a region's scratch before their names go, once nothing of the region runs. */
#pragma once

#include "base/util.h"

/* Bytes are whole blocks of 4,096: what stands behind a file's end in its last page is overwritten, too. */
typedef struct ScratchWiped {
        uint64_t files;
        uint64_t bytes_held;        /* in files that were found: overwritten + missed */
        uint64_t bytes_overwritten; /* and read back as written */
        uint64_t bytes_missed;      /* of a file that could not be opened, written or read back */
        bool failed;                /* not all of it was found: nothing is known of the rest */
        bool on_disk;               /* not in memory: what the device keeps of earlier writes is out of reach */
} ScratchWiped;

/* root: the folder; all below it is gone afterwards. passes: 1 zeros; more: 0x00, 0xFF, random bytes, and again. Only a file's last name is
 * overwritten, and a file that still has another one somewhere is not touched: it may be somebody's. lent: bytes of files without a name that were seen to,
 * and that somebody else has open; what more a file system of the region's own holds beside all names is missed. Returns 0 or -errno. */
int scratch_wipe(int root, unsigned passes, uint64_t lent, ScratchWiped *ret);
