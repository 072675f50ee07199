/* Runs: CLI. */
#include "output/output.h"

#include "base/dirents.h"
#include "base/io.h"
#include "manifest/vocabulary.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OUTPUT_GONE_TRIES 64 /* segments that the writer removes while the reader looks for the oldest */

/* The number of a segment, or 0. */
static uint64_t output_number(const char *name) {
        char *end;
        unsigned long long n;

        if (*name < '1' || *name > '9')
                return 0;
        errno = 0;
        n = strtoull(name, &end, 10);
        return *end || errno ? 0 : n;
}

/* The least segment from `least` on; *ret 0: none. */
static int output_find(const OutputReader *r, uint64_t least, uint64_t *ret) {
        int copy = openat(r->folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
        _cleanup_closedir_ DIR *d = copy >= 0 ? fdopendir(copy) : NULL;
        const struct dirent *e;

        *ret = 0;
        if (!d) {
                const int error = errno;

                closep(&copy);
                return error == ENOENT ? 0 : -error;
        }
        while ((e = readdir(d))) {
                const uint64_t n = output_number(e->d_name);

                if (n >= least && n > 0 && (*ret == 0 || n < *ret))
                        *ret = n;
        }
        return 0;
}

/* Opens the least segment from `least` on. Returns 1, 0 without one, OUTPUT_NEXT_DAMAGED, -errno. */
static int output_open_segment(OutputReader *r, uint64_t least, uint64_t *ret_before) {
        for (unsigned i = 0; i < OUTPUT_GONE_TRIES; i++) {
                OutputHead head;
                uint64_t n;
                char name[24];
                ssize_t k;
                int fd, e = output_find(r, least, &n);

                if (e < 0 || n == 0)
                        return e;
                snprintf(name, sizeof(name), "%" PRIu64, n);
                fd = openat(r->folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
                if (fd < 0 && errno == ENOENT)
                        continue;
                if (fd < 0)
                        return -errno;
                k = pread(fd, &head, sizeof(head), 0);
                if (k >= 0 && k < (ssize_t)sizeof(head)) { /* just being made */
                        close(fd);
                        return 0;
                }
                if (k < 0 || memcmp(head.magic, OUTPUT_MAGIC, sizeof(head.magic)) != 0) {
                        const int error = errno;
                        const bool removed = k > 0 && faccessat(r->folder, name, F_OK, 0) < 0;

                        close(fd);
                        if (removed)
                                continue;
                        return k < 0 ? -error : OUTPUT_NEXT_DAMAGED;
                }
                closep(&r->fd);
                r->fd = fd;
                r->segment = n;
                r->at = sizeof(head);
                *ret_before = head.before;
                return 1;
        }
        return 0;
}

int output_open(const char *store_dir, const char *region, OutputReader *ret) {
        _cleanup_free_ char *path = text_printf("%s/output/%s", store_dir, region), *text = NULL;
        _cleanup_output_ OutputReader r = OUTPUT_READER_NULL;
        size_t n;
        int e;

        if (!path || !(r.bytes = malloc(OUTPUT_FRAME_MAX)))
                return -ENOMEM;
        r.folder = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        if (r.folder < 0)
                return errno == ENOENT ? OUTPUT_E_NONE : -errno;
        e = io_read_file(r.folder, "supervisor", 32, &text, &n);
        if (e == -ENOENT) /* a drop was killed */
                return OUTPUT_E_NONE;
        if (e < 0)
                return e == -EFBIG ? OUTPUT_E_DAMAGED : e;
        if (n < 4 || strcmp(text + n - 1, "\n") != 0 || text[n - 3] != ' ')
                return OUTPUT_E_DAMAGED;
        r.terminal = text[n - 2] == '1';
        text[n - 3] = 0;
        if ((r.supervisor = output_number(text)) == 0)
                return OUTPUT_E_DAMAGED;
        *ret = r;
        r = OUTPUT_READER_NULL;
        return 0;
}

/* Reads a frame of the present segment. Returns 1, 0 when the segment has no more, OUTPUT_NEXT_DAMAGED, -errno. */
static int output_read_frame(OutputReader *r, OutputPiece *ret) {
        ssize_t k = pread(r->fd, &ret->frame, sizeof(ret->frame), (off_t)r->at);
        const OutputFrame *f = &ret->frame;

        if (k < 0)
                return -errno;
        if (k < (ssize_t)sizeof(*f))
                return 0;
        if (f->kind == 0 && f->n == 0) /* overwritten meanwhile */
                return 0;
        if (f->kind < OUTPUT_OUT || f->kind > OUTPUT_END || f->n > OUTPUT_FRAME_MAX ||
            (f->kind >= OUTPUT_LOST && f->n > 0))
                return OUTPUT_NEXT_DAMAGED;
        k = f->n > 0 ? pread(r->fd, r->bytes, f->n, (off_t)(r->at + sizeof(*f))) : 0;
        if (k < 0)
                return -errno;
        if (k < (ssize_t)f->n)
                return 0; /* just being written */
        r->at += sizeof(*f) + f->n;
        ret->bytes = r->bytes;
        return 1;
}

int output_next(OutputReader *r, OutputPiece *ret) {
        *ret = (OutputPiece){0};
        while (!r->ended) {
                uint64_t newer, before = 0;
                /* Looked for first: a segment with a later one is complete. */
                int e = output_find(r, r->segment + 1, &newer);

                if (e == 0 && r->fd >= 0)
                        e = output_read_frame(r, ret);
                if (e == 1) {
                        ret->dropped = r->gap;
                        r->gap = 0;
                        r->seen += ret->frame.kind == OUTPUT_LOST ? ret->frame.lost : ret->frame.n;
                        r->ended = ret->frame.kind == OUTPUT_END;
                        return !r->ended || ret->dropped > 0;
                }
                if (e != 0 || newer == 0)
                        return e;
                e = output_open_segment(r, newer, &before);
                if (e != 1)
                        return e;
                if (before > r->seen)
                        r->gap += before - r->seen;
                r->seen = MAX(r->seen, before);
        }
        return 0;
}

bool output_is_gone(const OutputReader *r) {
        return faccessat(r->folder, "supervisor", F_OK, 0) < 0;
}

bool output_is_over(const OutputReader *r) {
        return faccessat(r->folder, "ended", F_OK, 0) == 0;
}

void output_close(OutputReader *r) {
        if (r->bytes)
                explicit_bzero(r->bytes, OUTPUT_FRAME_MAX);
        free(r->bytes);
        closep(&r->fd);
        closep(&r->folder);
        *r = OUTPUT_READER_NULL;
}
