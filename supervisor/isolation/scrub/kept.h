/* Runs: supervisor, CLI. Folders that a store keeps of dead regions, until a verb drops the folder, or the policy does,
 * by number, age or bytes. A shelf is a folder of the store; a kept folder has files alone:
 *
 *  STORE/SHELF/REGION/…       complete
 *  STORE/SHELF/REGION/bytes   the sum of the other files' bytes, as text
 *  STORE/SHELF/.new-REGION    not complete: dropped with the recovery of the region
 *  STORE/SHELF/.old-REGION    being dropped */
#pragma once

#include "base/diag.h"
#include "base/id.h"
#include "policy/policy-types.h"

#define KEPT_E_NONE 1 /* no such folder is kept */

/* Makes the folder of a region, not complete yet, and locked. Returns its descriptor, or -errno. */
int kept_begin(const char *store_dir, const char *shelf, const char *region);
/* folder: of kept_begin(). bytes: of the files. Returns 0 or -errno. */
int kept_complete(const char *store_dir, const char *shelf, const char *region, int folder, uint64_t bytes);
/* lock: LOCK_SH to read, LOCK_EX to change (flock(2)), until the descriptor is closed. Returns a descriptor, -EBUSY
 * for a folder in use by another process, or -errno. */
int kept_open(const char *store_dir, const char *shelf, const char *region, int lock);
/* Overwrites and removes a complete folder. folder: of kept_open() with LOCK_EX. Returns 0 or -errno. */
int kept_drop(const char *store_dir, const char *shelf, const char *region, int folder);
/* The same for a folder of kept_begin(). */
int kept_drop_begun(const char *store_dir, const char *shelf, const char *region, int folder);
/* The same after the maker's death. Returns 0, KEPT_E_NONE, -EBUSY while a process of the maker lives, -errno. */
int kept_drop_new(const char *store_dir, const char *shelf, const char *region);

typedef struct KeptFolder {
        RegionId region;
        uint64_t bytes;
        const char *why; /* of kept_surplus(): "number", "age" or "bytes", static */
} KeptFolder;
typedef struct KeptList {
        KeptFolder *folders; /* the oldest first; owned */
        size_t n;
        uint64_t bytes; /* of all */
} KeptList;
void kept_list_deinit(KeptList *l);
#define _cleanup_kept_list_ _cleanup_(kept_list_deinit)
/* Finishes killed drops, and drops folders that were not completed for an hour. */
void kept_sweep(const char *store_dir, const char *shelf);
/* All complete folders; none without the shelf. Returns 0 or -errno. */
int kept_list(const char *store_dir, const char *shelf, KeptList *ret);
/* How many folders at the list's beginning are beyond the policy. The newest is never beyond number or bytes. now:
 * CLOCK_REALTIME. */
size_t kept_surplus(KeptList *l, const KeepPolicy *policy, uint64_t now_usec);
