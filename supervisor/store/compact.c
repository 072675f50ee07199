#include "store/redo.h"
#include "store/store-internal.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define DATA_NEW "data.mdb.new"

static uint64_t size_at(const Store *s, const char *name) {
        struct stat st;

        return fstatat(s->dir_fd, name, &st, AT_SYMLINK_NOFOLLOW) == 0 ? (uint64_t)st.st_size : 0;
}

/* The record of the last batch has rows as they were: all of the file is overwritten. */
static int wipe_redo(const Store *s) {
        _cleanup_free_ uint8_t *zero = NULL;
        uint64_t n = size_at(s, REDO_FILE);

        if (s->redo_fd < 0 || n == 0)
                return 0;
        zero = calloc(1, (size_t)n);
        if (!zero)
                return -ENOMEM;
        if (pwrite(s->redo_fd, zero, (size_t)n, 0) != (ssize_t)n)
                return -EIO;
        return fdatasync(s->redo_fd) < 0 ? -errno : 0;
}

/* LMDB copies the rows of each page, and not what lies between them. */
static int write_new(Store *s) {
        _cleanup_close_ int fd = -1;
        int r;

        unlinkat(s->dir_fd, DATA_NEW, 0); /* of one that died */
        fd = openat(s->dir_fd, DATA_NEW, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
        if (fd < 0)
                return -errno;
        r = lmdb_to_errno(LMDB(mdb_env_copyfd2(s->env, fd, MDB_CP_COMPACT)));
        if (r == 0 && fsync(fd) < 0)
                r = -errno;
        return r;
}

static int replace(Store *s) {
        int r = write_new(s);

        if (r == 0 && renameat(s->dir_fd, DATA_NEW, s->dir_fd, "data.mdb") < 0)
                r = -errno;
        if (r < 0) {
                unlinkat(s->dir_fd, DATA_NEW, 0);
                return r;
        }
        return fsync(s->dir_fd) < 0 ? -errno : 0;
}

int store_compact(const char *dir, StoreCompacted *ret, Diag *reterr) {
        _cleanup_store_ Store *s = NULL;
        uint64_t before;
        int r = store_open(dir, STORE_WRITE, &s, reterr);

        if (r != 0)
                return r;
        r = txn_bring_in(s); /* what a dead writer left: it is in the tables, and so in the copy */
        if (r < 0)
                return store_refusal(s, r, "cannot be written", reterr);
        r = store_alone(s, "it can be compacted", reterr); /* nobody has the old file in use when the new one takes its place */
        before = size_at(s, "data.mdb");
        if (r == 0)
                r = replace(s);
        if (r == 0)
                r = wipe_redo(s);
        if (r == 0)
                *ret = (StoreCompacted){.bytes_before = before, .bytes_after = size_at(s, "data.mdb")};
        return r < 0 ? store_refusal(s, r, "cannot be compacted", reterr) : r;
}
