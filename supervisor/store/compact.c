#include "store/redo.h"
#include "store/store-internal.h"

#include "base/io.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

/* Whoever has the environment open holds byte 0 of lock.mdb locked, shared (LMDB does that). This takes it for ourselves alone: those who are
 * about to open it wait (env.c: for a while), and nobody has the old file in use when the new one takes its place. */

#define DATA_NEW "data.mdb.new"

static int take_alone(const Store *s, int fd, Diag *reterr) {
        struct flock l = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};

        if (fcntl(fd, F_SETLK, &l) == 0)
                return 0;
        if (errno != EAGAIN && errno != EACCES)
                return -errno;
        l = (struct flock){.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 1};
        if (fcntl(fd, F_GETLK, &l) < 0 || l.l_type == F_UNLCK)
                return diag(reterr, STORE_E_LOCKED, "store %s: another process has it open: try again", s->dir);
        return diag(reterr, STORE_E_LOCKED, "store %s: process %d has it open: it can be compacted when nobody has", s->dir, (int)l.l_pid);
}

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
        _cleanup_close_ int lock = -1; /* closed last: closing drops LMDB's own locks, too */
        _cleanup_store_ Store *s = NULL;
        uint64_t before;
        int r = store_open(dir, STORE_WRITE, &s, reterr);

        if (r != 0)
                return r;
        r = txn_bring_in(s); /* what a dead writer left: it is in the tables, and so in the copy */
        if (r < 0)
                return store_refusal(s, r, "cannot be written", reterr);
        lock = openat(s->dir_fd, "lock.mdb", O_RDWR | O_CLOEXEC | O_NOFOLLOW);
        r = lock < 0 ? -errno : take_alone(s, lock, reterr);
        before = size_at(s, "data.mdb");
        if (r == 0)
                r = replace(s);
        if (r == 0)
                r = wipe_redo(s);
        if (r == 0)
                *ret = (StoreCompacted){.bytes_before = before, .bytes_after = size_at(s, "data.mdb")};
        return r < 0 ? store_refusal(s, r, "cannot be compacted", reterr) : r;
}
