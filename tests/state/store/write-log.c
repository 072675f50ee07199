/* Without this the names below would be renamed to their 64-bit forms, which are defined here, too. */
#undef _FILE_OFFSET_BITS
#include "tests/state/store/write-log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#define FILES_MAX 2
static struct {
        dev_t dev;
        ino_t ino;
} files[FILES_MAX];
static unsigned n_files;
static bool on;
static Op *ops;
static size_t n_ops, room;
static unsigned left;
static int with_error;
static bool with_half, happened;

static void watch(const char *file) {
        struct stat st;
        int r = stat(file, &st);

        assert(r == 0 && n_files < FILES_MAX);
        files[n_files].dev = st.st_dev;
        files[n_files++].ino = st.st_ino;
}

/* Which one it is of, or FILES_MAX. */
static unsigned file_of(int fd) {
        struct stat st;
        unsigned i = 0;

        if (fstat(fd, &st) < 0)
                return FILES_MAX;
        while (i < n_files && (st.st_dev != files[i].dev || st.st_ino != files[i].ino))
                i++;
        return i < n_files ? i : FILES_MAX;
}

static bool watched(int fd) {
        return file_of(fd) < FILES_MAX;
}

void write_log_also(const char *file) {
        watch(file);
}

void fail_after(const char *file, unsigned countdown, int error, bool half) {
        n_files = 0;
        watch(file);
        left = countdown;
        with_error = error;
        with_half = half;
        happened = false;
}

bool fail_happened(void) {
        return happened;
}

static bool fails(int fd) {
        if (left == 0 || !watched(fd) || --left > 0)
                return false;
        happened = true;
        return true;
}

static bool ours(int fd) {
        return on && watched(fd);
}

static Op *add(void) {
        if (n_ops == room) {
                ops = reallocarray(ops, room = room ? room * 2 : 1024, sizeof(*ops));
                assert(ops);
        }
        ops[n_ops] = (Op){0};
        return &ops[n_ops++];
}

static void record(int fd, const void *p, size_t n, off_t at, int flags) {
        Op *o;

        if (!ours(fd))
                return;
        o = add();
        o->kind = OP_WRITE;
        o->file = file_of(fd);
        o->durable = flags & RWF_DSYNC || fcntl(fd, F_GETFL) & O_DSYNC;
        o->at = (uint64_t)at;
        o->n = n;
        o->data = malloc(n);
        assert(o->data);
        memcpy(o->data, p, n);
}

static ssize_t write_at(int fd, const void *p, size_t n, off_t at, int flags) {
        struct iovec v = {(void *)p, n};
        ssize_t r;

        if (fails(fd)) {
                v.iov_len = n / 2;
                if (with_half && n > 1 && syscall(SYS_pwritev2, fd, &v, 1, at, 0, flags) > 0)
                        record(fd, p, n / 2, at, flags);
                errno = with_error;
                return -1;
        }
        r = syscall(SYS_pwritev2, fd, &v, 1, at, 0, flags);
        if (r > 0)
                record(fd, p, (size_t)r, at, flags);
        return r;
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
        return write_at(fd, p, n, at, 0);
}

/* The redo file's: one piece. */
ssize_t pwritev2(int fd, const struct iovec *v, int n_v, off_t at, int flags) {
        assert(n_v == 1);
        return write_at(fd, v->iov_base, v->iov_len, at, flags);
}

ssize_t pwritev64v2(int fd, const struct iovec *v, int n_v, off_t at, int flags) {
        return pwritev2(fd, v, n_v, at, flags);
}

ssize_t pwrite64(int fd, const void *p, size_t n, off_t at) {
        return pwrite(fd, p, n, at);
}

ssize_t pwritev(int fd, const struct iovec *v, int n_v, off_t at) {
        ssize_t total = 0;

        for (int i = 0; i < n_v; i++) {
                ssize_t r = pwrite(fd, v[i].iov_base, v[i].iov_len, at + total);

                if (r < 0)
                        return total > 0 && !happened ? total : -1;
                total += r;
        }
        return total;
}

ssize_t pwritev64(int fd, const struct iovec *v, int n_v, off_t at) {
        return pwritev(fd, v, n_v, at);
}

/* LMDB seeks, then writes a run of pages with writev. */
ssize_t writev(int fd, const struct iovec *v, int n_v) {
        off_t at = lseek(fd, 0, SEEK_CUR);
        ssize_t r;

        if (at < 0) /* a pipe or a terminal: not a store */
                return syscall(SYS_writev, fd, v, n_v);
        r = pwritev(fd, v, n_v, at);
        if (r > 0)
                lseek(fd, at + r, SEEK_SET);
        return r;
}

static int sync_of(int fd, long number) {
        if (fails(fd)) {
                errno = with_error;
                return -1;
        }
        if (ours(fd)) {
                Op *o = add();

                o->kind = OP_SYNC;
                o->file = file_of(fd);
        }
        return (int)syscall(number, fd);
}

int fdatasync(int fd) {
        return sync_of(fd, SYS_fdatasync);
}

int fsync(int fd) {
        return sync_of(fd, SYS_fsync);
}

void write_log_start(const char *data_file) {
        n_files = 0;
        watch(data_file);
        on = true;
}

void write_log_mark(uint64_t number) {
        Op *o = add();

        o->kind = OP_MARK;
        o->at = number;
}

void write_log_stop(Op **ret, size_t *ret_n) {
        on = false;
        *ret = ops;
        *ret_n = n_ops;
        ops = NULL;
        n_ops = room = 0;
}

void write_log_free(Op *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(list[i].data);
        free(list);
}

void lengthen(const char *file) {
        static const char zeros[1024 * 1024];
        int fd = open(file, O_WRONLY | O_APPEND | O_CLOEXEC);

        if (fd < 0 || write(fd, zeros, sizeof(zeros)) != (ssize_t)sizeof(zeros) || close(fd) < 0)
                abort();
}
