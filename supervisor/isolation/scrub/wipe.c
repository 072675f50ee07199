#include "scrub/wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define SOURCE WIPE_SOURCE      /* small enough to stay in the first cache */
#define CHUNK (128U * 1024)     /* written, and read back while it is in the second cache */
#define PAGES (CHUNK / SCAN_PAGE)
#define THREAD_MIN (8ULL << 20) /* bytes from which a second thread pays */
#define THREADS_MAX 8

static const uint8_t zeros[SOURCE] __attribute__((aligned(64)));
static const uint8_t ones[SOURCE] __attribute__((aligned(64))) = {[0 ... SOURCE - 1] = 0xff};

int wipe_init(Wipe *w, unsigned passes) {
        *w = (Wipe){.passes = passes};
        if (passes < 1 || passes > WIPE_PASSES_MAX)
                return -EINVAL;
        if (passes < 3)
                return 0;
        w->random = malloc(SOURCE);
        if (!w->random)
                return -ENOMEM;
        for (size_t have = 0; have < SCAN_PAGE;) {
                ssize_t n = getrandom(w->random + have, SCAN_PAGE - have, 0);

                if (n < 0 && errno != EINTR)
                        return -errno;
                have += n > 0 ? (size_t)n : 0;
        }
        for (size_t at = SCAN_PAGE; at < SOURCE; at += SCAN_PAGE)
                memcpy(w->random + at, w->random, SCAN_PAGE);
        return 0;
}

void wipe_deinit(Wipe *w) {
        free(w->random);
        *w = (Wipe){};
}

const uint8_t *wipe_pattern(const Wipe *w, unsigned pass) {
        return pass % 3 == 0 ? zeros : pass % 3 == 1 ? ones : w->random;
}

/* Both aligned to 16. The C library's memcmp may compare byte by byte. */
static bool wipe_same_page(const uint8_t *a, const uint8_t *b) {
        typedef uint64_t Words __attribute__((vector_size(16), may_alias));
        const Words *x = (const Words *)a, *y = (const Words *)b;
        Words differ = {}, other = {};

        for (size_t i = 0; i < SCAN_PAGE / sizeof(Words); i += 4) {
                differ |= (x[i] ^ y[i]) | (x[i + 1] ^ y[i + 1]);
                other |= (x[i + 2] ^ y[i + 2]) | (x[i + 3] ^ y[i + 3]);
        }
        differ |= other;
        return (differ[0] | differ[1]) == 0;
}

/* A part of the work: `left` bytes from `at` in run `i`. */
typedef struct WipeJob {
        const Wipe *w;
        const PageScan *s;
        const Runs *runs;
        size_t i;
        uint64_t at, left;
        WipeCount count;
        uint8_t *buffer; /* CHUNK bytes */
        int mem;         /* /proc/PID/mem: -1 until needed, -2 when not available */
} WipeJob;

static int wipe_open_mem(WipeJob *j) {
        if (j->mem == -1) {
                j->mem = openat(AT_FDCWD, PROC_PATH("%d/mem", j->s->pid), O_RDWR | O_CLOEXEC);
                if (j->mem < 0)
                        j->mem = -2;
        }
        return j->mem;
}

static ssize_t wipe_copy_by_mem(WipeJob *j, bool write, uint8_t *bytes, size_t n, uint64_t at) {
        ssize_t k;

        if (wipe_open_mem(j) < 0)
                return -1;
        do
                k = write ? pwrite(j->mem, bytes, n, (off_t)at) : pread(j->mem, bytes, n, (off_t)at);
        while (k < 0 && errno == EINTR);
        return k;
}

/* Some runs, or parts of runs, of at most CHUNK bytes together. */
typedef struct WipeBatch {
        struct iovec v[PAGES];
        size_t n, bytes;
} WipeBatch;
_Static_assert(PAGES == 32, "transfer() has a bit for each page");

/* Copies n bytes at `address`, position `at` of the batch. Returns as wipe_transfer(). */
static uint32_t wipe_transfer_by_mem(WipeJob *j, bool write, uint8_t *local, size_t period, size_t at, uint64_t address,
                                     size_t n) {
        uint32_t failed = 0;

        for (size_t end = at + n; at < end;) {
                size_t part = end - at < SOURCE ? end - at : SOURCE;
                ssize_t k = wipe_copy_by_mem(j, write, local + (period == SOURCE ? 0 : at), part, address);

                k = k < 0 ? 0 : k - k % (ssize_t)SCAN_PAGE;
                if (k == 0) {
                        failed |= 1U << (at / SCAN_PAGE);
                        k = SCAN_PAGE;
                }
                at += (size_t)k;
                address += (uint64_t)k;
        }
        return failed;
}

/* Copies between `local`, which repeats every `period` bytes, and the pages of the batch. Where the quick call
 * stops, the rest of the run goes through /proc/PID/mem. Returns the pages that could not be copied. */
static uint32_t wipe_transfer(WipeJob *j, const WipeBatch *b, bool write, uint8_t *local, size_t period) {
        struct iovec from[CHUNK / SOURCE], to[PAGES];
        size_t at = 0, i = 0, off = 0; /* position in the batch; in b->v[i] */
        uint32_t failed = 0;

        while (at < b->bytes) {
                size_t n_from = 0, n = b->n - i;
                ssize_t done;

                memcpy(to, b->v + i, n * sizeof(*to));
                to[0].iov_base = (uint8_t *)to[0].iov_base + off;
                to[0].iov_len -= off;
                for (size_t k = at; k < b->bytes; n_from++) {
                        size_t part = b->bytes - k < SOURCE ? b->bytes - k : SOURCE;

                        from[n_from] = (struct iovec){local + (period == SOURCE ? 0 : k), part};
                        k += part;
                }
                done = write ? process_vm_writev(j->s->pid, from, n_from, to, n, 0)
                             : process_vm_readv(j->s->pid, from, n_from, to, n, 0);
                if (done < 0)
                        done = 0;
                done -= done % SCAN_PAGE;
                at += (size_t)done;
                if (at < b->bytes) {
                        for (off += (size_t)done; off >= b->v[i].iov_len; off -= b->v[i++].iov_len)
                                ;
                        failed |= wipe_transfer_by_mem(j, write, local, period, at,
                                                       (uint64_t)(uintptr_t)b->v[i].iov_base + off,
                                                       b->v[i].iov_len - off);
                        at += b->v[i++].iov_len - off;
                        off = 0;
                }
        }
        return failed;
}

static void wipe_take_batch(WipeJob *j, WipeBatch *b) {
        b->n = b->bytes = 0;
        while (b->n < PAGES && b->bytes < CHUNK && j->left > 0) {
                const AddressRun *r = &j->runs->v[j->i];
                uint64_t n = r->end - j->at;

                n = n < j->left ? n : j->left;
                n = n < CHUNK - b->bytes ? n : CHUNK - b->bytes;
                b->v[b->n++] = (struct iovec){(void *)(uintptr_t)j->at, n};
                b->bytes += n;
                j->at += n;
                j->left -= n;
                if (j->at == r->end && ++j->i < j->runs->n)
                        j->at = j->runs->v[j->i].start;
        }
}

static uint8_t buffers[THREADS_MAX][CHUNK] __attribute__((aligned(64)));
static size_t used; /* bytes of the first buffer */

static void wipe_verify_batch(WipeJob *j, const WipeBatch *b, const uint8_t *want, uint32_t unwritten) {
        uint32_t unread = wipe_transfer(j, b, false, j->buffer, CHUNK);

        if (j->buffer == buffers[0])
                used = used < b->bytes ? b->bytes : used;
        for (size_t at = 0; at < b->bytes; at += SCAN_PAGE) {
                uint32_t bit = 1U << (at / SCAN_PAGE);

                if (unread & bit)
                        j->count.denied += SCAN_PAGE;
                else if (unwritten & bit)
                        *(wipe_same_page(j->buffer + at, zeros) ? &j->count.empty : &j->count.denied) += SCAN_PAGE;
                else
                        *(wipe_same_page(j->buffer + at, want) ? &j->count.overwritten : &j->count.mismatched) +=
                                SCAN_PAGE;
        }
}

static void *wipe_work(void *arg) {
        WipeJob *j = arg;
        WipeBatch b;

        while (j->left > 0) {
                uint32_t unwritten = 0;

                wipe_take_batch(j, &b);
                for (unsigned pass = 0; pass < j->w->passes; pass++)
                        unwritten |= wipe_transfer(j, &b, true, (uint8_t *)wipe_pattern(j->w, pass), SOURCE);
                wipe_verify_batch(j, &b, wipe_pattern(j->w, j->w->passes - 1), unwritten);
                if (j->w->beats)
                        __atomic_fetch_add(j->w->beats, 1, __ATOMIC_RELAXED);
        }
        if (j->mem >= 0)
                close(j->mem);
        return NULL;
}

void wipe_forget(void) {
        explicit_bzero(buffers[0], used);
        used = 0;
}

static size_t wipe_threads(uint64_t bytes) {
        cpu_set_t set;
        size_t n = bytes / THREAD_MIN;

        if (n < 2 || sched_getaffinity(0, sizeof(set), &set) < 0)
                return 1;
        n = n < (size_t)CPU_COUNT(&set) ? n : (size_t)CPU_COUNT(&set);
        return n < THREADS_MAX ? n : THREADS_MAX;
}

/* Shares the runs out, each job with about the same number of bytes. */
static void wipe_share_out(WipeJob *jobs, size_t n, const Wipe *w, const PageScan *s, const Runs *runs) {
        uint64_t each = runs->bytes / SCAN_PAGE / n * SCAN_PAGE, left = runs->bytes;
        size_t i = 0;
        uint64_t at = runs->v[0].start;

        for (size_t k = 0; k < n; k++) {
                uint64_t skip = k == n - 1 ? left : each;

                jobs[k] = (WipeJob){.w = w, .s = s, .runs = runs, .i = i, .at = at, .left = skip, .buffer = buffers[k],
                                    .mem = -1};
                left -= skip;
                while (left > 0 && skip >= runs->v[i].end - at) {
                        skip -= runs->v[i].end - at;
                        at = runs->v[++i].start;
                }
                at += skip;
        }
}

void wipe_runs(const Wipe *w, const PageScan *s, const Runs *runs, WipeCount *count) {
        WipeJob jobs[THREADS_MAX];
        pthread_t threads[THREADS_MAX];
        size_t n, started = 1;

        if (runs->bytes == 0)
                return;
        n = wipe_threads(runs->bytes);
        wipe_share_out(jobs, n, w, s, runs);
        while (started < n && pthread_create(&threads[started], NULL, wipe_work, &jobs[started]) == 0)
                started++;
        wipe_work(&jobs[0]);
        for (size_t k = 1; k < n; k++) {
                if (k < started)
                        pthread_join(threads[k], NULL);
                else
                        wipe_work(&jobs[k]);
        }
        for (size_t k = 0; k < n; k++) {
                count->overwritten += jobs[k].count.overwritten;
                count->denied += jobs[k].count.denied;
                count->mismatched += jobs[k].count.mismatched;
                count->empty += jobs[k].count.empty;
        }
}

uint64_t wipe_count_nonzero(const PageScan *s, const Runs *runs) {
        WipeJob j = {.s = s, .runs = runs, .left = runs->bytes, .buffer = buffers[0], .mem = -1};
        uint64_t bytes = 0;
        WipeBatch b;

        if (runs->bytes == 0)
                return 0;
        j.at = runs->v[0].start;
        while (j.left > 0) {
                uint32_t unread;

                wipe_take_batch(&j, &b);
                unread = wipe_transfer(&j, &b, false, j.buffer, CHUNK);
                for (size_t at = 0; at < b.bytes; at += SCAN_PAGE)
                        if (unread & 1U << (at / SCAN_PAGE) || !wipe_same_page(j.buffer + at, zeros))
                                bytes += SCAN_PAGE;
                memset(j.buffer, 0, b.bytes); /* the process's content */
        }
        if (j.mem >= 0)
                close(j.mem);
        return bytes;
}

bool wipe_is_in_memory(int fd) {
        struct statfs st;

        return fstatfs(fd, &st) == 0 && st.f_type == TMPFS_MAGIC;
}

int wipe_open(int folder, const char *name) {
        const int flags = O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
        int fd = openat(folder, name, flags);

        if (fd < 0 && errno == EACCES && fchmodat(folder, name, 0600, 0) == 0)
                fd = openat(folder, name, flags);
        return fd;
}

static int wipe_write_extent(int fd, const uint8_t *from, off_t start, off_t end) {
        while (start < end) {
                ssize_t k =
                        pwrite(fd, from, end - start < (off_t)WIPE_SOURCE ? (size_t)(end - start) : WIPE_SOURCE, start);

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

static void wipe_verify_extent(int fd, const uint8_t *want, off_t start, off_t end, WipeCount *count) {
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
                if (count->mismatched > 0)
                        explicit_bzero(pages, sizeof(pages)); /* the file's content */
        }
}

/* The data of a file up to the size that it had at the beginning: a living region can append without end. */
typedef struct WipeExtents {
        int fd;
        off_t at, size;
        off_t start, end; /* the present extent, in whole pages */
} WipeExtents;

/* Returns 1 with an extent, 0 at the end, -errno. */
static int wipe_next_extent(WipeExtents *x) {
        off_t start = x->at < x->size ? lseek(x->fd, x->at, SEEK_DATA) : x->size, end;

        if (start >= x->size || (start < 0 && errno == ENXIO))
                return 0;
        end = start < 0 ? -1 : lseek(x->fd, start, SEEK_HOLE);
        if (end < 0) { /* the file system does not list holes */
                start = x->at;
                end = x->size;
        }
        x->start = start - start % (off_t)SCAN_PAGE;
        end = end < x->size ? end : x->size;
        x->end = x->at = (end + (off_t)SCAN_PAGE - 1) / (off_t)SCAN_PAGE * (off_t)SCAN_PAGE;
        return 1;
}

/* Writes all extents, also after a failed write. Returns 0 or -errno. */
static int wipe_pass(WipeExtents x, const uint8_t *pattern, bool forced) {
        int e, failed = 0;

        while ((e = wipe_next_extent(&x)) > 0) {
                e = wipe_write_extent(x.fd, pattern, x.start, x.end);
                failed = failed ?: e;
        }
        /* once, not for each extent: a region chooses the number of extents */
        if (forced && fdatasync(x.fd) < 0)
                failed = failed ?: -errno;
        return e ?: failed;
}

int wipe_file(const Wipe *w, int fd, WipeCount *count) {
        bool disk = !wipe_is_in_memory(fd);
        WipeExtents x = {.fd = fd};
        struct stat st;
        int e, failed = 0;

        if (fstat(fd, &st) < 0)
                return -errno;
        x.size = st.st_size;
        for (unsigned pass = 0; pass < w->passes; pass++) {
                e = wipe_pass(x, wipe_pattern(w, pass), disk && (!w->forced_once || pass + 1 == w->passes));
                failed = failed ?: e;
        }
        while ((e = wipe_next_extent(&x)) > 0)
                if (failed)
                        count->denied += (uint64_t)(x.end - x.start);
                else
                        wipe_verify_extent(fd, wipe_pattern(w, w->passes - 1), x.start, x.end, count);
        return e;
}

uint64_t wipe_range(const Wipe *w, int fd, uint64_t from, uint64_t to) {
        uint8_t back[WIPE_SOURCE];
        uint64_t good = 0;
        size_t n;

        for (unsigned pass = 0; pass < w->passes; pass++)
                for (uint64_t at = from; at < to; at += n) {
                        n = to - at < sizeof(back) ? to - at : sizeof(back);
                        if (pwrite(fd, wipe_pattern(w, pass), n, (off_t)at) < 0)
                                return 0;
                }
        for (uint64_t at = from; at < to; at += n) {
                n = to - at < sizeof(back) ? to - at : sizeof(back);
                if (pread(fd, back, n, (off_t)at) == (ssize_t)n && memcmp(back, wipe_pattern(w, w->passes - 1), n) == 0)
                        good += n;
        }
        if (good != to - from)
                explicit_bzero(back, sizeof(back)); /* the file's content */
        return good;
}

void wipe_drain(void) {
        int node = 0, status;
        void *page = NULL;

        syscall(SYS_move_pages, 0, 0UL, &page, &node, &status, 0);
}
