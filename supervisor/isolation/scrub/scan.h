/* Runs: supervisor, guard. Lists the pages that hold a process's own content: the memory areas from /proc/PID/maps, the
 * present private pages by PAGEMAP_SCAN (Linux 6.7) or else /proc/PID/pagemap, and among them the exclusively mapped
 * ones.
 *
 * The process must not change its memory meanwhile: it stands at its exit stop, or waits in a notified system call. A
 * scan of a running process finds only the state of some moment. */
#pragma once

#include "base/proc-path.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCAN_PAGE 4096U

/* The end of the last page. Wraps at the end of all addresses. */
static inline uint64_t scan_whole_pages(uint64_t n_bytes) {
        return (n_bytes + SCAN_PAGE - 1) & ~(uint64_t)(SCAN_PAGE - 1);
}

typedef struct AddressRun {
        uint64_t start, end; /* addresses; whole pages */
} AddressRun;

typedef struct Runs {
        AddressRun *v; /* owned, ascending, apart from each other */
        size_t n, max;
        uint64_t bytes;
} Runs;

/* The pagemap entries of pages, in order. */
typedef struct Frames {
        uint64_t *v; /* owned */
        size_t n, max;
} Frames;

enum {
        AREA_READ = 1 << 0,
        AREA_WRITE = 1 << 1,
        AREA_SHARED = 1 << 2,
        AREA_KERNEL = 1 << 3,  /* [vvar] and similar areas of the kernel, never written */
        AREA_DELETED = 1 << 4, /* the file has no name any more, or a name with such an end */
        AREA_ZERO = 1 << 5,    /* shared anonymous memory, if the device is also the kernel's own */
        AREA_BELOW = 1 << 6,   /* its file's path begins with PageScan.below */
        AREA_EMPTY = 1 << 7,   /* holds no private page; valid only after maps_mark_empty() */
};

typedef struct Area {
        uint64_t start, end, offset, inode;
        uint32_t major, minor;
        uint32_t flags;
} Area;

/* Starts as zeros. Serves one process after the other and keeps its buffers. */
typedef struct PageScan {
        pid_t pid;
        int pagemap;
        Area *areas;      /* owned */
        size_t n_areas, max_areas;
        Runs own;         /* present private pages that only this process maps */
        Runs common;      /* present private pages with further mappers */
        uint64_t swapped_bytes;
        Frames frames, common_frames; /* of each page of `own`, `common`; empty where frames are hidden */
        Frames kernel_frames;         /* of the kernel's own pages in the process */
        Runs found;       /* pages as listed by the kernel, not sorted yet */
        Runs odd;         /* swapped by their entry, on a machine without swap: marks, and pages on the move */
        uint64_t addresses; /* end of the process's addresses; 0 until known */
        bool opened, plain, no_ioctl, asked_swap, no_swap;
        bool guarded; /* the last scan_shared() saw guard pages (MADV_GUARD_INSTALL) */
        const char *below; /* borrowed; NULL: none */
        uint64_t *beats;   /* borrowed; grows while a scan goes on; NULL: no counter */
} PageScan;

/* Marks areas as AREA_EMPTY from /proc/PID/smaps. When smaps cannot be read, no area is marked. */
void maps_mark_empty(PageScan *s, int fd);
/* Says whether the caller may read the process's memory map. */
bool scan_allowed(pid_t pid);
/* Reads only the areas. Returns 0 or -errno. Needs no scan_end(). */
int maps_read(PageScan *s, pid_t pid);
/* Says whether a shared mapping lies between the addresses, without reading areas; true where unknown (before Linux
 * 6.11). maps: as `pagemap` of scan_begin_plain(). */
bool scan_shares(pid_t pid, uint64_t start, uint64_t end, int *maps_or_null);
/* Opens /proc/PID/NAME. Returns a descriptor or -errno. */
int scan_open(pid_t pid, const char *name);
/* Opens the object behind an area: permitted to root. Returns a descriptor or -errno. */
int scan_open_object(pid_t pid, const Area *a);
/* As scan_begin(), without the areas: all pages, also the kernel's, count as the process's own. Needs PAGEMAP_SCAN.
 * pagemap: a descriptor that was opened before, or 0. The function takes the descriptor, and leaves 0. */
int scan_begin_plain(PageScan *s, pid_t pid, int *pagemap_or_null);
/* Opens pid's files and reads its areas. Returns 0 or -errno. The caller calls scan_end(), also on failure. */
int scan_begin(PageScan *s, pid_t pid);
/* Fills own, common and swapped_bytes for the pages between the two addresses. Returns 0 or -errno. */
int scan_private(PageScan *s, uint64_t start, uint64_t end);
/* Compares the frames of `own` with the present ones. Returns the bytes of pages that lost their frame: the
 * overwriting did not reach the old content. Returns 0 where the kernel hides frames. */
uint64_t scan_moved(PageScan *s);
/* The same for pages and frames of an earlier scan: `frames` has the entry of each page of `pages`, in order. */
uint64_t scan_moved_since(PageScan *s, const Runs *pages, const uint64_t *frames);
/* Appends present pages of a shared area to *runs, absent pages to *absent (NULL: not wanted). Returns 0 or -errno. */
int scan_shared(PageScan *s, const Area *a, Runs *runs, Runs *absent);
/* Says whether no page of this area of s->areas is in swap. A shared area counts all pages of its object, whoever
 * wrote them. Returns false where the kernel cannot tell. */
bool scan_none_swapped(PageScan *s, const Area *a);
/* Closes the descriptors of the process. */
void scan_end(PageScan *s);
void scan_deinit(PageScan *s);

/* Doubles the array at *(void **)array, of *max elements; from 0 to `first`. Returns 0 or -ENOMEM. */
int array_grow(void *array, size_t *max, size_t first, size_t size);
int runs_add(Runs *r, uint64_t start, uint64_t end);
void runs_clear(Runs *r);
void runs_deinit(Runs *r);
