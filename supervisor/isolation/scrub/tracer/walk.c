/* The scratch folder of a region whose supervisor died, which a hostile program filled: no link is followed, folders may be nested without end
 * and closed to their owner. Each file is overwritten before its last name goes; a file that still has a name elsewhere (a folder of the
 * operator's, in tier landlock) is the operator's. What cannot be reached is counted as missed, and nothing more is tried. */
#include "scrub/tracer/state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

typedef enum Entry { ENTRY_GONE, ENTRY_FOLDER, ENTRY_STAYS } Entry;

static int open_file(int folder, const char *name) {
        int flags = O_RDWR | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, fd = openat(folder, name, flags);

        if (fd < 0 && errno == EACCES && fchmodat(folder, name, 0600, 0) == 0)
                fd = openat(folder, name, flags);
        return fd;
}

static void take_file(Guard *g, int folder, const char *name, const struct stat *st) {
        int fd;

        if (st->st_nlink > 1)
                return;
        fd = open_file(folder, name);
        if (fd < 0) {
                files_miss(g, st);
                return;
        }
        g->evidence->scratch_bytes += files_overwrite(g, fd);
        g->evidence->scratch_files++;
        close(fd);
}

static Entry take(Guard *g, int folder, const char *name, uint64_t *named) {
        struct stat st = {};
        bool dir;

        if (fstatat(folder, name, &st, AT_SYMLINK_NOFOLLOW) < 0 || st.st_dev != g->scratch_dev)
                return ENTRY_STAYS;
        *named += st.st_nlink > 1 ? 0 : (uint64_t)st.st_blocks * 512;
        dir = S_ISDIR(st.st_mode);
        if (dir && (st.st_mode & 0700) != 0700 && fchmodat(folder, name, 0700, 0) < 0)
                return ENTRY_STAYS;
        if (S_ISREG(st.st_mode))
                take_file(g, folder, name, &st);
        if (S_ISLNK(st.st_mode) && st.st_blocks > 0 && g->tier == 2)
                files_miss(g, &st); /* a long one is in a page that nobody can write to */
        if (unlinkat(folder, name, dir ? AT_REMOVEDIR : 0) == 0)
                return ENTRY_GONE;
        return dir && errno == ENOTEMPTY ? ENTRY_FOLDER : ENTRY_STAYS;
}

typedef struct Walk {
        uint64_t named; /* bytes of all that it found */
        int fd; /* the folder where it stands */
        unsigned long depth;
} Walk;

/* Returns 1, or -1 when it stands nowhere any more. */
static int go(Walk *w, const char *name, long deeper) {
        int next = openat(w->fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);

        close(w->fd);
        w->fd = next;
        w->depth += (unsigned long)deeper;
        return next < 0 ? -1 : 1;
}

/* Takes the entries of a folder, up to the first folder that is not empty, and goes there; or else to the one above. Returns 1, 0 when nothing is
 * left at the top, -1 when something stays. */
static int step(Guard *g, Walk *w) {
        int fd = openat(w->fd, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC), r;
        DIR *folder = fd < 0 ? NULL : fdopendir(fd);
        Entry was = ENTRY_GONE;
        struct dirent *d;

        if (!folder) {
                if (fd >= 0)
                        close(fd);
                return -1;
        }
        while (was == ENTRY_GONE && (d = readdir(folder)))
                if (strcmp(d->d_name, ".") != 0 && strcmp(d->d_name, "..") != 0)
                        was = take(g, w->fd, d->d_name, &w->named);
        if (was == ENTRY_STAYS)
                r = -1;
        else if (was == ENTRY_FOLDER)
                r = go(w, d->d_name, 1);
        else
                r = w->depth == 0 ? 0 : go(w, "..", -1);
        closedir(folder);
        return r;
}

uint64_t walk_scratch(Guard *g) {
        Walk w = {.fd = g->scratch < 0 ? -1 : openat(g->scratch, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
        int r = w.fd < 0 ? -1 : 1;

        if (g->scratch < 0)
                return 0;
        while (r > 0)
                r = step(g, &w);
        if (w.fd >= 0)
                close(w.fd);
        if (r < 0)
                files_miss(g, &(struct stat){});
        return w.named;
}
