/* The scratch folder of a region whose supervisor died, filled by a hostile program: no link is followed; folders may
 * be nested without end and closed to their owner. Each file is overwritten before its last name goes. A file with a
 * further name elsewhere (in tier landlock, a folder of the operator's) is the operator's. Files out of reach are
 * missed. */
#include "scrub/tracer/state.h"

#include <dirent.h>
#include <fcntl.h>
#include <string.h>

typedef enum WalkResult { ENTRY_GONE, ENTRY_FOLDER, ENTRY_STAYS } WalkResult;

static int walk_open_file(int folder, const char *name) {
        int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd = openat(folder, name, flags);

        if (fd < 0 && errno == EACCES && fchmodat(folder, name, 0600, 0) == 0)
                fd = openat(folder, name, flags);
        return fd;
}

static void walk_wipe_file(Tracer *g, int folder, const char *name, const struct stat *st) {
        _autoclose_ int fd = -1;

        if (st->st_nlink > 1)
                return;
        fd = walk_open_file(folder, name);
        if (fd < 0) {
                files_miss(g, st);
                return;
        }
        g->evidence->scratch_bytes += files_overwrite(g, fd);
        g->evidence->scratch_files++;
}

static WalkResult walk_take_entry(Tracer *g, int folder, const char *name, uint64_t *named) {
        struct stat st = {};
        bool dir;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != g->scratch_dev)
                return ENTRY_STAYS;
        *named += st.st_nlink > 1 ? 0 : (uint64_t)st.st_blocks * 512;
        dir = S_ISDIR(st.st_mode);
        if (dir && (st.st_mode & 0700) != 0700 && fchmodat(folder, name, 0700, 0) < 0)
                return ENTRY_STAYS;
        if (S_ISREG(st.st_mode))
                walk_wipe_file(g, folder, name, &st);
        if (S_ISLNK(st.st_mode) && st.st_blocks > 0 && g->tier == 2)
                files_miss(g, &st); /* a long link is in a page without write access */
        if (unlinkat(folder, name, dir ? AT_REMOVEDIR : 0) == 0)
                return ENTRY_GONE;
        return dir && errno == ENOTEMPTY ? ENTRY_FOLDER : ENTRY_STAYS;
}

typedef struct FolderWalk {
        uint64_t named; /* bytes of all entries found */
        int fd; /* the current folder */
        unsigned long depth;
} FolderWalk;

/* Returns 1, or -1 without a current folder. */
static int walk_enter(FolderWalk *w, const char *name, long deeper) {
        int next = openat(w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        close(w->fd);
        w->fd = next;
        w->depth += (unsigned long)deeper;
        return next < 0 ? -1 : 1;
}

/* Takes the entries of a folder, up to the first folder that is not empty, and goes there; or else to the folder
 * above. Returns 1, 0 when the top is empty, -1 when an entry stays. */
static int walk_step(Tracer *g, FolderWalk *w) {
        int fd = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
        DIR *folder = fd < 0 ? NULL : fdopendir(fd);
        WalkResult was = ENTRY_GONE;
        struct dirent *d;

        if (!folder) {
                if (fd >= 0)
                        close(fd);
                return -1;
        }
        while (was == ENTRY_GONE && (d = readdir(folder)))
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
                        was = walk_take_entry(g, w->fd, d->d_name, &w->named);
        if (was == ENTRY_STAYS)
                r = -1;
        else if (was == ENTRY_FOLDER)
                r = walk_enter(w, d->d_name, 1);
        else
                r = w->depth == 0 ? 0 : walk_enter(w, "..", -1);
        closedir(folder);
        return r;
}

uint64_t walk_scratch(Tracer *g) {
        FolderWalk w = {.fd = g->scratch < 0 ? -1 : openat(g->scratch, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        int r = w.fd < 0 ? -1 : 1;

        if (g->scratch < 0)
                return 0;
        while (r > 0)
                r = walk_step(g, &w);
        if (w.fd >= 0)
                close(w.fd);
        if (r < 0)
                files_miss(g, &(struct stat){});
        return w.named;
}

/* The launch spec, a memory file of fixed size with the program's arguments and environment. */
static bool spec_fill(const Tracer *g, const unsigned char *pattern, uint64_t size) {
        for (uint64_t at = 0; at < size;) {
                ssize_t n = pwrite(g->spec, pattern, size - at < WIPE_SOURCE ? size - at : WIPE_SOURCE, (off_t)at);

                if (n <= 0)
                        return false;
                at += (uint64_t)n;
        }
        return true;
}

/* All pages of a pattern are the same. */
static bool spec_holds(const Tracer *g, const unsigned char *pattern, uint64_t size) {
        unsigned char back[SCAN_PAGE];

        for (uint64_t at = 0; at < size; at += sizeof(back)) {
                size_t n = size - at < sizeof(back) ? size - at : sizeof(back);

                if (pread(g->spec, back, n, (off_t)at) != (ssize_t)n || memcmp(back, pattern, n) != 0)
                        return false;
        }
        return true;
}

void spec_clear(Tracer *g) {
        const unsigned char *pattern = NULL;
        uint64_t size;
        struct stat st;
        bool filled = true;

        if (g->spec < 0 || fstat(g->spec, &st) < 0)
                return;
        size = (uint64_t)st.st_size;
        for (unsigned pass = 0; pass < g->wipe.passes; pass++) {
                pattern = wipe_pattern(&g->wipe, pass);
                filled = spec_fill(g, pattern, size);
        }
        g->evidence->bytes_held += size;
        if (filled && pattern && spec_holds(g, pattern, size)) {
                g->evidence->bytes_overwritten += size;
                g->evidence->bytes_verified += size;
        } else
                g->evidence->bytes_missed[GUARD_MISSED_FILE] += size;
}
