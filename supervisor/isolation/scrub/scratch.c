#include "scrub/scratch.h"

#include "spawn/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sodium.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#define PIECE (256 * 1024)
#define BLOCK 4096

typedef struct ScratchWipe {
        unsigned passes;
        uint8_t *pattern, *back; /* PIECE bytes each; allocated for the first file with data */
        uint64_t named; /* bytes of all files with a name */
        ScratchWiped *said;
} ScratchWipe;

static void scratch_miss(ScratchWipe *w, uint64_t bytes) {
        w->said->bytes_held += bytes;
        w->said->bytes_missed += bytes;
}

static void scratch_fill_pattern(ScratchWipe *w, unsigned pass) {
        switch (pass % 3) {
        case 0:
                memset(w->pattern, 0, PIECE);
                break;
        case 1:
                memset(w->pattern, 0xff, PIECE);
                break;
        default:
                randombytes_buf(w->pattern, PIECE);
        }
}

/* Returns the number of bytes moved. */
static size_t scratch_transfer(int fd, uint8_t *p, size_t n, off_t at, bool write) {
        size_t done = 0;

        while (done < n) {
                ssize_t k = write ? pwrite(fd, p + done, n - done, at + (off_t)done)
                                  : pread(fd, p + done, n - done, at + (off_t)done);

                if (k < 0 && errno == EINTR)
                        continue;
                if (k <= 0)
                        break;
                done += (size_t)k;
        }
        return done;
}

/* A run of blocks that hold data. */
static void scratch_wipe_run(ScratchWipe *w, int fd, off_t from, off_t to) {
        for (unsigned pass = 0; pass < w->passes; pass++) {
                bool last = pass + 1 == w->passes;

                if (pass > 0 || w->passes > 1)
                        scratch_fill_pattern(w, pass);
                for (off_t at = from; at < to; at += PIECE) {
                        size_t n = (size_t)MIN((off_t)PIECE, to - at);
                        bool good = scratch_transfer(fd, w->pattern, n, at, true) == n;

                        if (!last)
                                continue;
                        good = good && scratch_transfer(fd, w->back, n, at, false) == n &&
                               memcmp(w->pattern, w->back, n) == 0;
                        if (!good)
                                sodium_memzero(w->back, n);
                        *(good ? &w->said->bytes_overwritten : &w->said->bytes_missed) += n;
                }
        }
}

static off_t scratch_round_up(off_t n) {
        return (n + BLOCK - 1) / BLOCK * BLOCK;
}

static void scratch_wipe_open_file(ScratchWipe *w, int fd, off_t size) {
        off_t end = scratch_round_up(size), data, hole;

        if (!w->pattern && (w->pattern = calloc(2, PIECE)))
                w->back = w->pattern + PIECE;
        /* A mapping can write behind the file's end, in its last page. */
        if (end != size && ftruncate(fd, end) < 0)
                end = size;
        for (off_t at = 0; at < end; at = hole) {
                data = lseek(fd, at, SEEK_DATA);
                if (data < 0 && errno == ENXIO)
                        break;
                hole = data < 0 ? end : lseek(fd, data, SEEK_HOLE);
                if (data < 0 || hole < 0) { /* the file system does not list holes */
                        data = at;
                        hole = end;
                }
                data = data / BLOCK * BLOCK;
                hole = MIN(scratch_round_up(hole), end);
                w->said->bytes_held += (uint64_t)(hole - data);
                if (w->pattern)
                        scratch_wipe_run(w, fd, data, hole);
                else
                        w->said->bytes_missed += (uint64_t)(hole - data);
        }
        if (w->said->on_disk)
                fdatasync(fd);
}

static void scratch_wipe_file(int dir, const char *name, void *arg) {
        _cleanup_close_ int fd = -1;
        struct stat st, opened;
        ScratchWipe *w = arg;

        if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_nlink > 1)
                return;
        w->named += (uint64_t)st.st_blocks * 512;
        /* a long link's page has no write access */
        if (S_ISLNK(st.st_mode) && st.st_blocks > 0 && !w->said->on_disk)
                scratch_miss(w, (uint64_t)st.st_blocks * 512);
        if (!S_ISREG(st.st_mode))
                return;
        w->said->files++;
        if (st.st_size == 0 && st.st_blocks == 0)
                return;
        fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 && errno == EACCES && fchmodat(dir, name, 0600, 0) == 0)
                fd = openat(dir, name, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
        if (fd < 0 || fstat(fd, &opened) < 0 || opened.st_ino != st.st_ino || opened.st_dev != st.st_dev) {
                scratch_miss(w, (uint64_t)st.st_blocks * 512);
                return;
        }
        scratch_wipe_open_file(w, fd, st.st_size);
}

/* used: bytes of the file system before the names went. */
static void scratch_count_unseen(ScratchWipe *w, uint64_t used, const ScratchSum *sum) {
        uint64_t accounted = sum->known + w->named, held = sum->lent + w->named;

        w->said->bytes_unseen = MAX(sum->most > accounted ? sum->most - accounted : 0, used > held ? used - held : 0);
        scratch_miss(w, w->said->bytes_unseen);
}

int scratch_wipe(int root, unsigned passes, const ScratchSum *sum, ScratchWiped *ret) {
        ScratchWipe w = {.passes = passes, .said = ret};
        struct statfs fs;
        struct statx x;
        uint64_t used;
        bool own;
        int e;

        *ret = (ScratchWiped){0};
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
        e = spawn_scratch_empty(root, scratch_wipe_file, &w);
        if (own && e == 0)
                scratch_count_unseen(&w, used, sum);
        else if (own && used > w.named) /* files that the walk did not reach may have a name */
                scratch_miss(&w, used - w.named);
        free(w.pattern); /* holds the written pattern; a differing read-back is cleared where it is found */
        return e;
}

uint64_t scratch_wipe_deleted(int root, int fd, unsigned passes, ScratchWiped *ret) {
        ScratchWipe w = {.passes = passes, .said = ret};
        struct stat st, folder;

        if (fstat(root, &folder) < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_nlink > 0 ||
            st.st_dev != folder.st_dev || st.st_blocks == 0)
                return 0;
        ret->files++;
        scratch_wipe_open_file(&w, fd, st.st_size);
        free(w.pattern);
        return (uint64_t)st.st_blocks * 512;
}
