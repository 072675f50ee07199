/* Runs: supervisor. */
#include "scrub/release_hook/hook-internal.h"

#include "base/clock.h"
#include "region/region-tables.h"

#include <errno.h>
#include <stdio.h>

#define ADDRESSES_END 0x7ffffffff000U /* no process has memory above */
#define ENTRY_PRESENT (1ULL << 63)
#define ENTRY_FILE (1ULL << 61)
#define LOOK_PAGES 512 /* in a longer range the areas are read */

void hook_wake(ReleaseHook *e, uint64_t after_usec) {
        *e->deadline = MIN(*e->deadline, clock_mono_usec() + after_usec);
}

HookJob *hook_job(ReleaseHook *e, const struct seccomp_notif *q) {
        if (e->job)
                return e->job;
        for (size_t i = 0; i < HOOK_JOBS_MAX; i++)
                if (e->jobs[i].state == HOOK_JOB_FREE) {
                        e->jobs[i] = (HookJob){.state = HOOK_JOB_WRITING, .q = *q, .serial = ++e->serial,
                                               .open = e->open};
                        return &e->jobs[i];
                }
        return NULL;
}

/* Opens the files for a scan, and reads the memory areas only where needed. Returns 0 or -errno. */
static int memory_scan_begin(PageScan *s, pid_t pid, bool areas) {
        return areas || s->no_ioctl ? scan_begin(s, pid) : scan_begin_plain(s, pid, NULL);
}

/* A kernel without PAGEMAP_SCAN is recognised at the first try; then areas are needed. */
static int memory_scan_range(PageScan *s, uint64_t start, uint64_t end) {
        pid_t pid = s->pid;
        int k = scan_private(s, start, end);

        if (k != -EOPNOTSUPP)
                return k;
        s->no_ioctl = true;
        scan_end(s);
        return scan_begin(s, pid) ?: scan_private(s, start, end);
}

void hook_count(ReleaseHook *e, uint64_t bytes, uint64_t overwritten) {
        e->region->notify.freed.bytes += bytes;
        e->region->notify.freed.overwritten += overwritten;
        e->region->notify.freed.missed += bytes - overwritten;
}

static void memory_count(ReleaseHook *e, uint64_t bytes, uint64_t overwritten) {
        hook_count(e, bytes, overwritten);
        e->region->notify.freed.racing += e->open ? overwritten : 0;
}

static void memory_wipe_runs(ReleaseHook *e, const Runs *runs, bool zeros) {
        WipeCount c = {}, again = {};
        uint64_t moved;

        if (runs->bytes == 0)
                return;
        wipe_drain();
        wipe_runs(&e->wipe, &e->scan, runs, &c);
        if (zeros && wipe_pattern(&e->wipe, e->wipe.passes - 1) != wipe_pattern(&e->zeros, 0))
                wipe_runs(&e->zeros, &e->scan, runs, &again);
        moved = runs == &e->scan.own ? MIN(scan_moved(&e->scan), c.overwritten) : 0;
        memory_count(e, runs->bytes - c.empty, c.overwritten - moved);
}

void hook_wipe_own(ReleaseHook *e, bool zeros) {
        memory_wipe_runs(e, &e->scan.own, zeros);
}

/* The range was unreadable, although its owner lives. */
static void memory_count_unreadable(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *r) {
        if (region_notify_waits(&e->region->notify, q->id))
                memory_count(e, r->end - r->start, 0);
}

/* The mappings of the object behind `part` in other areas, of this process or of further processes of the region. */
typedef enum Elsewhere { ELSEWHERE_NOTHING, ELSEWHERE_SOME, ELSEWHERE_PART } Elsewhere;

static Elsewhere memory_part_within(const Area *part, const Area *b, uint64_t start, uint64_t end) {
        uint64_t from = b->offset + (start - b->start);

        if (start >= end)
                return ELSEWHERE_NOTHING;
        return from <= part->offset && from + (end - start) >= part->offset + (part->end - part->start)
                       ? ELSEWHERE_PART
                       : ELSEWHERE_SOME;
}

/* r: the range given back; NULL: none of this process. */
static Elsewhere memory_mapped_elsewhere(const PageScan *s, const Area *part, const AddressRun *r) {
        Elsewhere most = ELSEWHERE_NOTHING;

        for (size_t i = 0; i < s->n_areas; i++) {
                const Area *b = &s->areas[i];
                uint64_t below = r ? MIN(b->end, r->start) : b->end, above = r ? MAX(b->start, r->end) : b->end;

                if (b->inode != part->inode || b->major != part->major || b->minor != part->minor)
                        continue;
                most = MAX(most, memory_part_within(part, b, b->start, below));
                most = MAX(most, memory_part_within(part, b, above, b->end));
        }
        return most;
}

static Elsewhere memory_mapped_by_others(ReleaseHook *e, pid_t pid, const Area *part) {
        ProcTree tree = {};
        Elsewhere most = ELSEWHERE_NOTHING;
        PageScan s = {};
        struct stat st;

        if (proc_tree_walk(&tree, e->region->spawned.pid, PROC_LOOK_CPU) < 0) /* PROC_LOOK_CPU keeps the list */
                most = ELSEWHERE_SOME;
        for (size_t i = 0; most < ELSEWHERE_PART && i < tree.n; i++) {
                if (!tree.v[i].alive || stat(PROC_PATH("%d/task/%d", tree.v[i].pid, pid), &st) == 0)
                        continue;
                if (scan_begin(&s, tables_teller(tree.v[i].pid)) == 0)
                        most = MAX(most, memory_mapped_elsewhere(&s, part, NULL));
                scan_end(&s);
        }
        scan_deinit(&s);
        proc_tree_deinit(&tree);
        return most;
}

static bool memory_has_file_pages(const PageScan *s, const AddressRun *r) {
        uint64_t entries[LOOK_PAGES], n = (r->end - r->start) / SCAN_PAGE;
        ssize_t k;

        if (n > LOOK_PAGES)
                return true;
        k = pread(s->pagemap, entries, n * 8, (off_t)(r->start / SCAN_PAGE * 8));
        for (ssize_t i = 0; i < k / 8; i++)
                if ((entries[i] & (ENTRY_PRESENT | ENTRY_FILE)) == (ENTRY_PRESENT | ENTRY_FILE))
                        return true;
        return k < 0 || scan_shares(s->pid, r->start, r->end, NULL);
}

static bool memory_is_shared(const Area *a) {
        return (a->flags & (AREA_SHARED | AREA_ZERO)) == (AREA_SHARED | AREA_ZERO);
}

static Area memory_part(const Area *a, const AddressRun *r) {
        Area part = *a;

        part.start = MAX(a->start, r->start);
        part.end = MIN(a->end, r->end);
        part.offset += part.start - a->start;
        return part;
}

static void memory_wipe_object(ReleaseHook *e, int fd) {
        WipeCount c = {};

        if (wipe_file(&e->wipe, fd, &c) < 0)
                c.denied += SCAN_PAGE;
        memory_count(e, c.overwritten + c.denied + c.mismatched, c.overwritten);
}

/* An object may have pages without an entry here: another mapper wrote them, or the process dropped them. */
static void memory_wipe_through_process(ReleaseHook *e, const struct seccomp_notif *q, const Area *part, bool hole) {
        Runs runs = {}, absent = {};

        if (scan_shared(&e->scan, part, &runs, &absent) < 0)
                memory_count_unreadable(e, q, &(AddressRun){part->start, part->end});
        else {
                memory_wipe_runs(e, &runs, hole);
                memory_count(e, absent.bytes, 0);
        }
        runs_deinit(&runs);
        runs_deinit(&absent);
}

void hook_count_shared(ReleaseHook *e, const struct seccomp_notif *q) {
        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];

                if (memory_is_shared(a) && memory_mapped_by_others(e, (pid_t)q->pid, a) == ELSEWHERE_NOTHING)
                        memory_count(e, a->end - a->start, 0);
        }
}

/* Shared anonymous memory in the range; the areas of e->scan are read. */
static void memory_wipe_shared(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *r, bool hole) {
        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i], part = memory_part(a, r);
                _cleanup_close_ int object = -1;
                Elsewhere others;

                if (!memory_is_shared(a) || part.start >= part.end)
                        continue;
                others = hole ? ELSEWHERE_NOTHING : memory_mapped_elsewhere(&e->scan, &part, r);
                if (!hole && others < ELSEWHERE_PART)
                        others = MAX(others, memory_mapped_by_others(e, (pid_t)q->pid, &part));
                if (others == ELSEWHERE_PART)
                        continue;
                object = hole ? -1 : scan_open_object((pid_t)q->pid, a);
                if (!region_notify_waits(&e->region->notify, q->id))
                        return; /* dead, and its pid may be reused */
                if (others == ELSEWHERE_NOTHING && object >= 0)
                        memory_wipe_object(e, object); /* the whole object, with its unmapped parts */
                else if (others == ELSEWHERE_NOTHING)
                        memory_wipe_through_process(e, q, &part, hole);
                else if (object < 0)
                        memory_count(e, part.end - part.start, 0); /* out of reach for the last mapper, too */
        }
}

/* Overwrites a run, or its first part up to *room bytes. False when the caller is dead. */
static bool memory_wipe_next_run(ReleaseHook *e, HookJob *j, uint64_t *room) {
        const AddressRun *r = &j->runs.v[j->i];
        AddressRun part = {j->at, MIN(r->end, j->at + *room)};
        int k = memory_scan_begin(&e->scan, (pid_t)j->q.pid, false);

        if (!region_notify_waits(&e->region->notify, j->q.id)) {
                scan_end(&e->scan);
                return false;
        }
        if (k == 0)
                k = memory_scan_range(&e->scan, part.start, part.end);
        if (k == 0)
                hook_wipe_own(e, j->zeros);
        else
                memory_count(e, part.end - part.start, 0);
        scan_end(&e->scan);
        *room -= part.end - part.start;
        j->at = part.end;
        if (j->at == r->end && ++j->i < j->runs.n)
                j->at = j->runs.v[j->i].start;
        return true;
}

bool hook_maps_file(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *r) {
        bool found = memory_scan_begin(&e->scan, (pid_t)q->pid, true) < 0;

        for (size_t i = 0; i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];

                found |=
                        (a->flags & (AREA_SHARED | AREA_ZERO)) == AREA_SHARED && a->start < r->end && a->end > r->start;
        }
        scan_end(&e->scan);
        return found;
}

static void memory_count_copies(ReleaseHook *e, pid_t pid, const struct stat *file, uint64_t length) {
        uint64_t cut = scan_whole_pages(length);
        int k = scan_begin(&e->scan, pid);

        for (size_t i = 0; k == 0 && i < e->scan.n_areas; i++) {
                const Area *a = &e->scan.areas[i];
                uint64_t from = MAX(a->offset, cut);

                if (a->flags & AREA_SHARED || a->inode != file->st_ino || from >= a->offset + (a->end - a->start))
                        continue;
                k = scan_private(&e->scan, a->start + (from - a->offset), a->end);
                if (k == 0)
                        memory_count(e, e->scan.own.bytes + e->scan.common.bytes, 0);
        }
        scan_end(&e->scan);
}

void hook_count_copies(ReleaseHook *e, const struct stat *file, uint64_t length) {
        ProcTree tree = {};

        if (proc_tree_walk(&tree, e->region->spawned.pid, PROC_LOOK_CPU) < 0)
                e->region->notify.freed.unheld++;
        for (size_t i = 0; i < tree.n; i++)
                if (tree.v[i].alive)
                        memory_count_copies(e, tables_teller(tree.v[i].pid), file, length);
        proc_tree_deinit(&tree);
}

bool hook_write_slice(ReleaseHook *e, HookJob *j) {
        uint64_t room = HOOK_SLICE;

        while (j->i < j->runs.n && room > 0)
                if (!memory_wipe_next_run(e, j, &room))
                        return true;
        return j->i == j->runs.n;
}

static int memory_keep_runs(HookJob *j, const Runs *from) {
        int k = 0;

        for (size_t i = 0; k == 0 && i < from->n; i++)
                k = runs_add(&j->runs, from->v[i].start, from->v[i].end);
        return k;
}

static void memory_wipe_range(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *r, unsigned flags,
                              HookJob **job) {
        bool zeros = flags & HOOK_ZEROS;
        int k = memory_scan_begin(&e->scan, (pid_t)q->pid, false);

        if (!region_notify_waits(&e->region->notify, q->id)) {
                scan_end(&e->scan);
                return;
        }
        if (k == 0 && flags & HOOK_PRIVATE)
                k = memory_scan_range(&e->scan, r->start, r->end);
        if (k < 0) {
                memory_count_unreadable(e, q, r);
        } else if (flags & HOOK_PRIVATE) {
                memory_count(e, e->scan.swapped_bytes, 0);
                /* More than a slice is done in turns while the caller waits. */
                if (e->scan.own.bytes > HOOK_SLICE && !*job && (*job = hook_job(e, q)))
                        (*job)->zeros = zeros;
                if (!*job || memory_keep_runs(*job, &e->scan.own) < 0)
                        hook_wipe_own(e, zeros);
        }
        if (k == 0 && flags & (HOOK_SHARED | HOOK_HOLE) && memory_has_file_pages(&e->scan, r)) {
                scan_end(&e->scan);
                if (memory_scan_begin(&e->scan, (pid_t)q->pid, true) == 0)
                        memory_wipe_shared(e, q, r, flags & HOOK_HOLE);
                else
                        memory_count_unreadable(e, q, r);
        }
        scan_end(&e->scan);
}

/* The last mapper gives common pages back. Two mappers at the same moment would leave a page to each other. */
static void memory_look_for_common(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *r, bool shared) {
        int k = memory_scan_begin(&e->scan, (pid_t)q->pid, false);

        if (k == 0)
                k = memory_scan_range(&e->scan, r->start, r->end);
        e->common |= k < 0 || e->scan.common.bytes > 0 ||
                     (shared && scan_shares((pid_t)q->pid, r->start, r->end, NULL));
        scan_end(&e->scan);
}

NotifyStep hook_memory(ReleaseHook *e, const struct seccomp_notif *q, const AddressRun *ranges, size_t n,
                       unsigned flags) {
        HookJob *job = NULL;

        if (e->asking) {
                for (size_t i = 0; flags & HOOK_PRIVATE && !e->common && i < n; i++)
                        memory_look_for_common(
                                e, q, &(AddressRun){ranges[i].start, MIN(ranges[i].end, (uint64_t)ADDRESSES_END)},
                                flags & HOOK_SHARED);
                return NOTIFY_LATER;
        }
        e->region->notify.freed.calls++;
        for (size_t i = 0; i < n; i++) {
                AddressRun r = {ranges[i].start, MIN(ranges[i].end, (uint64_t)ADDRESSES_END)};

                if (r.start < r.end)
                        memory_wipe_range(e, q, &r, flags, &job);
        }
        if (!job)
                return NOTIFY_GO_ON;
        job->at = job->runs.n > 0 ? job->runs.v[0].start : 0;
        hook_wake(e, 0);
        return NOTIFY_LATER;
}
