/* Runs: supervisor. */
#include "scrub/release_hook/hook-internal.h"

#include "region/region-tables.h"

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

int hook_scan_begin(Scan *s, pid_t pid, bool areas) {
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

static void count(Hook *e, uint64_t bytes, uint64_t overwritten) {
        e->region->notify.freed.bytes += bytes;
        e->region->notify.freed.overwritten += overwritten;
        e->region->notify.freed.missed += bytes - overwritten;
        if (e->open)
                e->region->notify.freed.racing += overwritten;
}

static void wipe(Hook *e, const Runs *runs, bool zeros) {
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

void hook_wipe_own(Hook *e, bool zeros) {
        wipe(e, &e->scan.own, zeros);
}

/* The range could not be looked at, though its owner lives. */
static void count_unseen(Hook *e, const struct seccomp_notif *q, const Run *r) {
        if (region_notify_waits(&e->region->notify, q->id))
                count(e, r->end - r->start, 0);
}

/* What other areas, of this process or of another one of the region, map of the object that `part` is of. */
typedef enum Elsewhere { ELSEWHERE_NOTHING, ELSEWHERE_SOME, ELSEWHERE_PART } Elsewhere;

static Elsewhere part_within(const Area *part, const Area *b, uint64_t start, uint64_t end) {
        uint64_t from = b->offset + (start - b->start);

        if (start >= end)
                return ELSEWHERE_NOTHING;
        return from <= part->offset && from + (end - start) >= part->offset + (part->end - part->start) ? ELSEWHERE_PART : ELSEWHERE_SOME;
}

/* r: what goes; NULL: nothing of this process. */
static Elsewhere mapped_elsewhere(const Scan *s, const Area *part, const Run *r) {
        Elsewhere most = ELSEWHERE_NOTHING;

        for (size_t i = 0; i < s->n_areas; i++) {
                const Area *b = &s->areas[i];
                uint64_t below = r ? MIN(b->end, r->start) : b->end, above = r ? MAX(b->start, r->end) : b->end;

                if (b->inode != part->inode || b->major != part->major || b->minor != part->minor)
                        continue;
                most = MAX(most, part_within(part, b, b->start, below));
                most = MAX(most, part_within(part, b, above, b->end));
        }
        return most;
}

static Elsewhere mapped_by_others(Hook *e, pid_t pid, const Area *part) {
        ProcTree tree = {};
        Elsewhere most = ELSEWHERE_NOTHING;
        Scan s = {};
        struct stat st;
        char path[64];

        if (proc_tree_walk(&tree, e->region->spawned.pid, PROC_LOOK_CPU) < 0) /* which keeps the list */
                most = ELSEWHERE_SOME;
        for (size_t i = 0; most < ELSEWHERE_PART && i < tree.n; i++) {
                snprintf(path, sizeof(path), "/proc/%d/task/%d", (int)tree.v[i].pid, (int)pid);
                if (!tree.v[i].alive || stat(path, &st) == 0)
                        continue;
                if (scan_begin(&s, tables_teller(tree.v[i].pid)) == 0)
                        most = MAX(most, mapped_elsewhere(&s, part, NULL));
                scan_end(&s);
        }
        scan_deinit(&s);
        proc_tree_deinit(&tree);
        return most;
}

/* The object behind an area: root is allowed that. */
static int open_object(pid_t pid, const Area *a) {
        char path[96];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)a->start, (unsigned long long)a->end);
        fd = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
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
        return k < 0 || scan_shares(s->pid, r->start, r->end);
}

static bool is_shared(const Area *a) {
        return (a->flags & (AREA_SHARED | AREA_ZERO)) == (AREA_SHARED | AREA_ZERO);
}

static Area part_of(const Area *a, const Run *r) {
        Area part = *a;

        part.start = MAX(a->start, r->start);
        part.end = MIN(a->end, r->end);
        part.offset += part.start - a->start;
        return part;
}

static void wipe_object(Hook *e, int fd) {
        WipeCount c = {};

        if (wipe_file(&e->wipe, fd, &c) < 0)
                c.denied += SCAN_PAGE;
        count(e, c.overwritten + c.denied + c.mismatched, c.overwritten);
}

/* An object has pages that the process has no entry for: another one wrote them, or it gave the entries back. */
static void wipe_through_process(Hook *e, const struct seccomp_notif *q, const Area *part, bool hole) {
        Runs runs = {}, absent = {};

        if (scan_shared(&e->scan, part, &runs, &absent) < 0)
                count_unseen(e, q, &(Run){part->start, part->end});
        else {
                wipe(e, &runs, hole);
                count(e, absent.bytes, 0);
        }
        runs_deinit(&runs);
        runs_deinit(&absent);
}

void hook_count_shared(Hook *e, const struct seccomp_notif *q) {
        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];

                if (is_shared(a) && mapped_by_others(e, (pid_t)q->pid, a) == ELSEWHERE_NOTHING)
                        count(e, a->end - a->start, 0);
        }
}

/* Shared anonymous memory in the range; the areas of e->scan are read. */
static void wipe_shared(Hook *e, const struct seccomp_notif *q, const Run *r, bool hole) {
        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i], part = part_of(a, r);
                _cleanup_close_ int object = -1;
                Elsewhere others;

                if (!is_shared(a) || part.start >= part.end)
                        continue;
                others = hole ? ELSEWHERE_NOTHING : mapped_elsewhere(&e->scan, &part, r);
                if (!hole && others < ELSEWHERE_PART)
                        others = MAX(others, mapped_by_others(e, (pid_t)q->pid, &part));
                if (others == ELSEWHERE_PART)
                        continue;
                object = hole ? -1 : open_object((pid_t)q->pid, a);
                if (!region_notify_waits(&e->region->notify, q->id))
                        return; /* dead, and its pid may be another's */
                if (others == ELSEWHERE_NOTHING && object >= 0)
                        wipe_object(e, object); /* all of it, also what nobody maps any more */
                else if (others == ELSEWHERE_NOTHING)
                        wipe_through_process(e, q, &part, hole);
                else if (object < 0)
                        count(e, part.end - part.start, 0); /* whoever is the last to map some of it does not reach this */
        }
}

/* A run, or as much of it as a slice has room for. False when the caller is dead. */
static bool step_run(Hook *e, HookJob *j, uint64_t *room) {
        const Run *r = &j->runs.v[j->i];
        Run part = {j->at, MIN(r->end, j->at + *room)};
        int k = hook_scan_begin(&e->scan, (pid_t)j->q.pid, false);

        if (!region_notify_waits(&e->region->notify, j->q.id)) {
                scan_end(&e->scan);
                return false;
        }
        if (k == 0)
                k = scan_range(&e->scan, part.start, part.end);
        if (k == 0)
                hook_wipe_own(e, j->zeros);
        else
                count(e, part.end - part.start, 0);
        scan_end(&e->scan);
        *room -= part.end - part.start;
        j->at = part.end;
        if (j->at == r->end && ++j->i < j->runs.n)
                j->at = j->runs.v[j->i].start;
        return true;
}

bool hook_maps_file(Hook *e, const struct seccomp_notif *q, const Run *r) {
        bool found = hook_scan_begin(&e->scan, (pid_t)q->pid, true) < 0;

        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];

                found |= (a->flags & (AREA_SHARED | AREA_ZERO)) == AREA_SHARED && a->start < r->end && a->end > r->start;
        }
        scan_end(&e->scan);
        return found;
}

static void count_copies_of(Hook *e, pid_t pid, const struct stat *file, uint64_t length) {
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

void hook_count_copies(Hook *e, const struct stat *file, uint64_t length) {
        ProcTree tree = {};

        if (proc_tree_walk(&tree, e->region->spawned.pid, PROC_LOOK_CPU) < 0)
                e->region->notify.freed.unheld++;
        for (size_t i = 0; i < tree.n; i++)
                if (tree.v[i].alive)
                        count_copies_of(e, tables_teller(tree.v[i].pid), file, length);
        proc_tree_deinit(&tree);
}

bool hook_write_slice(Hook *e, HookJob *j) {
        uint64_t room = HOOK_SLICE;

        while (j->i < j->runs.n && room > 0)
                if (!step_run(e, j, &room))
                        return true;
        return j->i == j->runs.n;
}

static int keep_runs(HookJob *j, const Runs *from) {
        int k = 0;

        for (size_t i = 0; k == 0 && i < from->n; i++)
                k = runs_add(&j->runs, from->v[i].start, from->v[i].end);
        return k;
}

static void one_range(Hook *e, const struct seccomp_notif *q, const Run *r, unsigned flags, HookJob **job) {
        bool zeros = flags & HOOK_ZEROS;
        int k = hook_scan_begin(&e->scan, (pid_t)q->pid, false);

        if (!region_notify_waits(&e->region->notify, q->id)) {
                scan_end(&e->scan);
                return;
        }
        if (k == 0 && flags & HOOK_PRIVATE)
                k = scan_range(&e->scan, r->start, r->end);
        if (k < 0) {
                count_unseen(e, q, r);
        } else if (flags & HOOK_PRIVATE) {
                count(e, e->scan.swapped_bytes, 0);
                /* More than a slice is done in turns, the caller waits. */
                if (e->scan.own.bytes > HOOK_SLICE && !*job && (*job = hook_job(e, q)))
                        (*job)->zeros = zeros;
                if (!*job || keep_runs(*job, &e->scan.own) < 0)
                        hook_wipe_own(e, zeros);
        }
        if (k == 0 && flags & (HOOK_SHARED | HOOK_HOLE) && has_file_pages(&e->scan, r)) {
                scan_end(&e->scan);
                if (hook_scan_begin(&e->scan, (pid_t)q->pid, true) == 0)
                        wipe_shared(e, q, r, flags & HOOK_HOLE);
                else
                        count_unseen(e, q, r);
        }
        scan_end(&e->scan);
}

/* Pages that another process maps, too, are given back by the last of them. When two go at one moment, each would leave them to the other. */
static void look_for_common(Hook *e, const struct seccomp_notif *q, const Run *r, bool shared) {
        int k = hook_scan_begin(&e->scan, (pid_t)q->pid, false);

        if (k == 0)
                k = scan_range(&e->scan, r->start, r->end);
        e->common |= k < 0 || e->scan.common.bytes > 0 || (shared && scan_shares((pid_t)q->pid, r->start, r->end));
        scan_end(&e->scan);
}

NotifyStep hook_memory(Hook *e, const struct seccomp_notif *q, const Run *ranges, size_t n, unsigned flags) {
        HookJob *job = NULL;

        if (e->asking) {
                for (size_t i = 0; flags & HOOK_PRIVATE && !e->common && i < n; i++)
                        look_for_common(e, q, &(Run){ranges[i].start, MIN(ranges[i].end, (uint64_t)ADDRESSES_END)}, flags & HOOK_SHARED);
                return NOTIFY_LATER;
        }
        e->region->notify.freed.calls++;
        for (size_t i = 0; i < n; i++) {
                Run r = {ranges[i].start, MIN(ranges[i].end, (uint64_t)ADDRESSES_END)};

                if (r.start < r.end)
                        one_range(e, q, &r, flags, &job);
        }
        if (!job)
                return NOTIFY_GO_ON;
        job->at = job->runs.n > 0 ? job->runs.v[0].start : 0;
        hook_wake(e, 0);
        return NOTIFY_LATER;
}
