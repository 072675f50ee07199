/* Shared memory: an object of the kernel's that several processes map. The last of the region that maps it overwrites it. */
#include "scrub/tracer/state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/sysmacros.h>
#include <unistd.h>

/* As an ordinary user, what of an object is in no page table is reached only by mapping it in. Where holes_look() cannot tell what exists, all of it is, up
 * to this. */
#define ABSENT_MAX (64ULL << 20)
#define SEEN_LOG 15
#define SEEN_BITS (1U << SEEN_LOG)

/* Is it of the kernel's own file system for shared memory, where a memory file is, too? Looking at an area of ours would take root: what
 * cannot be dumped may not open its own /proc/self/pagemap. */
static bool kernel_device(const Area *a) {
        static dev_t dev;

        if (dev == 0) {
                int fd = memfd_create("", MFD_CLOEXEC);
                struct stat st;

                if (fd >= 0 && fstat(fd, &st) == 0)
                        dev = st.st_dev;
                if (fd >= 0)
                        close(fd);
        }
        return dev != 0 && a->major == major(dev) && a->minor == minor(dev);
}

/* In tier landlock the scratch is a folder on a file system of the host's: what was deleted elsewhere on it, a library that was replaced by a
 * newer one, is other processes' as well. */
static bool on_scratch(const Guard *g, const Area *a) {
        return g->scratch >= 0 && a->major == major(g->scratch_dev) && a->minor == minor(g->scratch_dev) &&
               (g->tier == 2 || a->flags & AREA_BELOW);
}

static bool same_object(const Area *a, const Area *b) {
        return a->inode == b->inode && a->major == b->major && a->minor == b->minor;
}

static int compare(const void *a, const void *b) {
        const Object *x = a, *y = b;

        return x->dev != y->dev ? (x->dev > y->dev) - (x->dev < y->dev) : (x->inode > y->inode) - (x->inode < y->inode);
}

static Object object_of(const Area *a) {
        return (Object){makedev(a->major, a->minor), a->inode};
}

static int add_object(Objects *o, const Area *a) {
        if (o->n == o->max) {
                size_t max = o->max ? o->max * 2 : 16;
                Object *v = realloc(o->v, max * sizeof(*v));

                if (!v)
                        return -ENOMEM;
                o->v = v;
                o->max = max;
        }
        o->v[o->n++] = object_of(a);
        return 0;
}

/* Which shared objects and deleted files pid maps. What cannot be looked at maps nothing: then one object is overwritten too early, or twice. */
static void list_objects(Guard *g, pid_t pid, Objects *o) {
        o->n = 0;
        if (areas_of(&g->other, pid) < 0)
                return;
        for (size_t i = 0; i < g->other.n_areas; i++) {
                const Area *a = &g->other.areas[i];

                if (a->inode != 0 && a->flags & (AREA_SHARED | AREA_DELETED) && add_object(o, a) < 0)
                        abort();
        }
        qsort(o->v, o->n, sizeof(*o->v), compare);
        g->evidence->beats++;
}

/* At the exit stop of a space's last user nothing changes any more, so once is enough; else each end of a space looks again. */
static bool maps_object(Guard *g, const Task *k, const Object *what) {
        Space *s = k->space;

        if (s->looked_at != g->look && !s->objects_final) {
                list_objects(g, k->pid, &s->objects);
                s->objects_final = s->last != NULL;
        }
        s->looked_at = g->look;
        return s->objects.n > 0 && bsearch(what, s->objects.v, s->objects.n, sizeof(*what), compare);
}

static bool mapped_elsewhere(Guard *g, const Task *t, const Area *a) {
        Object what = object_of(a);

        for (size_t i = 0; i < BUCKETS; i++)
                for (const Task *k = g->buckets[i]; k; k = k->next)
                        if (k->space && k->space != t->space && k->state != TASK_LEAVING && maps_object(g, k, &what))
                                return true;
        if (g->init <= 0)
                return false;
        if (g->init_looked_at != g->look)
                list_objects(g, g->init, &g->init_objects);
        g->init_looked_at = g->look;
        return g->init_objects.n > 0 && bsearch(&what, g->init_objects.v, g->init_objects.n, sizeof(what), compare);
}

/* The file behind an area: root is allowed that. */
static int open_object(pid_t pid, const Area *a) {
        char path[96];
        int fd;

        snprintf(path, sizeof(path), "/proc/%d/map_files/%llx-%llx", (int)pid, (unsigned long long)a->start, (unsigned long long)a->end);
        fd = openat(AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
        return fd < 0 ? -errno : fd;
}

static void clear_through_file(Guard *g, int fd) {
        WipeCount count = {};

        if (wipe_file(&g->wipe, fd, &count) < 0)
                g->evidence->processes_missed++;
        g->evidence->shared_bytes += count.overwritten;
        count_wiped(g, &count);
}

/* Is a part of the area's object mapped a second time, by an area before it? */
static bool overlaps_before(const Scan *s, const Area *a) {
        for (const Area *b = s->areas; b < a; b++)
                if (b->flags & AREA_SHARED && same_object(a, b) && b->offset < a->offset + (a->end - a->start) && a->offset < b->offset + (b->end - b->start))
                        return true;
        return false;
}

/* The areas of one object are cleared at the end of one process, the last that maps it. */
static void note_object(Guard *g, const Area *a, uint64_t bytes) {
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

/* A page that the file did not have gets one when it is overwritten, and is none of those that the scratch held before. */
static void clear_through_process(Guard *g, const Area *a) {
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
        count_wiped(g, &count);
        if (overlaps_before(&g->scan, a))
                bytes = 0;
        else /* of an object its length: what lies beyond was judged by nobody */
                bytes = file ? count.overwritten + count.denied + count.mismatched : a->end - a->start;
        if (!file) {
                note_object(g, a, bytes);
                return;
        }
        after = files_bytes(g);
        if (after > before)
                bytes = bytes > after - before ? bytes - (after - before) : 0;
        files_known(g, bytes);
}

/* An object that is mapped in several areas is cleared once through its file; through the process each area is its own part. `bits` spares most
 * of the looks at the areas before: there may be tens of thousands. */
static bool seen_before(const Scan *s, size_t i, uint64_t bits[static SEEN_BITS / 64]) {
        uint64_t bit = s->areas[i].inode * 0x9e3779b97f4a7c15ULL >> (64 - SEEN_LOG), *word = &bits[bit / 64];
        bool may = *word & 1ULL << bit % 64;

        *word |= 1ULL << bit % 64;
        for (size_t k = 0; may && k < i; k++)
                if (s->areas[k].flags & AREA_SHARED && same_object(&s->areas[k], &s->areas[i]))
                        return true;
        return false;
}

static void clear_anonymous(Guard *g, const Task *t, size_t i, uint64_t *bits) {
        const Area *a = &g->scan.areas[i];
        int fd;

        g->evidence->beats++;
        if (mapped_elsewhere(g, t, a))
                return;
        fd = open_object(t->pid, a);
        if (fd < 0) {
                clear_through_process(g, a);
                return;
        }
        if (!seen_before(&g->scan, i, bits))
                clear_through_file(g, fd);
        close(fd);
}

/* A deleted file of the scratch that is mapped, and perhaps open nowhere. Its name is no proof that it is deleted: its link count is. */
static void keep_file(Guard *g, const Task *t, const Area *a) {
        int fd;

        if (files_kept(g, makedev(a->major, a->minor), a->inode))
                return;
        fd = open_object(t->pid, a);
        if (fd >= 0 && files_keep_fd(g, fd) == 0)
                return;
        if (mapped_elsewhere(g, t, a))
                return;
        if (a->flags & AREA_SHARED && g->tier == 2)
                clear_through_process(g, a);
        else {
                count_missed(g, GUARD_MISSED_FILE, a->end - a->start);
                files_known(g, a->end - a->start);
        }
}

static bool is_shared(const Area *a) {
        return a->flags & AREA_SHARED && a->flags & AREA_ZERO && kernel_device(a);
}

bool shared_any(Guard *g, const Task *t) {
        g->look++;
        for (size_t i = 0; i < g->scan.n_areas; i++)
                if (is_shared(&g->scan.areas[i]) && !mapped_elsewhere(g, t, &g->scan.areas[i]))
                        return true;
        return false;
}

bool shared_some(const Guard *g) {
        for (size_t i = 0; i < g->scan.n_areas; i++)
                if (is_shared(&g->scan.areas[i]))
                        return true;
        return false;
}

void shared_clear(Guard *g, const Task *t) {
        uint64_t bits[SEEN_BITS / 64] = {};

        g->look++;
        for (size_t i = 0; i < g->scan.n_areas; i++) {
                const Area *a = &g->scan.areas[i];

                if (is_shared(a))
                        clear_anonymous(g, t, i, bits);
                else if (a->flags & AREA_DELETED && on_scratch(g, a))
                        keep_file(g, t, a);
        }
}
