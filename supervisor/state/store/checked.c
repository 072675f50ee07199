/* LMDB believes what a page says of itself: one flipped bit in a header, and a write copies beyond the end of a page. So that the pages of a store are
 * walked before the first write of each process, under LMDB's lock for writers, where nobody changes them.
 *
 * A walk takes a third of a microsecond a page. A process that is to write into a store of more than a few pages begins without it when the file is, by inode,
 * size and times, what the last writer left behind in this boot of the machine: that writer had walked it. Whatever wrote to the file since, other than
 * Lethe, changed its times. What decays on the disk itself does not: `lethe audit`, `lethe verify` and the start of `lethe serve` always walk. */
#include "base/io.h"
#include "base/log.h"
#include "base/proc.h"
#include "store/datafile.h"
#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define CHECKED_LEFT "run/pages"
#define CHECKED_SMALL 64 /* pages: below, each process walks; the note would cost as much */

/* The note that a writer leaves behind: all of it the machine's own, and read by nobody else. */
typedef struct CheckedLeft {
        char boot[40];
        uint64_t device, inode, size, mtime_sec, mtime_nsec, ctime_sec, ctime_nsec;
} CheckedLeft;

static bool checked_look(const Store *s, CheckedLeft *ret) {
        struct stat st;

        *ret = (CheckedLeft){0};
        snprintf(ret->boot, sizeof(ret->boot), "%s", proc_boot_id());
        if (!*ret->boot || fstatat(s->dir_fd, "data.mdb", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        ret->device = st.st_dev;
        ret->inode = st.st_ino;
        ret->size = (uint64_t)st.st_size;
        ret->mtime_sec = (uint64_t)st.st_mtim.tv_sec;
        ret->mtime_nsec = (uint64_t)st.st_mtim.tv_nsec;
        ret->ctime_sec = (uint64_t)st.st_ctim.tv_sec;
        ret->ctime_nsec = (uint64_t)st.st_ctim.tv_nsec;
        return true;
}

static bool checked_is_as_left(const Store *s) {
        _cleanup_close_ int fd = openat(s->dir_fd, CHECKED_LEFT, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        CheckedLeft left, now;

        return fd >= 0 && datafile_read(fd, 0, &left, sizeof(left)) == 0 && checked_look(s, &now) && memcmp(&left, &now, sizeof(now)) == 0;
}

/* Whoever puts another file in its place leaves the processes that have it open with one that nobody will find: what they write there is lost. */
static int checked_is_found(Store *s) {
        struct statx mine, named; /* without times: asked for, they would be written anew with each record (redo.c) */
        int fd;

        if (mdb_env_get_fd(s->env, &fd) != 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO, &mine) < 0)
                return -EIO;
        if (statx(s->dir_fd, "data.mdb", AT_SYMLINK_NOFOLLOW, STATX_INO, &named) == 0 && named.stx_ino == mine.stx_ino && named.stx_dev_major == mine.stx_dev_major &&
            named.stx_dev_minor == mine.stx_dev_minor)
                return 0;
        log_error("store %s: another file was put in the place of data.mdb while this process had it open. Nothing is written to it any more", s->dir);
        return -EUCLEAN;
}

int checked_before_write(Store *s, uint64_t txn) {
        _cleanup_close_ int fd = -1;
        uint64_t n_pages;
        Diag why = {0};
        int r;

        r = s->copy_of > 0 ? 0 : checked_is_found(s); /* scratch tables have no name */
        if (r < 0 || s->checked)
                return r;
        fd = openat(s->dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        r = datafile_pages(fd, txn, &n_pages);
        s->large = r == 0 && n_pages > CHECKED_SMALL;
        if (r == 0 && !(s->large && checked_is_as_left(s)))
                r = datafile_walk_at(fd, txn, &why);
        if (r > 0) {
                log_error("store %s: data.mdb is damaged: %s. Nothing is written to it; `lethe audit` says more", s->dir, why.text);
                return -EUCLEAN;
        }
        s->checked = r == 0;
        return r;
}

void checked_committed(Store *s) {
        struct stat st;

        if (s->large && s->checked && fstatat(s->dir_fd, "data.mdb", &st, AT_SYMLINK_NOFOLLOW) == 0)
                s->left = st;
}

void checked_leave(Store *s) {
        _cleanup_close_ int fd = -1;
        CheckedLeft now;

        /* Another one's commit, or anything else, since our own last one: the next process walks. */
        if (s->left.st_ino == 0 || !checked_look(s, &now) || now.inode != s->left.st_ino || now.size != (uint64_t)s->left.st_size ||
            now.mtime_sec != (uint64_t)s->left.st_mtim.tv_sec || now.mtime_nsec != (uint64_t)s->left.st_mtim.tv_nsec ||
            now.ctime_sec != (uint64_t)s->left.st_ctim.tv_sec || now.ctime_nsec != (uint64_t)s->left.st_ctim.tv_nsec)
                return;
        /* In its place: half a note is that of no file, and without it the next process walks. */
        fd = openat(s->dir_fd, CHECKED_LEFT, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0 || pwrite(fd, &now, sizeof(now), 0) < 0)
                return;
}
