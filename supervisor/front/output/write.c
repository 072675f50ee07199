/* Runs: supervisor. */
#include "output/output.h"

#include "base/clock.h"
#include "base/dirents.h"
#include "base/io.h"
#include "manifest/vocabulary.h"
#include "scrub/kept.h"
#include "scrub/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

struct OutputWriter {
        int folder, fd;
        uint64_t segment, oldest; /* numbers */
        uint64_t size;            /* bytes of the segment */
        uint64_t total;           /* bytes of output so far, kept or not */
        uint64_t lost;            /* bytes of output that no frame tells yet */
};

static void output_name(uint64_t segment, char ret[static 24]) {
        snprintf(ret, 24, "%" PRIu64, segment);
}

/* A reader may have the file open: the reader then finds zeros. */
static void output_wipe_segment(const OutputWriter *w, uint64_t segment) {
        _cleanup_close_ int fd = -1;
        char name[24];

        output_name(segment, name);
        fd = openat(w->folder, name, O_WRONLY | O_NOFOLLOW | O_CLOEXEC);
        if (fd >= 0)
                io_wipe(fd);
        unlinkat(w->folder, name, 0);
}

static int output_new_segment(OutputWriter *w) {
        OutputHead head = {.magic = OUTPUT_MAGIC, .before = w->total};
        char name[24];
        int fd, r;

        output_name(w->segment + 1, name);
        fd = openat(w->folder, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        r = io_write_full(fd, &head, sizeof(head));
        if (r < 0) {
                close(fd);
                unlinkat(w->folder, name, 0);
                return r;
        }
        closep(&w->fd);
        w->fd = fd;
        w->segment++;
        w->size = sizeof(head);
        for (; w->segment - w->oldest >= OUTPUT_SEGMENTS_MAX; w->oldest++)
                output_wipe_segment(w, w->oldest);
        return 0;
}

/* A frame is there whole, or not at all. */
static int output_put(OutputWriter *w, OutputFrame f, const char *bytes) {
        const struct iovec v[] = {{.iov_base = &f, .iov_len = sizeof(f)}, {.iov_base = (char *)bytes, .iov_len = f.n}};
        const size_t n = sizeof(f) + f.n;
        ssize_t k;
        int r = w->fd < 0 || w->size + n > OUTPUT_SEGMENT ? output_new_segment(w) : 0;

        if (r < 0)
                return r;
        k = pwritev(w->fd, v, 2, (off_t)w->size);
        if (k != (ssize_t)n) {
                r = k < 0 ? -errno : -ENOSPC;
                return ftruncate(w->fd, (off_t)w->size) < 0 ? -errno : r;
        }
        w->size += n;
        return 0;
}

static int output_tell_lost(OutputWriter *w) {
        int r = w->lost > 0 ? output_put(w, (OutputFrame){.kind = OUTPUT_LOST, .usec = clock_real_usec(), .lost = w->lost}, NULL)
                            : 0;

        if (r == 0)
                w->lost = 0;
        return r;
}

void output_add(OutputWriter *w, OutputKind kind, const char *bytes, size_t n) {
        while (n > 0) {
                const size_t k = MIN(n, (size_t)OUTPUT_FRAME_MAX);
                const OutputFrame f = {.kind = kind, .n = (uint32_t)k, .usec = clock_real_usec()};

                if (output_tell_lost(w) < 0 || output_put(w, f, bytes) < 0)
                        w->lost += k;
                w->total += k;
                bytes += k;
                n -= k;
        }
}

void output_end(OutputWriter *w) {
        if (!w)
                return;
        (void)output_tell_lost(w);
        (void)output_put(w, (OutputFrame){.kind = OUTPUT_END, .usec = clock_real_usec()}, NULL);
        closep(&w->fd);
        w->fd = openat(w->folder, "ended", O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
        closep(&w->fd);
        closep(&w->folder);
        free(w);
}

static int output_open_new(const char *store_dir, const char *region) {
        _cleanup_free_ char *all = text_printf("%s/output", store_dir), *path = text_printf("%s/output/%s", store_dir, region);
        int fd;

        if (!all || !path)
                return -ENOMEM;
        if ((mkdir(all, 0700) < 0 && errno != EEXIST) || mkdir(path, 0700) < 0)
                return -errno;
        fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        return fd < 0 ? -errno : fd;
}

int output_begin(const char *store_dir, const char *region, uint64_t lock, bool terminal, OutputWriter **ret) {
        OutputWriter *w = malloc(sizeof(*w));
        char text[32];
        int r;

        if (!w)
                return -ENOMEM;
        *w = (OutputWriter){.folder = output_open_new(store_dir, region), .fd = -1, .oldest = 1};
        snprintf(text, sizeof(text), "%" PRIu64 " %d\n", lock, terminal);
        r = w->folder < 0 ? w->folder : io_write_file(w->folder, "supervisor", text, strlen(text), 0600, false);
        if (r == 0)
                r = output_new_segment(w);
        if (r < 0) {
                if (w->folder >= 0)
                        output_drop(store_dir, region);
                closep(&w->fd);
                closep(&w->folder);
                free(w);
                return r;
        }
        *ret = w;
        return 0;
}

int output_drop(const char *store_dir, const char *region) {
        _cleanup_free_ char *path = text_printf("%s/output/%s", store_dir, region);
        _cleanup_close_ int fd = path ? open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
        ScratchWiped said = {0};
        int r;

        if (fd < 0)
                return !path ? -ENOMEM : errno == ENOENT ? OUTPUT_E_NONE
                                                         : -errno;
        r = scratch_wipe(fd, 1, &(ScratchSum){0}, &said);
        return r < 0 ? r : rmdir(path) < 0 ? -errno
                                           : 0;
}

int output_newest(const char *store_dir, char ret[static REGION_ID_MAX]) {
        _cleanup_free_ char *path = text_printf("%s/output", store_dir);
        _cleanup_closedir_ DIR *all = path ? opendir(path) : NULL;
        const struct dirent *e;

        *ret = 0;
        if (!all)
                return !path ? -ENOMEM : errno == ENOENT ? 0
                                                         : -errno;
        while ((e = readdir(all)))
                if (region_id_valid(e->d_name) && strcmp(e->d_name, ret) > 0)
                        memcpy(ret, e->d_name, REGION_ID_MAX);
        return 0;
}

static bool output_may_go(const char *store_dir, const char *region, bool (*is_free)(void *userdata, uint64_t lock),
                          void *userdata) {
        _cleanup_output_ OutputReader r = OUTPUT_READER_NULL;

        return output_open(store_dir, region, &r) != 0 || output_is_over(&r) || is_free(userdata, r.supervisor);
}

int output_trim(const char *store_dir, const KeepPolicy *policy, bool (*is_free)(void *userdata, uint64_t lock),
                void *userdata) {
        _cleanup_kept_list_ KeptList l = {0};
        int r = kept_list(store_dir, "output", &l);
        size_t n = r == 0 ? kept_surplus(&l, policy, clock_real_usec()) : 0;

        for (size_t i = 0; i < n; i++)
                if (output_may_go(store_dir, l.folders[i].region, is_free, userdata)) {
                        const int e = output_drop(store_dir, l.folders[i].region);

                        r = e < 0 ? e : r;
                }
        return r;
}
