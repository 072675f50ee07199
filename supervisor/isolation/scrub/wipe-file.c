#include "scrub/wipe.h"

#include <errno.h>
#include <sys/statfs.h>
#include <unistd.h>

#define TMPFS_TYPE 0x01021994

static bool in_memory(int fd) {
        struct statfs st;

        return fstatfs(fd, &st) == 0 && st.f_type == TMPFS_TYPE;
}

static int write_extent(int fd, const uint8_t *from, off_t start, off_t end) {
        while (start < end) {
                ssize_t k = pwrite(fd, from, end - start < (off_t)WIPE_SOURCE ? (size_t)(end - start) : WIPE_SOURCE, start);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        return k < 0 ? -errno : -EIO;
                start += k - k % (ssize_t)SCAN_PAGE;
                if (k < (ssize_t)SCAN_PAGE)
                        return -ENOSPC;
        }
        return 0;
}

static void verify_extent(int fd, const uint8_t *want, off_t start, off_t end, WipeCount *count) {
        uint8_t pages[WIPE_SOURCE] __attribute__((aligned(64)));

        for (ssize_t n; start < end; start += n) {
                ssize_t k;

                n = end - start < (off_t)sizeof(pages) ? (ssize_t)(end - start) : (ssize_t)sizeof(pages);
                do
                        k = pread(fd, pages, (size_t)n, start);
                while (k < 0 && errno == EINTR);
                if (k != n)
                        count->denied += (uint64_t)n;
                for (ssize_t at = 0; k == n && at < n; at += (ssize_t)SCAN_PAGE)
                        *(wipe_same_page(pages + at, want) ? &count->overwritten : &count->mismatched) += SCAN_PAGE;
        }
}

/* Whole pages. Returns 1 with an extent, 0 at the end, -errno. */
static int next_extent(int fd, off_t *at, off_t *ret_start, off_t *ret_end) {
        off_t start = lseek(fd, *at, SEEK_DATA), end;

        if (start < 0)
                return errno == ENXIO ? 0 : -errno;
        end = lseek(fd, start, SEEK_HOLE);
        if (end < 0)
                return -errno;
        *ret_start = start - start % (off_t)SCAN_PAGE;
        *ret_end = *at = (end + (off_t)SCAN_PAGE - 1) / (off_t)SCAN_PAGE * (off_t)SCAN_PAGE;
        return *ret_end > *ret_start;
}

int wipe_file(const Wipe *w, int fd, WipeCount *count) {
        bool sync = !in_memory(fd);
        off_t at = 0, start = 0, end = 0;
        int e;

        while ((e = next_extent(fd, &at, &start, &end)) > 0) {
                int k = 0;

                for (unsigned pass = 0; k == 0 && pass < w->passes; pass++) {
                        k = write_extent(fd, wipe_pattern(w, pass), start, end);
                        if (k == 0 && sync && fdatasync(fd) < 0)
                                k = -errno;
                }
                if (k == 0)
                        verify_extent(fd, wipe_pattern(w, w->passes - 1), start, end, count);
                else
                        count->denied += (uint64_t)(end - start);
        }
        return e;
}
