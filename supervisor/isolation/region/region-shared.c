#include "region/region-shared.h"

#include "region/region-proc.h"
#include "region/region-tables.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define SHARED_PAGE 4096ULL
#define SHARED_NAME "/dev/zero (deleted)"

static uint64_t shared_plus(uint64_t a, uint64_t b) {
        uint64_t v;

        return __builtin_add_overflow(a, b, &v) ? UINT64_MAX : v;
}

static void shared_sum(RegionShared *s) {
        s->held_bytes = s->lost_bytes;
        for (size_t i = 0; i < s->n; i++)
                s->held_bytes = shared_plus(s->held_bytes, s->v[i].bytes);
        for (size_t i = 0; i < s->n_asked; i++)
                s->held_bytes = shared_plus(s->held_bytes, s->asked[i].bytes);
}

void region_shared_called(RegionShared *s, pid_t tid) {
        for (size_t i = 0; i < s->n_asked; i++)
                if (s->asked[i].tid == tid)
                        s->asked[i].tid = 0;
}

void region_shared_ask(RegionShared *s, pid_t tid, uint64_t bytes) {
        bytes = shared_plus(bytes, SHARED_PAGE - 1) / SHARED_PAGE * SHARED_PAGE;
        s->largest = MAX(s->largest, bytes);
        s->held_bytes = shared_plus(s->held_bytes, bytes);
        s->batch += s->n_asked == 0;
        if (!region_shared_is_full(s) && GROW(s->asked, s->n_asked))
                s->asked[s->n_asked++] = (SharedAsked){.bytes = bytes, .tid = tid};
        else
                s->lost_bytes = shared_plus(s->lost_bytes, bytes);
}

bool region_shared_is_full(const RegionShared *s) {
        return s->n_asked == SHARED_ASKED_MAX;
}

static SharedObject *shared_find(const RegionShared *s, uint64_t dev, uint64_t inode) {
        for (size_t i = 0; i < s->n; i++)
                if (s->v[i].inode == inode && s->v[i].dev == dev)
                        return &s->v[i];
        return NULL;
}

/* Adds a new object with the largest open length, or without open calls the largest length ever asked. */
static int shared_found(RegionShared *s, uint64_t dev, uint64_t inode) {
        SharedObject *known = shared_find(s, dev, inode);
        size_t best = 0;

        if (known) {
                known->missed = 0;
                return 0;
        }
        if (!GROW(s->v, s->n))
                return -ENOMEM;
        for (size_t i = 1; i < s->n_asked; i++)
                if (s->asked[i].bytes > s->asked[best].bytes)
                        best = i;
        s->v[s->n] = (SharedObject){
                .dev = dev, .inode = inode, .bytes = s->n_asked ? s->asked[best].bytes : s->largest, .batch = s->batch};
        if (s->n_asked)
                s->asked[best] = s->asked[--s->n_asked];
        s->made++;
        s->made_bytes = shared_plus(s->made_bytes, s->v[s->n].bytes);
        s->n++;
        return 0;
}

/* "7f… -7f… rw-s 00000000 00:01 1057 /dev/zero (deleted)". A regular file with the same name is charged as well. */
static int shared_line(pid_t teller, const char *line, void *arg) {
        unsigned long long inode;
        unsigned major, minor;
        char type;
        int at = 0;

        if (sscanf(line, "%*x-%*x %*c%*c%*c%c %*x %x:%x %llu %n", &type, &major, &minor, &inode, &at) != 4 ||
            type != 's' || at == 0 || strcmp(line + at, SHARED_NAME) != 0)
                return 0;
        return shared_found(arg, (uint64_t)major << 32 | minor, inode);
}

static int shared_lower_first(const void *a, const void *b) {
        const pid_t *x = a, *y = b;

        return (*x > *y) - (*x < *y);
}

/* Drops the smallest length of the batch: the object with this length gets the dropped object's length. */
static void shared_gone(RegionShared *s, SharedObject *gone) {
        SharedObject *smallest = gone;
        uint64_t bytes = gone->bytes;

        for (size_t i = 0; i < s->n; i++)
                if (s->v[i].batch == gone->batch && s->v[i].bytes < smallest->bytes)
                        smallest = &s->v[i];
        gone->bytes = smallest->bytes;
        smallest->bytes = bytes;
        s->gone_bytes = shared_plus(s->gone_bytes, gone->bytes);
        *gone = s->v[--s->n];
}

static void shared_give_back(RegionShared *s, bool at_once) {
        size_t n = 0;

        for (size_t i = 0; i < s->n;)
                if (s->v[i].missed < SHARED_LOOKS)
                        i++;
                else
                        shared_gone(s, &s->v[i]);
        for (size_t i = 0; i < s->n_asked; i++) {
                s->asked[i].looks += !at_once || s->asked[i].tid == 0;
                if (s->asked[i].looks < SHARED_LOOKS)
                        s->asked[n++] = s->asked[i];
        }
        s->n_asked = n;
}

int region_shared_look(RegionShared *s, pid_t root, bool at_once) {
        _cleanup_free_ pid_t *seen = NULL;
        size_t n_seen = 0;
        bool came = true;
        int e = 0;

        for (size_t i = 0; i < s->n; i++)
                s->v[i].missed++;
        for (unsigned round = 0; e == 0 && came && round < SHARED_ROUNDS; round++) {
                pid_t *list = NULL;
                size_t n = 0;

                came = false;
                e = proc_tree_list(root, &list, &n);
                for (size_t i = 0; e == 0 && i < n; i++)
                        if (n_seen == 0 || !bsearch(&list[i], seen, n_seen, sizeof(*seen), shared_lower_first)) {
                                came = true;
                                e = tables_each_mapping(list[i], shared_line, s);
                        }
                free(seen);
                seen = list;
                n_seen = n;
                if (n_seen > 0)
                        qsort(seen, n_seen, sizeof(*seen), shared_lower_first);
        }
        if (e == 0 && !came)
                shared_give_back(s, at_once);
        else
                for (size_t i = 0; i < s->n; i++)
                        s->v[i].missed -= s->v[i].missed > 0; /* the look counts for nothing */
        shared_sum(s);
        return e;
}

static int shared_larger_first(const void *a, const void *b) {
        const uint64_t *x = a, *y = b;

        return (*x < *y) - (*x > *y);
}

static bool shared_has_ended(const SharedObject *o, const SharedEnded *ended, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (o->inode == ended[i].inode && o->dev == ended[i].dev)
                        return true;
        return false;
}

/* For objects of the same look only the sum of the lengths is known. */
uint64_t region_shared_beyond(const RegionShared *s, const SharedEnded *ended, size_t n_ended, uint64_t others,
                              uint64_t others_bytes) {
        _cleanup_free_ uint64_t *open = NULL;
        uint64_t made = 0, mapped = others_bytes, unknown = others;
        size_t n = 0;

        if (n_ended == 0 && others == 0)
                return 0;
        open = calloc(s->n_asked + s->n + 1, sizeof(*open));
        if (!open)
                return s->held_bytes;
        for (size_t i = 0; i < n_ended; i++) {
                const SharedObject *o = shared_find(s, ended[i].dev, ended[i].inode);

                mapped = shared_plus(mapped, ended[i].bytes);
                made = shared_plus(made, o ? o->bytes : 0);
                unknown += !o;
        }
        for (size_t i = 0; i < s->n_asked; i++)
                open[n++] = s->asked[i].bytes;
        for (size_t i = 0; others > 0 && i < s->n; i++)
                if (!shared_has_ended(&s->v[i], ended, n_ended))
                        open[n++] = s->v[i].bytes;
        qsort(open, n, sizeof(*open), shared_larger_first);
        for (uint64_t i = 0; i < unknown; i++)
                made = shared_plus(made, i < n ? open[i] : s->largest);
        return made > mapped ? made - mapped : 0;
}

void region_shared_deinit(RegionShared *s) {
        free(s->v);
        free(s->asked);
        *s = (RegionShared){};
}
