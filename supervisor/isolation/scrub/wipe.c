#include "scrub/wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#define SOURCE WIPE_SOURCE      /* small, so that it stays in the first cache */
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

/* The C library's memcmp may go byte by byte. */
bool wipe_same_page(const uint8_t *a, const uint8_t *b) {
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

/* One part of the work: from `at` in run `i`, `left` bytes. */
typedef struct Job {
        const Wipe *w;
        const Scan *s;
        const Runs *runs;
        size_t i;
        uint64_t at, left;
        WipeCount count;
        uint8_t *buffer; /* CHUNK bytes */
        int mem;         /* /proc/PID/mem: -1 until needed, -2 when it cannot be had */
} Job;

static int open_mem(Job *j) {
        char path[64];

        if (j->mem == -1) {
                snprintf(path, sizeof(path), "/proc/%d/mem", (int)j->s->pid);
                j->mem = openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC);
                if (j->mem < 0)
                        j->mem = -2;
        }
        return j->mem;
}

static ssize_t slow(Job *j, bool write, uint8_t *bytes, size_t n, uint64_t at) {
        ssize_t k;

        if (open_mem(j) < 0)
                return -1;
        do
                k = write ? pwrite(j->mem, bytes, n, (off_t)at) : pread(j->mem, bytes, n, (off_t)at);
        while (k < 0 && errno == EINTR);
        return k;
}

/* Some runs, or parts, whose bytes are together at most CHUNK. */
typedef struct Batch {
        struct iovec v[PAGES];
        size_t n, bytes;
} Batch;
_Static_assert(PAGES == 32, "transfer() has a bit for each page");

/* n bytes at `address`, which are `at` in the batch. Returns as transfer(). */
static uint32_t transfer_slowly(Job *j, bool write, uint8_t *local, size_t period, size_t at, uint64_t address, size_t n) {
        uint32_t failed = 0;

        for (size_t end = at + n; at < end;) {
                size_t part = end - at < SOURCE ? end - at : SOURCE;
                ssize_t k = slow(j, write, local + (period == SOURCE ? 0 : at), part, address);

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

/* Copies between `local`, which is used again every `period` bytes, and the pages of the batch; where the quick call stops, the
 * rest of that run goes the slow way. Returns the pages that could not be copied. */
static uint32_t transfer(Job *j, const Batch *b, bool write, uint8_t *local, size_t period) {
        struct iovec from[CHUNK / SOURCE], to[PAGES];
        size_t at = 0, i = 0, off = 0; /* in the batch; in b->v[i] */
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
                done = write ? process_vm_writev(j->s->pid, from, n_from, to, n, 0) : process_vm_readv(j->s->pid, from, n_from, to, n, 0);
                if (done < 0)
                        done = 0;
                done -= done % SCAN_PAGE;
                at += (size_t)done;
                if (at < b->bytes) {
                        for (off += (size_t)done; off >= b->v[i].iov_len; off -= b->v[i++].iov_len)
                                ;
                        failed |= transfer_slowly(j, write, local, period, at, (uint64_t)(uintptr_t)b->v[i].iov_base + off, b->v[i].iov_len - off);
                        at += b->v[i++].iov_len - off;
                        off = 0;
                }
        }
        return failed;
}

static void take_batch(Job *j, Batch *b) {
        b->n = b->bytes = 0;
        while (b->n < PAGES && b->bytes < CHUNK && j->left > 0) {
                const Run *r = &j->runs->v[j->i];
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
static size_t used; /* of the first */

static void verify_batch(Job *j, const Batch *b, const uint8_t *want, uint32_t unwritten) {
        uint32_t unread = transfer(j, b, false, j->buffer, CHUNK);

        if (j->buffer == buffers[0])
                used = used < b->bytes ? b->bytes : used;
        for (size_t at = 0; at < b->bytes; at += SCAN_PAGE) {
                uint32_t bit = 1U << (at / SCAN_PAGE);

                if (unread & bit)
                        j->count.denied += SCAN_PAGE;
                else if (unwritten & bit)
                        *(wipe_same_page(j->buffer + at, zeros) ? &j->count.empty : &j->count.denied) += SCAN_PAGE;
                else
                        *(wipe_same_page(j->buffer + at, want) ? &j->count.overwritten : &j->count.mismatched) += SCAN_PAGE;
        }
}

static void *work(void *arg) {
        Job *j = arg;
        Batch b;

        while (j->left > 0) {
                uint32_t unwritten = 0;

                take_batch(j, &b);
                for (unsigned pass = 0; pass < j->w->passes; pass++)
                        unwritten |= transfer(j, &b, true, (uint8_t *)wipe_pattern(j->w, pass), SOURCE);
                verify_batch(j, &b, wipe_pattern(j->w, j->w->passes - 1), unwritten);
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

static size_t threads_for(uint64_t bytes) {
        cpu_set_t set;
        size_t n = bytes / THREAD_MIN;

        if (n < 2 || sched_getaffinity(0, sizeof(set), &set) < 0)
                return 1;
        n = n < (size_t)CPU_COUNT(&set) ? n : (size_t)CPU_COUNT(&set);
        return n < THREADS_MAX ? n : THREADS_MAX;
}

/* Shares the runs out: each job gets about the same number of bytes. */
static void share(Job *jobs, size_t n, const Wipe *w, const Scan *s, const Runs *runs) {
        uint64_t each = runs->bytes / SCAN_PAGE / n * SCAN_PAGE, left = runs->bytes;
        size_t i = 0;
        uint64_t at = runs->v[0].start;

        for (size_t k = 0; k < n; k++) {
                uint64_t skip = k == n - 1 ? left : each;

                jobs[k] = (Job){.w = w, .s = s, .runs = runs, .i = i, .at = at, .left = skip, .buffer = buffers[k], .mem = -1};
                left -= skip;
                while (left > 0 && skip >= runs->v[i].end - at) {
                        skip -= runs->v[i].end - at;
                        at = runs->v[++i].start;
                }
                at += skip;
        }
}

void wipe_runs(const Wipe *w, const Scan *s, const Runs *runs, WipeCount *count) {
        Job jobs[THREADS_MAX];
        pthread_t threads[THREADS_MAX];
        size_t n, started = 1;

        if (runs->bytes == 0)
                return;
        n = threads_for(runs->bytes);
        share(jobs, n, w, s, runs);
        while (started < n && pthread_create(&threads[started], NULL, work, &jobs[started]) == 0)
                started++;
        work(&jobs[0]);
        for (size_t k = 1; k < n; k++) {
                if (k < started)
                        pthread_join(threads[k], NULL);
                else
                        work(&jobs[k]);
        }
        for (size_t k = 0; k < n; k++) {
                count->overwritten += jobs[k].count.overwritten;
                count->denied += jobs[k].count.denied;
                count->mismatched += jobs[k].count.mismatched;
                count->empty += jobs[k].count.empty;
        }
}

uint64_t wipe_count_nonzero(const Scan *s, const Runs *runs) {
        Job j = {.s = s, .runs = runs, .left = runs->bytes, .buffer = buffers[0], .mem = -1};
        uint64_t bytes = 0;
        Batch b;

        if (runs->bytes == 0)
                return 0;
        j.at = runs->v[0].start;
        while (j.left > 0) {
                uint32_t unread;

                take_batch(&j, &b);
                unread = transfer(&j, &b, false, j.buffer, CHUNK);
                for (size_t at = 0; at < b.bytes; at += SCAN_PAGE)
                        if (unread & 1U << (at / SCAN_PAGE) || !wipe_same_page(j.buffer + at, zeros))
                                bytes += SCAN_PAGE;
                memset(j.buffer, 0, b.bytes); /* it was the process's content */
        }
        if (j.mem >= 0)
                close(j.mem);
        return bytes;
}
