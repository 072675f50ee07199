/* Runs: supervisor, guard. Overwrites memory of another process, and files, and reads back what it wrote.
 *
 * Memory is written with process_vm_writev(2); what that refuses (read-only pages, PROT_NONE) through /proc/PID/mem, which writes to
 * private pages whatever their protection. The caller must be allowed to trace the process. */
#pragma once

#include "scrub/scan.h"

#define WIPE_PASSES_MAX 35
#define WIPE_SOURCE (16U * 1024)

/* What to write. Creation once, used for any number of processes and by any number of threads. */
typedef struct Wipe {
        unsigned passes;
        uint8_t *random; /* owned; NULL when no pass is a random one */
        uint64_t *beats; /* borrowed; grows with every piece that was written. NULL: nobody asks */
} Wipe;

/* Of the bytes asked for: the four are together all of them. Counters are added to. */
typedef struct WipeCount {
        uint64_t overwritten; /* written, read back, and found as written */
        uint64_t denied;      /* could not be written, or not be read back */
        uint64_t mismatched;  /* read back otherwise */
        uint64_t empty;       /* could not be written, and holds nothing but zeros */
} WipeCount;

/* passes: 1 is zeros; n > 1 is 0x00, 0xFF, random bytes, and again. Returns 0, -EINVAL or -errno. */
int wipe_init(Wipe *w, unsigned passes);
void wipe_deinit(Wipe *w);
/* What pass number `pass` writes: WIPE_SOURCE bytes, in which each page is the same. */
const uint8_t *wipe_pattern(const Wipe *w, unsigned pass);
/* Both aligned to 16. */
bool wipe_same_page(const uint8_t *a, const uint8_t *b);
/* Large amounts are shared out to one thread a CPU. Not to be called by two threads at once. */
void wipe_runs(const Wipe *w, const Scan *s, const Runs *runs, WipeCount *count);
/* What the thread that calls wipe_runs() read back is forgotten; what its threads read back stays. */
void wipe_forget(void);
/* The data of a file, not its holes; fd is open for reading and writing. Its size grows to whole pages, because what was written beyond the
 * end through a mapping is in the last one. On a file system that is not
 * in memory each pass is forced out. Of a range that cannot be written the rest of its extent is denied. Returns 0, or -errno when its
 * extents cannot be listed. */
int wipe_file(const Wipe *w, int fd, WipeCount *count);
/* Which bytes of the runs are not all zero, page by page: what could not be written, and would be a loss. */
uint64_t wipe_count_nonzero(const Scan *s, const Runs *runs);
