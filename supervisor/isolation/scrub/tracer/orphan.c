/* The scratch folder of a region whose supervisor died, filled by a hostile program: no link is followed; folders may
 * be nested without end and closed to their owner. Each file is overwritten before its last name goes. A file with a
 * further name elsewhere (in tier landlock, a folder of the operator's) is the operator's. Files out of reach are
 * missed. */
#include "base/folder-empty.h"
#include "scrub/tracer/state.h"

#include <fcntl.h>
#include <string.h>

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

typedef struct OrphanWalk {
        Tracer *g;
        uint64_t named; /* bytes of all files found */
} OrphanWalk;

static int walk_take_entry(int folder, const char *name, const struct stat *st, void *arg) {
        OrphanWalk *w = arg;

        if (st->st_dev != w->g->scratch_dev)
                return -EXDEV;
        w->named += st->st_nlink > 1 ? 0 : (uint64_t)st->st_blocks * 512;
        if (S_ISREG(st->st_mode))
                walk_wipe_file(w->g, folder, name, st);
        if (S_ISLNK(st->st_mode) && st->st_blocks > 0 && w->g->tier == 2)
                files_miss(w->g, st); /* a long link is in a page without write access */
        return 0;
}

uint64_t walk_scratch(Tracer *g) {
        OrphanWalk w = {.g = g};

        if (g->scratch >= 0 && folder_empty(g->scratch, walk_take_entry, &w) < 0)
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
