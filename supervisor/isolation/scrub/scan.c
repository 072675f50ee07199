#include "scrub/scan.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/sysinfo.h>
#include <sys/uio.h>
#include <unistd.h>

/* Missing in headers of Linux 6.1. */
struct pm_scan_arg_ {
        uint64_t size, flags, start, end, walk_end, vec, vec_len, max_pages;
        uint64_t category_inverted, category_mask, category_anyof_mask, return_mask;
};
struct page_region_ {
        uint64_t start, end, categories;
};
#define PAGEMAP_SCAN_ _IOWR('f', 16, struct pm_scan_arg_)
enum {
        IS_FILE = 1 << 2,
        IS_PRESENT = 1 << 3,
        IS_SWAPPED = 1 << 4,
        IS_ZERO_PAGE = 1 << 5,
};

struct procmap_query_ {
        uint64_t size, flags, address, start, end, area_flags, page_size, offset, inode;
        uint32_t major, minor, name_size, build_id_size;
        uint64_t name, build_id;
};
#define PROCMAP_QUERY_ _IOWR('f', 17, struct procmap_query_)
enum {
        AREA_IS_SHARED = 1 << 3,
        AREA_OR_NEXT = 1 << 4,
};

/* Bits of an entry of /proc/PID/pagemap. */
#define ENTRY_PRESENT (1ULL << 63)
#define ENTRY_SWAPPED (1ULL << 62)
#define ENTRY_FILE (1ULL << 61)
#define ENTRY_GUARD (1ULL << 58) /* Linux 6.15, as are guard pages of shared memory */
#define ENTRY_EXCLUSIVE (1ULL << 56)
#define ENTRY_FRAME ((1ULL << 55) - 1)

#define REGIONS 512
#define WINDOW 4096 /* entries read at once */
#define NEAR 64     /* pages between two runs that a single read still covers */
#define RESERVED (1ULL << 30) /* bytes of an area whose smaps are read before its entries */
#define ODD_MAX (1U << 18) /* pages probed one by one for presence */
#define LOOKS_MAX 3        /* scans while pages are being moved */

bool scan_allowed(pid_t pid) {
        int fd = scan_open(pid, "pagemap");

        if (fd >= 0)
                close(fd);
        return fd != -EACCES && fd != -EPERM;
}

static int scan_take_fd(int *ahead_or_null, pid_t pid, const char *name) {
        int fd = ahead_or_null ? *ahead_or_null : 0;

        if (fd <= 0)
                return scan_open(pid, name);
        *ahead_or_null = 0;
        return fd;
}

bool scan_shares(pid_t pid, uint64_t start, uint64_t end, int *maps_or_null) {
        struct procmap_query_ shared = {.size = sizeof(shared), .flags = AREA_IS_SHARED | AREA_OR_NEXT,
                                        .address = start};
        int fd = scan_take_fd(maps_or_null, pid, "maps");
        bool shares;

        if (fd < 0)
                return true;
        shares = ioctl(fd, PROCMAP_QUERY_, &shared) < 0 ? errno != ENOENT : shared.start < end;
        close(fd);
        return shares;
}

int scan_begin_plain(PageScan *s, pid_t pid, int *pagemap_or_null) {
        s->pid = pid;
        s->n_areas = 0;
        s->opened = s->plain = true;
        s->pagemap = scan_take_fd(pagemap_or_null, pid, "pagemap");
        return s->pagemap < 0 ? s->pagemap : 0;
}

int scan_begin(PageScan *s, pid_t pid) {
        int e;

        s->pagemap = -1;
        s->opened = true;
        s->plain = false;
        e = maps_read(s, pid);
        if (e < 0)
                return e;
        s->pagemap = scan_open(pid, "pagemap");
        return s->pagemap < 0 ? s->pagemap : 0;
}

void scan_end(PageScan *s) {
        if (!s->opened)
                return;
        if (s->pagemap >= 0)
                close(s->pagemap);
        s->opened = false;
}

void scan_deinit(PageScan *s) {
        scan_end(s);
        free(s->areas);
        free(s->frames.v);
        free(s->common_frames.v);
        free(s->kernel_frames.v);
        runs_deinit(&s->own);
        runs_deinit(&s->common);
        runs_deinit(&s->found);
        runs_deinit(&s->odd);
        *s = (PageScan){};
}

static int scan_read_entries(PageScan *s, uint64_t start, size_t n, uint64_t *ret) {
        size_t done = 0;

        if (s->beats)
                __atomic_fetch_add(s->beats, 1, __ATOMIC_RELAXED);
        while (done < n) {
                ssize_t k = pread(s->pagemap, ret + done, (n - done) * 8, (off_t)((start / SCAN_PAGE + done) * 8));

                if (k < 0 && errno == EINTR)
                        continue;
                if (k < 0)
                        return -errno;
                if (k == 0) {
                        memset(ret + done, 0, (n - done) * 8);
                        break;
                }
                done += (size_t)k / 8;
        }
        return 0;
}

/* Without swap, an entry that looks swapped is a mark without content (a guard page), or a page in a move by the
 * kernel. Reading the page tells the two apart, and waits for the move. */
static int scan_add_swapped(PageScan *s, uint64_t start, uint64_t end) {
        struct sysinfo info;

        if (!s->asked_swap)
                s->no_swap = sysinfo(&info) == 0 && info.totalswap == 0;
        s->asked_swap = true;
        if (s->no_swap)
                return runs_add(&s->odd, start, end);
        s->swapped_bytes += end - start;
        return 0;
}

static bool scan_is_readable(const PageScan *s, uint64_t address) {
        char byte;
        struct iovec to = {&byte, 1}, from = {(void *)(uintptr_t)address, 1};

        return process_vm_readv(s->pid, &to, 1, &from, 1, 0) == 1;
}

/* Returns the bytes of odd pages with content: in place now, for a further scan. Pages beyond ODD_MAX count, too. */
static uint64_t scan_moving_bytes(const PageScan *s) {
        uint64_t bytes = 0, n = 0;

        for (size_t i = 0; i < s->odd.n; i++)
                for (uint64_t a = s->odd.v[i].start; a < s->odd.v[i].end; a += SCAN_PAGE)
                        if (n++ >= ODD_MAX || scan_is_readable(s, a))
                                bytes += SCAN_PAGE;
        return bytes;
}

static int scan_list_by_ioctl(PageScan *s, uint64_t start, uint64_t end) {
        struct page_region_ regions[REGIONS];
        struct pm_scan_arg_ a = {
                .size = sizeof(a), .start = start, .end = end, .vec = (uintptr_t)regions, .vec_len = REGIONS,
                .category_inverted = IS_FILE | IS_ZERO_PAGE, .category_mask = IS_FILE | IS_ZERO_PAGE,
                .category_anyof_mask = IS_PRESENT | IS_SWAPPED, .return_mask = IS_SWAPPED,
        };

        while (a.start < end) {
                int n = ioctl(s->pagemap, PAGEMAP_SCAN_, &a), e = 0;

                if (n < 0 && errno == EINTR)
                        continue;
                if (n < 0)
                        return -errno;
                for (int i = 0; e == 0 && i < n; i++)
                        if (!(regions[i].categories & IS_SWAPPED))
                                e = runs_add(&s->found, regions[i].start, regions[i].end);
                        else
                                e = scan_add_swapped(s, regions[i].start, regions[i].end);
                if (e < 0)
                        return e;
                if (n == 0 && a.walk_end <= a.start)
                        return 0;
                a.start = a.walk_end;
        }
        return 0;
}

static int scan_list_area(PageScan *s, uint64_t start, uint64_t end) {
        uint64_t entries[WINDOW];

        while (start < end) {
                uint64_t n = (end - start) / SCAN_PAGE < WINDOW ? (end - start) / SCAN_PAGE : WINDOW;
                int e = scan_read_entries(s, start, n, entries);

                for (uint64_t i = 0; e == 0 && i < n; i++)
                        if (entries[i] & ENTRY_FILE)
                                continue;
                        else if (entries[i] & ENTRY_PRESENT)
                                e = runs_add(&s->found, start + i * SCAN_PAGE, start + (i + 1) * SCAN_PAGE);
                        else if (entries[i] & ENTRY_SWAPPED)
                                e = scan_add_swapped(s, start + i * SCAN_PAGE, start + (i + 1) * SCAN_PAGE);
                if (e < 0)
                        return e;
                start += n * SCAN_PAGE;
        }
        return 0;
}

/* Programs reserve far more addresses than there is memory, and each reserved page has an entry to read. */
static void scan_skip_reserved(PageScan *s) {
        size_t i = 0;
        int fd;

        while (i < s->n_areas && s->areas[i].end - s->areas[i].start <= RESERVED)
                i++;
        if (i == s->n_areas)
                return;
        fd = scan_open(s->pid, "smaps");
        if (fd < 0)
                return;
        maps_mark_empty(s, fd);
        close(fd);
}

bool scan_none_swapped(PageScan *s, const Area *a) {
        Area *own = &s->areas[a - s->areas];
        int fd = scan_open(s->pid, "smaps");

        if (fd < 0)
                return false;
        own->flags &= ~(uint32_t)AREA_EMPTY;
        maps_mark_empty(s, fd);
        close(fd);
        return own->flags & AREA_EMPTY;
}

static int scan_list_by_pagemap(PageScan *s, uint64_t start, uint64_t end) {
        scan_skip_reserved(s);
        for (size_t i = 0; i < s->n_areas; i++) {
                const Area *a = &s->areas[i];
                uint64_t from = a->start > start ? a->start : start, to = a->end < end ? a->end : end;
                int e = a->flags & (AREA_SHARED | AREA_KERNEL | AREA_EMPTY) || from >= to ? 0
                                                                                          : scan_list_area(s, from, to);

                if (e < 0)
                        return e;
        }
        return 0;
}

/* In /proc/PID/pagemap the kernel's own areas look like ordinary pages. */
static bool scan_is_kernel_area(const PageScan *s, uint64_t address) {
        size_t lo = 0, hi = s->n_areas;

        while (lo < hi) {
                size_t mid = (lo + hi) / 2;

                if (s->areas[mid].end <= address)
                        lo = mid + 1;
                else
                        hi = mid;
        }
        return lo < s->n_areas && s->areas[lo].start <= address && s->areas[lo].flags & AREA_KERNEL;
}

static int scan_keep_frame(Frames *f, uint64_t entry) {
        if (f->n == f->max && array_grow(&f->v, &f->max, 1024, sizeof(*f->v)) < 0)
                return -ENOMEM;
        f->v[f->n++] = entry;
        return 0;
}

/* Pages to read together, from the i-th run's start on: whole runs near each other, or a part of a run. */
static size_t scan_window(const Runs *r, size_t i, uint64_t start) {
        uint64_t end = r->v[i].end;

        while (i + 1 < r->n && r->v[i + 1].start - end <= NEAR * SCAN_PAGE &&
               r->v[i + 1].end - start <= WINDOW * SCAN_PAGE)
                end = r->v[++i].end;
        return (end - start) / SCAN_PAGE < WINDOW ? (size_t)((end - start) / SCAN_PAGE) : WINDOW;
}

/* Calls back with the pagemap entry of each page of the runs. */
static int scan_each_page(PageScan *s, const Runs *r,
                          int (*f)(PageScan *s, uint64_t address, uint64_t entry, void *arg), void *arg) {
        uint64_t entries[WINDOW], base = 0;
        size_t n = 0;

        for (size_t i = 0; i < r->n; i++)
                for (uint64_t a = r->v[i].start; a < r->v[i].end; a += SCAN_PAGE) {
                        int e = 0;

                        if (n == 0 || a >= base + n * SCAN_PAGE) {
                                base = a;
                                n = scan_window(r, i, a);
                                e = scan_read_entries(s, base, n, entries);
                        }
                        e = e ?: f(s, a, entries[(a - base) / SCAN_PAGE], arg);
                        if (e < 0)
                                return e;
                }
        return 0;
}

static int scan_sort_page(PageScan *s, uint64_t address, uint64_t entry, void *arg) {
        Runs *runs = &s->own;
        Frames *frames = &s->frames;
        int e = 0;

        if (!(entry & ENTRY_EXCLUSIVE)) {
                runs = scan_is_kernel_area(s, address) ? NULL : &s->common;
                frames = runs ? &s->common_frames : &s->kernel_frames;
        }
        if (runs)
                e = runs_add(runs, address, address + SCAN_PAGE);
        return e == 0 && entry & ENTRY_FRAME ? scan_keep_frame(frames, entry) : e;
}

/* Programs get addresses above 47 bits only on demand, and only on processors with more bits. */
static uint64_t scan_end_of_addresses(PageScan *s) {
        static const unsigned bits[] = {56, 52, 48, 47};

        for (size_t i = 0; s->addresses == 0 && i < sizeof(bits) / sizeof(*bits); i++) {
                uint64_t end = (1ULL << bits[i]) - SCAN_PAGE;
                struct page_region_ one;
                struct pm_scan_arg_ a = {.size = sizeof(a), .start = end - SCAN_PAGE, .end = end,
                                         .vec = (uintptr_t)&one, .vec_len = 1, .category_anyof_mask = IS_PRESENT,
                                         .return_mask = IS_PRESENT};

                if (ioctl(s->pagemap, PAGEMAP_SCAN_, &a) >= 0)
                        s->addresses = end;
        }
        return s->addresses;
}

static int scan_list_pages(PageScan *s, uint64_t start, uint64_t end) {
        s->asked_swap = false;
        for (;; s->no_ioctl = true) {
                int e;

                runs_clear(&s->found);
                runs_clear(&s->odd);
                s->swapped_bytes = 0;
                e = s->no_ioctl ? scan_list_by_pagemap(s, start, end) : scan_list_by_ioctl(s, start, end);
                if (s->no_ioctl || (e != -ENOTTY && e != -EINVAL))
                        return e;
        }
}

int scan_private(PageScan *s, uint64_t start, uint64_t end) {
        uint64_t moving = 1;
        int e = 0;

        runs_clear(&s->own);
        runs_clear(&s->common);
        s->frames.n = s->common_frames.n = s->kernel_frames.n = 0;
        if (s->plain && scan_end_of_addresses(s) == 0)
                return -EOPNOTSUPP;
        if (s->plain && end > s->addresses)
                end = s->addresses;
        for (size_t n = s->n_areas; n > 0; n--)
                if (!(s->areas[n - 1].flags & AREA_KERNEL)) {
                        end = end < s->areas[n - 1].end ? end : s->areas[n - 1].end;
                        break;
                }
        for (int i = 0; e == 0 && moving > 0 && i < LOOKS_MAX; i++) {
                e = scan_list_pages(s, start, end);
                moving = scan_moving_bytes(s);
        }
        s->swapped_bytes += moving;
        e = e ?: scan_each_page(s, &s->found, scan_sort_page, NULL);
        if (s->frames.n * SCAN_PAGE != s->own.bytes)
                s->frames.n = 0;
        if (s->common_frames.n * SCAN_PAGE != s->common.bytes)
                s->common_frames.n = 0;
        return e;
}

typedef struct Moved {
        const uint64_t *frames;
        size_t i;
        uint64_t bytes;
} Moved;

static int scan_compare_page(PageScan *s, uint64_t address, uint64_t entry, void *arg) {
        Moved *m = arg;

        if (!(entry & ENTRY_PRESENT) || (entry & ENTRY_FRAME) != (m->frames[m->i] & ENTRY_FRAME))
                m->bytes += SCAN_PAGE;
        m->i++;
        return 0;
}

uint64_t scan_moved_since(PageScan *s, const Runs *pages, const uint64_t *frames) {
        Moved m = {.frames = frames};

        if (scan_each_page(s, pages, scan_compare_page, &m) < 0)
                m.bytes += pages->bytes - m.i * SCAN_PAGE;
        return m.bytes;
}

uint64_t scan_moved(PageScan *s) {
        return s->frames.n > 0 ? scan_moved_since(s, &s->own, s->frames.v) : 0;
}

int scan_shared(PageScan *s, const Area *a, Runs *runs, Runs *absent) {
        uint64_t entries[WINDOW];
        int e = 0;

        s->guarded = false;
        for (uint64_t at = a->start; e == 0 && at < a->end;) {
                uint64_t n = (a->end - at) / SCAN_PAGE < WINDOW ? (a->end - at) / SCAN_PAGE : WINDOW;

                e = scan_read_entries(s, at, n, entries);
                for (uint64_t i = 0; e == 0 && i < n; i++, at += SCAN_PAGE) {
                        Runs *to = entries[i] & ENTRY_PRESENT ? runs : absent;

                        s->guarded |= (entries[i] & ENTRY_GUARD) != 0;
                        if (to)
                                e = runs_add(to, at, at + SCAN_PAGE);
                }
        }
        return e;
}
