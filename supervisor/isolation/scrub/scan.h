/* Runs: supervisor, guard. Which pages of another process hold what is its own: the memory areas from /proc/PID/maps, the present private
 * pages by PAGEMAP_SCAN (Linux 6.7) or else /proc/PID/pagemap, and of those the ones that no other process maps.
 *
 * The process must not change its memory meanwhile: it stands at its exit stop, or waits in a notified system call. What a look at a running
 * process finds is only what was there at some moment. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SCAN_PAGE 4096U

typedef struct Run {
        uint64_t start, end; /* addresses; whole pages */
} Run;

typedef struct Runs {
        Run *v; /* owned, ascending, apart from each other */
        size_t n, max;
        uint64_t bytes;
} Runs;

enum {
        AREA_READ = 1 << 0,
        AREA_WRITE = 1 << 1,
        AREA_SHARED = 1 << 2,
        AREA_KERNEL = 1 << 3,  /* [vvar] and the like: the kernel's, never written */
        AREA_DELETED = 1 << 4, /* the file has no name any more, if its name may be believed: a program can end a name like this */
        AREA_ZERO = 1 << 5,    /* shared anonymous memory, if the device is the kernel's own, too */
        AREA_BELOW = 1 << 6,   /* its file's path begins with Scan.below */
        AREA_EMPTY = 1 << 7,   /* nothing private in it; known only after areas_mark_empty() */
};

typedef struct Area {
        uint64_t start, end, offset, inode;
        uint32_t major, minor;
        uint32_t flags;
} Area;

/* Zero it for a start; it is used for one process after the other and keeps its buffers. */
typedef struct Scan {
        pid_t pid;
        int pagemap;
        Area *areas;      /* owned */
        size_t n_areas, max_areas;
        Runs own;         /* present private pages that only this process maps */
        Runs common;      /* present private pages that another process maps, too */
        uint64_t swapped_bytes;
        uint64_t *frames; /* owned: the pagemap entry of each page of `own`, in order; n_frames is 0 where frames are not shown */
        size_t n_frames, max_frames;
        uint64_t *common_frames; /* owned: the same of `common` */
        size_t n_common_frames, max_common_frames;
        uint64_t *kernel_frames; /* owned: of the kernel's own pages in it */
        size_t n_kernel_frames, max_kernel_frames;
        Runs found;       /* what the kernel listed, before it is told apart */
        Runs odd;         /* neither there nor in swap, because there is none: marks, and pages on the move */
        uint64_t addresses; /* where those of a process end: 0 until it was found out */
        bool opened, plain, no_ioctl, asked_swap, no_swap;
        bool guarded; /* the last scan_shared() saw guard pages (MADV_GUARD_INSTALL) */
        const char *below; /* borrowed; NULL: none */
        uint64_t *beats;   /* borrowed; grows while a scan goes on. NULL: nobody asks */
} Scan;

/* areas.c: what /proc/PID/maps says. Returns 0 or -errno. */
int areas_read(Scan *s, int fd);
/* What /proc/PID/smaps says of the same areas. When it cannot be read, nothing is marked. */
void areas_mark_empty(Scan *s, int fd);
/* May we look into it? */
bool scan_allowed(pid_t pid);
/* Nothing but the areas. Returns 0 or -errno; nothing is to be ended after it. */
int areas_of(Scan *s, pid_t pid);
/* Is nothing of it shared? Told without reading its areas (Linux 6.11); else, and where it cannot be told, false. maps: see below. */
bool areas_plain(pid_t pid, int *maps);
/* Is something shared mapped between the two addresses? Where it cannot be told (before Linux 6.11), true. */
bool scan_shares(pid_t pid, uint64_t start, uint64_t end);
/* Opens /proc/PID/NAME ahead of a look. Returns a descriptor or -errno. */
int scan_open(pid_t pid, const char *name);
/* Goes without the areas: all is taken for the process's own, the kernel's pages, too. As scan_begin(). Not where there is no PAGEMAP_SCAN.
 * pagemap: a descriptor that was opened ahead, which it takes, or 0. */
int scan_begin_plain(Scan *s, pid_t pid, int *pagemap);
/* Opens pid's files and reads its areas. Returns 0 or -errno; to be followed by scan_end() also on failure. */
int scan_begin(Scan *s, pid_t pid);
/* Fills own, common and swapped_bytes for the pages between the two addresses. Returns 0 or -errno. */
int scan_private(Scan *s, uint64_t start, uint64_t end);
/* Looks at the frames of `own` again. Returns the bytes of pages that have another frame now, or none: what was written is not where the old
 * content was. 0 where frames are not shown. */
uint64_t scan_moved(Scan *s);
/* The same with pages and frames of an earlier look: `frames` has the entry of each page of `pages`, in order. */
uint64_t scan_moved_since(Scan *s, const Runs *pages, const uint64_t *frames);
/* Present pages of one shared area are appended to *runs, the others to *absent (NULL: not asked). Returns 0 or -errno. */
int scan_shared(Scan *s, const Area *a, Runs *runs, Runs *absent);
/* Is no page of this area, one of s->areas, in swap? For memory that is shared: of all pages of the object that the area shows, whoever wrote them. false where
 * it cannot be told. */
bool scan_none_swapped(Scan *s, const Area *a);
/* Closes what is of the process. */
void scan_end(Scan *s);
void scan_deinit(Scan *s);

int runs_add(Runs *r, uint64_t start, uint64_t end);
void runs_clear(Runs *r);
void runs_deinit(Runs *r);
