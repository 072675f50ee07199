/* LMDB trusts each page: one flipped bit in a header, and a write copies beyond the end of a page. So each process
 * walks the store's pages before its first write, under LMDB's lock for writers, while the pages cannot change.
 *
 * A walk takes a third of a microsecond a page. For a store of more than a few pages, a process skips the walk when the
 * file is unchanged, by inode, size and times, since the last writer in the same boot of the machine: that writer had
 * walked the pages. Any write from outside of Lethe changes the times. Decay on the disk itself does not: `lethe
 * audit`, `lethe verify` and the start of `lethe serve` always walk. */
#include "base/log.h"
#include "base/proc.h"
#include "store/datafile.h"
#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PAGE_CHECK_LEFT "run/pages"
#define PAGE_CHECK_SMALL 64 /* pages: a smaller store is always walked; the note would cost as much */

/* The note of the last writer, in the machine's own byte order: only the same machine reads the note. */
typedef struct PageCheckLeft {
        char boot[40];
        uint64_t device, inode, size, mtime_sec, mtime_nsec, ctime_sec, ctime_nsec;
} PageCheckLeft;

static bool page_check_fill(const struct stat *st, PageCheckLeft *ret) {
        *ret = (PageCheckLeft){0};
        snprintf(ret->boot, sizeof(ret->boot), "%s", proc_boot_id());
        ret->device = st->st_dev;
        ret->inode = st->st_ino;
        ret->size = (uint64_t)st->st_size;
        ret->mtime_sec = (uint64_t)st->st_mtim.tv_sec;
        ret->mtime_nsec = (uint64_t)st->st_mtim.tv_nsec;
        ret->ctime_sec = (uint64_t)st->st_ctim.tv_sec;
        ret->ctime_nsec = (uint64_t)st->st_ctim.tv_nsec;
        return *ret->boot;
}

static bool page_check_look(const Store *s, PageCheckLeft *ret) {
        struct stat st;

        return fstatat(s->dir_fd, "data.mdb", &st, AT_SYMLINK_NOFOLLOW) == 0 && page_check_fill(&st, ret);
}

static bool page_check_is_as_left(const Store *s) {
        _cleanup_close_ int fd = openat(s->dir_fd, PAGE_CHECK_LEFT, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
        PageCheckLeft left, now;

        return fd >= 0 && datafile_read(fd, 0, &left, sizeof(left)) == 0 && page_check_look(s, &now) &&
               memcmp(&left, &now, sizeof(now)) == 0;
}

/* Checks that data.mdb is still the open file: writes to a replaced file would be lost. */
static int page_check_is_found(Store *s) {
        struct statx mine, named; /* without times: a query makes each record of the log write new times */
        int fd;

        if (mdb_env_get_fd(s->env, &fd) != 0 || statx(fd, "", AT_EMPTY_PATH, STATX_INO, &mine) < 0)
                return -EIO;
        if (statx(s->dir_fd, "data.mdb", AT_SYMLINK_NOFOLLOW, STATX_INO, &named) == 0 &&
            named.stx_ino == mine.stx_ino && named.stx_dev_major == mine.stx_dev_major &&
            named.stx_dev_minor == mine.stx_dev_minor)
                return 0;
        log_error("store %s: another file was put in the place of data.mdb while this process had it open. Nothing "
                  "is written to it any more",
                  s->dir);
        return -EUCLEAN;
}

int page_check_before_write(Store *s, uint64_t txn) {
        _cleanup_close_ int fd = -1;
        uint64_t n_pages;
        Diag why = {0};
        int r;

        r = s->copy_of > 0 ? 0 : page_check_is_found(s); /* scratch tables have no name */
        if (r < 0 || s->checked)
                return r;
        fd = openat(s->dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        if (fd < 0)
                return -errno;
        r = datafile_pages(fd, txn, &n_pages);
        s->large = r == 0 && n_pages > PAGE_CHECK_SMALL;
        if (r == 0 && !(s->large && page_check_is_as_left(s)))
                r = datafile_walk_at(fd, txn, &why);
        if (r > 0) {
                log_error("store %s: data.mdb is damaged: %s. The store is not written any more; `lethe audit` says "
                          "more",
                          s->dir, why.text);
                return -EUCLEAN;
        }
        s->checked = r == 0;
        return r;
}

void page_check_committed(Store *s) {
        struct stat st;

        if (s->large && s->checked && fstatat(s->dir_fd, "data.mdb", &st, AT_SYMLINK_NOFOLLOW) == 0)
                s->left = st;
}

void page_check_leave(Store *s) {
        _cleanup_close_ int fd = -1;
        PageCheckLeft left, now;

        /* A commit of another process, or any other write, since the own last commit: the next process walks. */
        if (s->left.st_ino == 0 || !page_check_fill(&s->left, &left) || !page_check_look(s, &now) ||
            memcmp(&left, &now, sizeof(now)) != 0)
                return;
        /* In place: a torn note matches no file, and the next process walks. */
        fd = openat(s->dir_fd, PAGE_CHECK_LEFT, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK, 0600);
        if (fd < 0 || pwrite(fd, &now, sizeof(now), 0) < 0)
                return;
}
