#include "scrub/scratch.h"

#include "base/folder-empty.h"
#include "scrub/wipe.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

typedef struct ScratchWipe {
        Wipe wipe;
        bool no_pattern; /* without memory for the pattern, files go without being overwritten, and are missed */
        uint64_t named; /* bytes of all files with a name */
        ScratchWiped *said;
} ScratchWipe;

static void scratch_miss(ScratchWipe *w, uint64_t bytes) {
        w->said->bytes_held += bytes;
        w->said->bytes_missed += bytes;
}

static void scratch_begin(ScratchWipe *w, unsigned passes) {
        w->no_pattern = wipe_init(&w->wipe, passes) < 0;
        w->wipe.forced_once = true; /* a region chooses the number of files */
}

static void scratch_wipe_open_file(ScratchWipe *w, int fd, const struct stat *st) {
        WipeCount count = {0};

        if (w->no_pattern || wipe_file(&w->wipe, fd, &count) < 0)
                scratch_miss(w, (uint64_t)st->st_blocks * 512);
        w->said->bytes_held += count.overwritten;
        w->said->bytes_overwritten += count.overwritten;
        scratch_miss(w, count.denied + count.mismatched);
}

static int scratch_wipe_file(int dir, const char *name, const struct stat *st, void *arg) {
        _cleanup_close_ int fd = -1;
        struct stat opened;
        ScratchWipe *w = arg;

        if (S_ISDIR(st->st_mode) || st->st_nlink > 1)
                return 0;
        w->named += (uint64_t)st->st_blocks * 512;
        /* a long link's page has no write access */
        if (S_ISLNK(st->st_mode) && st->st_blocks > 0 && !w->said->on_disk)
                scratch_miss(w, (uint64_t)st->st_blocks * 512);
        if (!S_ISREG(st->st_mode))
                return 0;
        w->said->files++;
        if (st->st_size == 0 && st->st_blocks == 0)
                return 0;
        fd = wipe_open(dir, name);
        if (fd < 0 || fstat(fd, &opened) < 0 || opened.st_ino != st->st_ino || opened.st_dev != st->st_dev)
                scratch_miss(w, (uint64_t)st->st_blocks * 512);
        else
                scratch_wipe_open_file(w, fd, st);
        return 0;
}

/* used: bytes of the file system before the names went. */
static void scratch_count_unseen(ScratchWipe *w, uint64_t used, const ScratchSum *sum) {
        uint64_t accounted = sum->known + w->named, held = sum->lent + w->named;

        w->said->bytes_unseen = MAX(sum->most > accounted ? sum->most - accounted : 0, used > held ? used - held : 0);
        scratch_miss(w, w->said->bytes_unseen);
}

int scratch_wipe(int root, unsigned passes, const ScratchSum *sum, ScratchWiped *ret) {
        ScratchWipe w = {.said = ret};
        struct statfs fs;
        struct statx x;
        uint64_t used;
        bool own;
        int e;

        if (fstatfs(root, &fs) < 0)
                return -errno;
        if (fs.f_type == TMPFS_MAGIC && fs.f_blocks > 0 && fs.f_bfree == fs.f_blocks) {
                scratch_count_unseen(&w, 0, sum);
                return 0; /* all data are gone already: the file system goes with its last descriptor, or is removed */
        }
        used = (uint64_t)(fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
        own = fs.f_type == TMPFS_MAGIC && fs.f_blocks > 0 && statx(root, "", AT_EMPTY_PATH, STATX_TYPE, &x) == 0 &&
              x.stx_attributes & STATX_ATTR_MOUNT_ROOT; /* a file system of its own, not a folder in a larger one */
        ret->on_disk = fs.f_type != TMPFS_MAGIC && fs.f_type != RAMFS_MAGIC;
        scratch_begin(&w, passes);
        e = folder_empty(root, scratch_wipe_file, &w);
        if (own && e == 0)
                scratch_count_unseen(&w, used, sum);
        else if (own && used > w.named) /* files that the walk did not reach may have a name */
                scratch_miss(&w, used - w.named);
        wipe_deinit(&w.wipe);
        return e;
}

uint64_t scratch_wipe_deleted(int root, int fd, unsigned passes, ScratchWiped *ret) {
        ScratchWipe w = {.said = ret};
        struct stat st, folder;

        if (fstat(root, &folder) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0 ||
            st.st_dev != folder.st_dev || st.st_blocks == 0)
                return 0;
        ret->files++;
        scratch_begin(&w, passes);
        scratch_wipe_open_file(&w, fd, &st);
        wipe_deinit(&w.wipe);
        return (uint64_t)st.st_blocks * 512;
}
