/* The end of a region whose supervisor died. The region's scratch folder was filled by a hostile program: no link is
 * followed; folders may be nested without end and closed to their owner. Each file is overwritten before its last name
 * goes. A file with a further name elsewhere (in tier landlock, a folder of the operator's) is the operator's. Files
 * out of reach are missed. */
#include "base/folder-empty.h"
#include "scrub/tracer/state.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void orphan_wipe_file(Tracer *g, int folder, const char *name, const struct stat *st) {
        _autoclose_ int fd = -1;

        if (st->st_nlink > 1)
                return;
        fd = wipe_open(folder, name);
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

static int orphan_take_entry(int folder, const char *name, const struct stat *st, void *arg) {
        OrphanWalk *w = arg;

        if (st->st_dev != w->g->scratch_dev)
                return -EXDEV;
        w->named += st->st_nlink > 1 ? 0 : (uint64_t)st->st_blocks * 512;
        if (S_ISREG(st->st_mode))
                orphan_wipe_file(w->g, folder, name, st);
        if (S_ISLNK(st->st_mode) && st->st_blocks > 0 && w->g->tier == 2)
                files_miss(w->g, st); /* a long link is in a page without write access */
        return 0;
}

static void orphan_walk(Tracer *g) {
        const GuardEvidence *e = g->evidence;
        OrphanWalk w = {.g = g};
        uint64_t found;

        if (g->scratch >= 0 && folder_empty(g->scratch, orphan_take_entry, &w) < 0)
                files_miss(g, &(struct stat){});
        found = e->scratch_known + w.named;
        if (e->scratch_sum > found) /* files without a name that no process showed */
                count_missed(g, GUARD_MISSED_FILE, e->scratch_sum - found);
}

/* The launch spec, a memory file of fixed size with the program's arguments and environment. */
static void orphan_clear_spec(Tracer *g) {
        uint64_t size, good;
        struct stat st;

        if (g->spec < 0 || fstat(g->spec, &st) < 0)
                return;
        size = (uint64_t)st.st_size;
        good = wipe_range(&g->wipe, g->spec, 0, size);
        g->evidence->bytes_overwritten += good;
        g->evidence->bytes_verified += good;
        g->evidence->bytes_held += good;
        count_missed(g, GUARD_MISSED_FILE, size - good);
}

static int orphan_write_full(int fd, const void *p, size_t n) {
        for (size_t at = 0; at < n;) {
                ssize_t k = write(fd, (const char *)p + at, n - at);

                if (k < 0 && errno != EINTR)
                        return -errno;
                at += k > 0 ? (size_t)k : 0;
        }
        return 0;
}

static int orphan_leave_evidence(Tracer *g) {
        GuardFile f = {.evidence = *g->evidence};
        char name[GUARD_REGION_MAX + sizeof(GUARD_FILE)], draft[sizeof(name) + 1];
        _autoclose_ int fd = -1;
        int e;

        memcpy(f.magic, GUARD_FILE_MAGIC, sizeof(f.magic));
        memcpy(f.region, g->region, sizeof(f.region));
        snprintf(name, sizeof(name), "%s" GUARD_FILE, g->region);
        snprintf(draft, sizeof(draft), "%s~", name);
        fd = openat(g->run, draft, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
        if (fd < 0)
                return -errno;
        e = orphan_write_full(fd, &f, sizeof(f));
        if (e == 0 && (fsync(fd) < 0 || renameat(g->run, draft, g->run, name) < 0))
                e = -errno;
        return e;
}

int orphan_finish(Tracer *g) {
        orphan_walk(g);
        orphan_clear_spec(g);
        return orphan_leave_evidence(g);
}
