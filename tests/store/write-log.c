/* Without this the names below would be renamed to their 64-bit forms, which are defined here, too. */
#undef _FILE_OFFSET_BITS
#include "tests/store/write-log.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static dev_t dev;
static ino_t ino;
static bool on;
static Op *ops;
static size_t n_ops, room;
static unsigned left;
static int with_error;
static bool with_half, happened;

static void watch(const char *file) {
        struct stat st;
        int r = stat(file, &st);

        assert(r == 0);
        dev = st.st_dev;
        ino = st.st_ino;
}

static bool watched(int fd) {
        struct stat st;

        return fstat(fd, &st) == 0 && st.st_dev == dev && st.st_ino == ino;
}

void fail_after(const char *file, unsigned countdown, int error, bool half) {
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

static void record(int fd, const void *p, size_t n, off_t at) {
        Op *o;

        if (!ours(fd))
                return;
        o = add();
        o->kind = OP_WRITE;
        o->durable = fcntl(fd, F_GETFL) & O_DSYNC;
        o->at = (uint64_t)at;
        o->n = n;
        o->data = malloc(n);
        assert(o->data);
        memcpy(o->data, p, n);
}

ssize_t pwrite(int fd, const void *p, size_t n, off_t at) {
        ssize_t r;

        if (fails(fd)) {
                if (with_half && n > 1 && syscall(SYS_pwrite64, fd, p, n / 2, at) > 0)
                        record(fd, p, n / 2, at);
                errno = with_error;
                return -1;
        }
        r = syscall(SYS_pwrite64, fd, p, n, at);
        if (r > 0)
                record(fd, p, (size_t)r, at);
        return r;
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
        if (ours(fd))
                add()->kind = OP_SYNC;
        return (int)syscall(number, fd);
}

int fdatasync(int fd) {
        return sync_of(fd, SYS_fdatasync);
}

int fsync(int fd) {
        return sync_of(fd, SYS_fsync);
}

void write_log_start(const char *data_file) {
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
