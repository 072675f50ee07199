/* Runs: supervisor, guard. Overwrites files and the memory of another process, and reads the written bytes back.
 *
 * Memory is written with process_vm_writev(2). Pages refused there (read-only, PROT_NONE) are written through
 * /proc/PID/mem, which ignores the protection of private pages. The caller must be allowed to trace the process. */
#pragma once

#include "scrub/scan.h"

#define WIPE_PASSES_MAX 35
#define WIPE_SOURCE (16U * 1024)

/* The patterns to write. Created once, used for any number of processes and threads. */
typedef struct Wipe {
        unsigned passes;
        uint8_t *random; /* owned; NULL without a random pass */
        bool forced_once; /* a file on disk is forced out after the last pass alone; else after each pass */
        uint64_t *beats; /* borrowed; grows with every written piece; NULL: no counter */
} Wipe;

/* The four together are all bytes asked for. Counters are added to. */
typedef struct WipeCount {
        uint64_t overwritten; /* written, read back, and found as written */
        uint64_t denied;      /* write or read-back failed */
        uint64_t mismatched;  /* read back with different content */
        uint64_t empty;       /* not writable, and holds only zeros */
} WipeCount;

/* passes: 1 is zeros; n > 1 is 0x00, 0xFF, random bytes, and again. Returns 0, -EINVAL or -errno. */
int wipe_init(Wipe *w, unsigned passes);
void wipe_deinit(Wipe *w);
/* The pattern of pass number `pass`: WIPE_SOURCE bytes, the same in each page. */
const uint8_t *wipe_pattern(const Wipe *w, unsigned pass);
/* Shares large amounts out to one thread per CPU. Not to be called by two threads at once. */
void wipe_runs(const Wipe *w, const PageScan *s, const Runs *runs, WipeCount *count);
/* Clears the read-back buffer of the thread that calls wipe_runs(). The buffers of its helper threads stay. */
void wipe_forget(void);
/* Overwrites the data of a file, not its holes, up to its present size in whole pages: a write through a mapping beyond
 * the end is in the last page. fd is open for reading and writing. After a failed write all other extents and passes are
 * written, and all data of the file count as denied. Returns 0 or -errno. */
int wipe_file(const Wipe *w, int fd, WipeCount *count);
/* Opens a regular file for wipe_file(), in spite of its mode, and follows no link. Returns a descriptor, or -1 with
 * errno. */
int wipe_open(int folder, const char *name);
/* Overwrites the bytes from..to of a file, holes too. Returns the bytes read back as written; 0 after a failed
 * write. */
uint64_t wipe_range(const Wipe *w, int fd, uint64_t from, uint64_t to);
/* Whether the file is on a file system in memory. */
bool wipe_is_in_memory(int fd);
/* A page once shared by fork is written in place only without any further reference; each processor keeps such
 * references for pages touched lately. Makes all processors drop theirs. */
void wipe_drain(void);
/* Counts the bytes of pages of the runs that are not all zero: for an unwritable page, the loss. */
uint64_t wipe_count_nonzero(const PageScan *s, const Runs *runs);
