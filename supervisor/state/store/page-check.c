/* LMDB trusts each page: one flipped bit in a header, and a write copies beyond the end of a page. So each process
 * walks the store's pages before its first write, under LMDB's lock for writers, while the pages cannot change.
 *
 * A walk takes a third of a microsecond a page. For a store of more than a few pages, a process skips the walk when the
 * file is unchanged, by inode, size and times, since the last write of a process that had checked the pages, in the
 * same boot of the machine. All writers share the note of that file: its place is the gate, and the gate's holder
 * renews the note with each commit. So a command beside a busy daemon walks nothing. Any write from outside of Lethe
 * changes the times, and the next writer walks, also in a process that has walked before. Decay on the disk itself
 * changes no time: `lethe audit`, `lethe verify` and the start of `lethe serve` always walk. */
#include "base/log.h"
#include "store/datafile.h"
#include "store/store-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#define PAGE_CHECK_SMALL 64 /* pages: a smaller store is walked once in each process; the note would cost as much */

static bool page_check_look(const Store *s, GateLeft *ret) {
        struct stat st;

        if (fstatat(s->dir_fd, "data.mdb", &st, AT_SYMLINK_NOFOLLOW) < 0)
                return false;
        *ret = (GateLeft){.device = st.st_dev,
                          .inode = st.st_ino,
                          .size = (uint64_t)st.st_size,
                          .mtime_sec = (uint64_t)st.st_mtim.tv_sec,
                          .mtime_nsec = (uint64_t)st.st_mtim.tv_nsec,
                          .ctime_sec = (uint64_t)st.st_ctim.tv_sec,
                          .ctime_nsec = (uint64_t)st.st_ctim.tv_nsec};
        return true;
}

/* The shared note; NULL for a small store, for scratch tables, and without a gate. */
static GateLeft *page_check_note(const Store *s) {
        MDB_envinfo info;

        mdb_env_info(s->env, &info);
        return s->copy_of == 0 && info.me_last_pgno >= PAGE_CHECK_SMALL ? gate_left(&s->gate) : NULL;
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
        GateLeft *note = page_check_note(s), now = {0};
        int r = s->copy_of > 0 ? 0 : page_check_is_found(s); /* scratch tables have no name */
        _cleanup_close_ int fd = -1;
        Diag why = {0};

        if (r < 0 || (s->checked && !note))
                return r;
        if (note && page_check_look(s, &now) && memcmp(note, &now, sizeof(now)) == 0) {
                s->checked = true;
                return 0;
        }
        s->checked = false;
        s->walks++;
        fd = openat(s->dir_fd, "data.mdb", O_RDONLY | O_CLOEXEC | O_NONBLOCK);
        r = fd < 0 ? -errno : datafile_walk_at(fd, txn, &why);
        if (r > 0) {
                log_error("store %s: data.mdb is damaged: %s. The store is not written any more; `lethe audit` says "
                          "more",
                          s->dir, why.text);
                return -EUCLEAN;
        }
        s->checked = r == 0;
        if (r == 0 && note)
                *note = now; /* from before the walk */
        return r;
}

void page_check_committed(Store *s) {
        GateLeft *note = s->checked ? page_check_note(s) : NULL, now;

        if (note && page_check_look(s, &now))
                *note = now;
}
