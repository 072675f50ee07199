/* Shared memory: an object of the kernel that several processes map. The last mapper of the region overwrites it. */
#include "scrub/tracer/state.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>

/* Without root, pages outside of all page tables are reached only by mapping them in. Where holes_look() cannot tell
 * which exist, all of the object's pages are written, up to this limit. */
#define ABSENT_MAX (64ULL << 20)
#define SEEN_LOG 15
#define SEEN_BITS (1U << SEEN_LOG)

/* Says whether the area is of the kernel's own file system for shared memory, which also has the memory files. Its own
 * /proc/self/pagemap is closed to a process that is not dumpable. */
static bool shared_is_kernel_device(const Area *a) {
        static dev_t dev;

        if (dev == 0) {
                _autoclose_ int fd = memfd_create("", MFD_CLOEXEC);
                struct stat st;

                if (fd >= 0 && fstat(fd, &st) == 0)
                        dev = st.st_dev;
        }
        return dev != 0 && a->major == major(dev) && a->minor == minor(dev);
}

/* In tier landlock the scratch is a folder on a file system of the host: files deleted elsewhere on it, such as a
 * replaced library, belong to processes outside, too. */
static bool shared_is_on_scratch(const Tracer *g, const Area *a) {
        return g->scratch >= 0 && a->major == major(g->scratch_dev) && a->minor == minor(g->scratch_dev) &&
               (g->tier == 2 || a->flags & AREA_BELOW);
}

static bool shared_same_object(const Area *a, const Area *b) {
        return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

static int shared_compare(const void *a, const void *b) {
        const Object *x = a, *y = b;

        return x->dev != y->dev ? (x->dev > y->dev) - (x->dev < y->dev) : (x->inode > y->inode) - (x->inode < y->inode);
}

static Object shared_object(const Area *a) {
        return (Object){makedev(a->major, a->minor), a->inode};
}

static int shared_add_object(ObjectList *o, const Area *a) {
        if (o->n == o->max && array_grow(&o->v, &o->max, 16, sizeof(*o->v)) < 0)
                return -ENOMEM;
        o->v[o->n++] = shared_object(a);
        return 0;
}

/* Lists pid's shared objects and deleted files. Unreadable: none, and objects are overwritten too early, or twice. */
static void shared_list_objects(Tracer *g, pid_t pid, ObjectList *o) {
        o->n = 0;
        if (maps_read(&g->other, pid) < 0)
                return;
        for (size_t i = 0; i < g->other.n_areas; i++) {
                const Area *a = &g->other.areas[i];

                if (a->inode != 0 && a->flags & (AREA_SHARED | AREA_DELETED) && shared_add_object(o, a) < 0)
                        abort();
        }
        qsort(o->v, o->n, sizeof(*o->v), shared_compare);
        g->evidence->beats++;
}

/* At the exit stop of a space's last user the list is final; else each end of a space reads it again. */
static bool shared_maps_object(Tracer *g, const Task *k, const Object *what) {
        Space *s = k->space;

        if (s->looked_at != g->look && !s->objects_final) {
                shared_list_objects(g, k->pid, &s->objects);
                s->objects_final = s->last != NULL;
        }
        s->looked_at = g->look;
        return s->objects.n > 0 && bsearch(what, s->objects.v, s->objects.n, sizeof(*what), shared_compare);
}

static bool shared_mapped_elsewhere(Tracer *g, const Task *t, const Area *a) {
        Object what = shared_object(a);

        for (const Task *k = task_first(g); k; k = task_next(g, k))
                if (k->space && k->space != t->space && k->state != TASK_LEAVING &&
                    shared_maps_object(g, k, &what))
                        return true;
        if (g->init <= 0)
                return false;
        if (g->init_looked_at != g->look)
                shared_list_objects(g, g->init, &g->init_objects);
        g->init_looked_at = g->look;
        return g->init_objects.n > 0 &&
               bsearch(&what, g->init_objects.v, g->init_objects.n, sizeof(what), shared_compare);
}

static void shared_clear_through_file(Tracer *g, int fd) {
        WipeCount count = {};

        if (wipe_file(&g->wipe, fd, &count) < 0)
                g->evidence->processes_missed++;
        g->evidence->shared_bytes += count.overwritten;
        count_wiped(g, &count, GUARD_MISSED_DENIED);
}

/* Says whether an earlier area maps a part of the same object. */
static bool shared_overlaps_before(const PageScan *s, const Area *a) {
        for (const Area *b = s->areas; b < a; b++)
                if (b->flags & AREA_SHARED && shared_same_object(a, b) && b->offset < a->offset + (a->end - a->start) &&
                    a->offset < b->offset + (b->end - b->start))
                        return true;
        return false;
}

/* All areas of an object are cleared at the end of its last mapping process. */
static void shared_note_object(Tracer *g, const Area *a, uint64_t bytes) {
        GuardEvidence *e = g->evidence;
        const uint64_t device = (uint64_t)a->major << 32 | a->minor;

        for (uint32_t i = e->objects; i > 0; i--)
                if (e->object[i - 1].inode == a->inode && e->object[i - 1].device == device) {
                        e->object[i - 1].bytes += bytes;
                        return;
                }
        if (e->objects < GUARD_OBJECTS_MAX)
                e->object[e->objects++] = (GuardObject){device, a->inode, bytes};
        else {
                e->more_objects += bytes > 0;
                e->more_object_bytes += bytes;
        }
}

/* A page added to the file by the overwriting is none of the bytes that the scratch held before. */
static void shared_clear_through_process(Tracer *g, const Area *a) {
        bool file = !(a->flags & AREA_ZERO);
        uint64_t before = file ? files_bytes(g) : 0, bytes, after;
        Runs present = {}, absent = {}, all = {};
        WipeCount count = {};

        if (scan_shared(&g->scan, a, &present, &absent) < 0)
                count.denied += a->end - a->start;
        else if (!file && absent.bytes > 0 && holes_look(g, a, &absent, &all) == 0)
                wipe_runs(&g->wipe, &g->scan, &all, &count);
        else {
                wipe_runs(&g->wipe, &g->scan, &present, &count);
                if (absent.bytes <= ABSENT_MAX)
                        wipe_runs(&g->wipe, &g->scan, &absent, &count);
                else
                        count.denied += absent.bytes;
        }
        runs_deinit(&present);
        runs_deinit(&absent);
        runs_deinit(&all);
        g->evidence->shared_bytes += count.overwritten;
        count_wiped(g, &count, GUARD_MISSED_DENIED);
        if (shared_overlaps_before(&g->scan, a))
                bytes = 0;
        else /* for an object, its length: bytes beyond were not judged */
                bytes = file ? count.overwritten + count.denied + count.mismatched : a->end - a->start;
        if (!file) {
                shared_note_object(g, a, bytes);
                return;
        }
        after = files_bytes(g);
        if (after > before)
                bytes = bytes > after - before ? bytes - (after - before) : 0;
        files_known(g, bytes);
}

/* An object mapped in several areas is cleared once through its file; through the process each area clears its own
 * part. `bits` spares most of the comparisons with earlier areas: there may be tens of thousands. */
static bool shared_seen_before(const PageScan *s, size_t i, uint64_t bits[static SEEN_BITS / 64]) {
        uint64_t bit = s->areas[i].inode * 0x9e3779b97f4a7c15ULL >> (64 - SEEN_LOG), *word = &bits[bit / 64];
        bool may = *word & 1ULL << bit % 64;

        *word |= 1ULL << bit % 64;
        for (size_t k = 0; may && k < i; k++)
                if (s->areas[k].flags & AREA_SHARED && shared_same_object(&s->areas[k], &s->areas[i]))
                        return true;
        return false;
}

static void shared_clear_anonymous(Tracer *g, const Task *t, size_t i, uint64_t *bits) {
        const Area *a = &g->scan.areas[i];
        _autoclose_ int fd = -1;

        g->evidence->beats++;
        if (shared_mapped_elsewhere(g, t, a))
                return;
        fd = scan_open_object(t->pid, a);
        if (fd < 0)
                shared_clear_through_process(g, a);
        else if (!shared_seen_before(&g->scan, i, bits))
                shared_clear_through_file(g, fd);
}

/* A mapped deleted file of the scratch, perhaps without a descriptor. Its link count proves the deletion. */
static void shared_keep_file(Tracer *g, const Task *t, const Area *a) {
        int fd;

        if (files_kept(g, makedev(a->major, a->minor), a->inode))
                return;
        fd = scan_open_object(t->pid, a);
        if (fd >= 0 && files_keep_fd(g, fd) == 0)
                return;
        if (shared_mapped_elsewhere(g, t, a))
                return;
        if (a->flags & AREA_SHARED && g->tier == 2)
                shared_clear_through_process(g, a);
        else {
                count_missed(g, GUARD_MISSED_FILE, a->end - a->start);
                files_known(g, a->end - a->start);
        }
}

static bool shared_is_anonymous(const Area *a) {
        return a->flags & AREA_SHARED && a->flags & AREA_ZERO && shared_is_kernel_device(a);
}

bool shared_any(Tracer *g, const Task *t) {
        g->look++;
        for (size_t i = 0; i < g->scan.n_areas; i++)
                if (shared_is_anonymous(&g->scan.areas[i]) && !shared_mapped_elsewhere(g, t, &g->scan.areas[i]))
                        return true;
        return false;
}

bool shared_some(const Tracer *g) {
        for (size_t i = 0; i < g->scan.n_areas; i++)
                if (shared_is_anonymous(&g->scan.areas[i]))
                        return true;
        return false;
}

void shared_clear(Tracer *g, const Task *t) {
        uint64_t bits[SEEN_BITS / 64] = {};

        g->look++;
        for (size_t i = 0; i < g->scan.n_areas; i++) {
                const Area *a = &g->scan.areas[i];

                if (shared_is_anonymous(a))
                        shared_clear_anonymous(g, t, i, bits);
                else if (a->flags & AREA_DELETED && shared_is_on_scratch(g, a))
                        shared_keep_file(g, t, a);
        }
}
