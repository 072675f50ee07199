/* Runs: supervisor. */
#include "scrub/early-internal.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/mempolicy.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>

#define ADDRESSES_END 0x7ffffffff000U /* no process has memory above */
#define ENTRY_PRESENT (1ULL << 63)
#define ENTRY_FILE (1ULL << 61)
#define LOOK_PAGES 512 /* in a longer range the areas are read */

int early_scan_begin(Scan *s, pid_t pid, bool areas) {
        char path[64];

        if (areas || s->no_ioctl)
                return scan_begin(s, pid);
        *s = (Scan){.pid = pid, .opened = true, .areas = s->areas, .max_areas = s->max_areas, .own = s->own, .common = s->common, .frames = s->frames,
                    .max_frames = s->max_frames, .found = s->found};
        snprintf(path, sizeof(path), "/proc/%d/pagemap", (int)pid);
        s->pagemap = open(path, O_RDONLY | O_CLOEXEC);
        return s->pagemap < 0 ? -errno : 0;
}

/* A kernel without PAGEMAP_SCAN is known as one only after the first try; there the areas are needed. */
static int scan_range(Scan *s, uint64_t start, uint64_t end) {
        bool knew = s->no_ioctl;
        pid_t pid = s->pid;
        int k = scan_private(s, start, end);

        if (k == 0 && s->no_ioctl && !knew) {
                scan_end(s);
                k = scan_begin(s, pid);
                if (k == 0)
                        k = scan_private(s, start, end);
        }
        return k;
}

/* Pages that wait on the processors' lists have one holder more, so that writing one that fork had shared would copy it. */
static void drain(void) {
        void *page = NULL;
        int node = 0, status;

        syscall(SYS_move_pages, 0, 0UL, &page, &node, &status, MPOL_MF_MOVE);
}

static void count(Early *e, uint64_t bytes, uint64_t overwritten) {
        e->region->notify.freed.bytes += bytes;
        e->region->notify.freed.overwritten += overwritten;
        e->region->notify.freed.missed += bytes - overwritten;
        if (e->open)
                e->region->notify.freed.racing += overwritten;
}

static void wipe(Early *e, const Runs *runs, bool zeros) {
        WipeCount c = {}, again = {};
        uint64_t moved;

        if (runs->bytes == 0)
                return;
        drain();
        wipe_runs(&e->wipe, &e->scan, runs, &c);
        if (zeros && wipe_pattern(&e->wipe, e->wipe.passes - 1) != wipe_pattern(&e->zeros, 0))
                wipe_runs(&e->zeros, &e->scan, runs, &again);
        moved = runs == &e->scan.own ? MIN(scan_moved(&e->scan), c.overwritten) : 0;
        count(e, runs->bytes - c.empty, c.overwritten - moved);
}

void early_wipe_own(Early *e, bool zeros) {
        wipe(e, &e->scan.own, zeros);
}

/* The range could not be looked at, though its owner lives. */
static void count_unseen(Early *e, const struct seccomp_notif *q, const Run *r) {
        if (region_notify_waits(&e->region->notify, q->id))
                count(e, r->end - r->start, 0);
}

/* One that other areas, of this process or of another one of the region, map too is theirs. */
static bool mapped_elsewhere(const Scan *s, const Area *a, const Run *r) {
        for (size_t i = 0; i < s->n_areas; i++) {
                const Area *b = &s->areas[i];

                if (b->inode == a->inode && b->major == a->major && b->minor == a->minor && (!r || b->start < r->start || b->end > r->end))
                        return true;
        }
        return false;
}

static bool mapped_by_others(Early *e, pid_t pid, const Area *a) {
        ProcTree tree = {};
        Scan s = {};
        struct stat st;
        char path[64];
        bool found = false;

        if (proc_tree_walk(&tree, e->region->spawned.pid, PROC_LOOK_CPU) < 0) /* which keeps the list */
                found = true;
        for (size_t i = 0; !found && i < tree.n; i++) {
                snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tree.v[i].pid, (int)pid);
                if (!tree.v[i].alive || stat(path, &st) == 0)
                        continue;
                found = scan_begin(&s, tree.v[i].pid) == 0 && mapped_elsewhere(&s, a, NULL);
                scan_end(&s);
        }
        scan_deinit(&s);
        proc_tree_deinit(&tree);
        return found;
}

static bool has_file_pages(const Scan *s, const Run *r) {
        uint64_t entries[LOOK_PAGES], n = (r->end - r->start) / SCAN_PAGE;
        ssize_t k;

        if (n > LOOK_PAGES)
                return true;
        k = pread(s->pagemap, entries, n * 8, (off_t)(r->start / SCAN_PAGE * 8));
        for (ssize_t i = 0; i < k / 8; i++)
                if ((entries[i] & (ENTRY_PRESENT | ENTRY_FILE)) == (ENTRY_PRESENT | ENTRY_FILE))
                        return true;
        return k < 0;
}

/* Shared anonymous memory in the range; the areas of e->scan are read. */
static void wipe_shared(Early *e, const struct seccomp_notif *q, const Run *r, bool hole) {
        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];
                Area part = *a;
                Runs runs = {};

                if ((a->flags & (AREA_SHARED | AREA_ZERO)) != (AREA_SHARED | AREA_ZERO) || a->end <= r->start || a->start >= r->end)
                        continue;
                if (!hole && (mapped_elsewhere(&e->scan, a, r) || mapped_by_others(e, (pid_t)q->pid, a)))
                        continue;
                part.start = MAX(a->start, r->start);
                part.end = MIN(a->end, r->end);
                if (scan_shared(&e->scan, &part, &runs, NULL) < 0)
                        count_unseen(e, q, r);
                else
                        wipe(e, &runs, hole);
                runs_deinit(&runs);
        }
}

/* A run, or as much of it as a slice has room for. False when the caller is dead. */
static bool step_run(Early *e, EarlyJob *j, uint64_t *room) {
        const Run *r = &j->runs.v[j->i];
        Run part = {j->at, MIN(r->end, j->at + *room)};
        int k = early_scan_begin(&e->scan, (pid_t)j->q.pid, false);

        if (!region_notify_waits(&e->region->notify, j->q.id)) {
                scan_end(&e->scan);
                return false;
        }
        if (k == 0)
                k = scan_range(&e->scan, part.start, part.end);
        if (k == 0)
                early_wipe_own(e, j->zeros);
        else
                count(e, part.end - part.start, 0);
        scan_end(&e->scan);
        *room -= part.end - part.start;
        j->at = part.end;
        if (j->at == r->end && ++j->i < j->runs.n)
                j->at = j->runs.v[j->i].start;
        return true;
}

bool early_maps_file(Early *e, const struct seccomp_notif *q, const Run *r) {
        bool found = early_scan_begin(&e->scan, (pid_t)q->pid, true) < 0;

        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];

                found |= (a->flags & (AREA_SHARED | AREA_ZERO)) == AREA_SHARED && a->start < r->end && a->end > r->start;
        }
        scan_end(&e->scan);
        return found;
}

static void count_copies_of(Early *e, pid_t pid, const struct stat *file, uint64_t length) {
        uint64_t cut = (length + SCAN_PAGE - 1) & ~(uint64_t)(SCAN_PAGE - 1);
        int k = scan_begin(&e->scan, pid);

        for (size_t i = 0; k == 0 && i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];
                uint64_t from = MAX(a->offset, cut);

                if (a->flags & AREA_SHARED || a->inode != file->st_ino || from >= a->offset + (a->end - a->start))
                        continue;
                k = scan_private(&e->scan, a->start + (from - a->offset), a->end);
                if (k == 0)
                        count(e, e->scan.own.bytes + e->scan.common.bytes, 0);
        }
        scan_end(&e->scan);
}

void early_count_copies(Early *e, const struct stat *file, uint64_t length) {
        ProcTree tree = {};

        if (proc_tree_walk(&tree, e->region->spawned.pid, PROC_LOOK_CPU) < 0)
                e->region->notify.freed.unheld++;
        for (size_t i = 0; i < tree.n; i++)
                if (tree.v[i].alive)
                        count_copies_of(e, tree.v[i].pid, file, length);
        proc_tree_deinit(&tree);
}

bool early_write_slice(Early *e, EarlyJob *j) {
        uint64_t room = EARLY_SLICE;

        while (j->i < j->runs.n && room > 0)
                if (!step_run(e, j, &room))
                        return true;
        return j->i == j->runs.n;
}

static int keep_runs(EarlyJob *j, const Runs *from) {
        int k = 0;

        for (size_t i = 0; k == 0 && i < from->n; i++)
                k = runs_add(&j->runs, from->v[i].start, from->v[i].end);
        return k;
}

static void one_range(Early *e, const struct seccomp_notif *q, const Run *r, unsigned flags, EarlyJob **job) {
        bool zeros = flags & EARLY_ZEROS;
        int k = early_scan_begin(&e->scan, (pid_t)q->pid, false);

        if (!region_notify_waits(&e->region->notify, q->id)) {
                scan_end(&e->scan);
                return;
        }
        if (k == 0 && flags & EARLY_PRIVATE)
                k = scan_range(&e->scan, r->start, r->end);
        if (k < 0) {
                count_unseen(e, q, r);
        } else if (flags & EARLY_PRIVATE) {
                count(e, e->scan.swapped_bytes, 0);
                /* More than a slice is done in turns, the caller waits. */
                if (e->scan.own.bytes > EARLY_SLICE && !*job && (*job = early_job(e, q)))
                        (*job)->zeros = zeros;
                if (!*job || keep_runs(*job, &e->scan.own) < 0)
                        early_wipe_own(e, zeros);
        }
        if (k == 0 && flags & (EARLY_SHARED | EARLY_HOLE) && has_file_pages(&e->scan, r)) {
                scan_end(&e->scan);
                if (early_scan_begin(&e->scan, (pid_t)q->pid, true) == 0)
                        wipe_shared(e, q, r, flags & EARLY_HOLE);
                else
                        count_unseen(e, q, r);
        }
        scan_end(&e->scan);
}

NotifyStep early_memory(Early *e, const struct seccomp_notif *q, const Run *ranges, size_t n, unsigned flags) {
        EarlyJob *job = NULL;

        if (e->asking)
                return NOTIFY_LATER;
        e->region->notify.freed.calls++;
        for (size_t i = 0; i < n; i++) {
                Run r = {ranges[i].start, MIN(ranges[i].end, (uint64_t)ADDRESSES_END)};

                if (r.start < r.end)
                        one_range(e, q, &r, flags, &job);
        }
        if (!job)
                return NOTIFY_GO_ON;
        job->at = job->runs.n > 0 ? job->runs.v[0].start : 0;
        early_wake(e, 0);
        return NOTIFY_LATER;
}
