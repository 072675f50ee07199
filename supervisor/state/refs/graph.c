#include "refs/graph.h"

#include "base/hash.h"
#include "record/code.h"
#include "record/event.h"

#include <errno.h>
#include <string.h>

int graph_state(Txn *t, const RecordKey *k, RecordState *ret) {
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = record_get(t, k, &rec);

        if (r < 0 && r != -ENOENT)
                return r;
        *ret = r < 0 ? RECORD_NONE : rec.state;
        return 0;
}

static bool ref_supersedes(const Ref *ref) {
        return strcmp(ref->role, REF_ROLE_SUPERSEDES) == 0;
}

int graph_supersedes(Txn *t, const Ref *ref) {
        _cleanup_json_ json_t *entry = NULL;
        int r;

        if (!ref_supersedes(ref) || ref->source.kind == ref->target.kind)
                return ref_supersedes(ref);
        r = event_get(t, ref->seq, &entry);
        return r < 0 ? r : !json_object_get(entry, "region") || json_is_true(json_object_get(entry, "supersedes"));
}

int graph_support(Txn *t, const RecordKey *k, Support *ret) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Support s = {0};
        Ref ref;
        int r = ref_walk(t, k, true, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                RecordState state;

                r = graph_state(t, &ref.source, &state);
                if (r < 0 || state == RECORD_NONE || state == RECORD_REMOVED || ref_supersedes(&ref))
                        continue;
                s.strong += ref.strong;
                s.weak += !ref.strong;
        }
        if (r != -ENOENT)
                return r;
        s.score = SUPPORT_STRONG * (double)s.strong + SUPPORT_WEAK * (double)s.weak;
        *ret = s;
        return 0;
}

typedef struct DependentList {
        Dependent *v;
        size_t n, room, most;
        uint32_t *buckets; /* index in v plus 1, 0: free; a power of two, at most half used */
        size_t n_buckets;
} DependentList;

/* The bucket of the source, or the free bucket for the source. */
static size_t dependents_bucket(const DependentList *f, const RecordKey *source) {
        size_t k = siphash(source->kind, source->id, strlen(source->id)) & (f->n_buckets - 1);

        while (f->buckets[k] && record_key_compare(&f->v[f->buckets[k] - 1].ref.source, source) != 0)
                k = (k + 1) & (f->n_buckets - 1);
        return k;
}

static bool dependents_have(const DependentList *f, const RecordKey *source) {
        return f->n > 0 && f->buckets[dependents_bucket(f, source)];
}

static int dependents_grow(DependentList *f) {
        size_t room = f->room ? f->room * 2 : 16;
        Dependent *v = reallocarray(f->v, room, sizeof(*v));

        if (!v)
                return -ENOMEM;
        f->v = v;
        free(f->buckets);
        f->buckets = calloc(room, 2 * sizeof(*f->buckets));
        if (!f->buckets)
                return -ENOMEM;
        f->n_buckets = 2 * room;
        f->room = room;
        for (size_t i = 0; i < f->n; i++)
                f->buckets[dependents_bucket(f, &f->v[i].ref.source)] = (uint32_t)i + 1;
        return 0;
}

static int dependents_add(DependentList *f, const Dependent *d) {
        int r;

        if (f->n == f->most)
                return ENGINE_E_TOO_MANY;
        if (f->n == f->room && (r = dependents_grow(f)) < 0)
                return r;
        f->buckets[dependents_bucket(f, &d->ref.source)] = (uint32_t)f->n + 1;
        f->v[f->n++] = *d;
        return 0;
}

/* Adds the new direct dependents of `on`: along holding edges only, or along all edges. */
static int dependents_add_direct(Txn *t, const RecordKey *root, const RecordKey *on, unsigned depth, bool hold,
                                 DependentList *f) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = ref_walk(t, on, true, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                bool holds = (ref.strong || kind_class(ref.source.kind) == CLASS_KERNEL) && !ref_supersedes(&ref);
                Dependent d = {.ref = ref, .depth = depth, .holds = hold};

                if ((hold && !holds) || record_key_compare(&ref.source, root) == 0 || dependents_have(f, &ref.source))
                        continue;
                r = graph_state(t, &ref.source, &d.state);
                if (r == 0 && d.state != RECORD_NONE && d.state != RECORD_REMOVED)
                        r = dependents_add(f, &d);
        }
        return r == -ENOENT ? 0 : r;
}

/* Adds all holding dependents first, then all other dependents of the record and of sources found so far. direct: only
 * dependents of the record. */
static int dependents_collect(Txn *t, const RecordKey *k, bool direct, DependentList *f) {
        int r = 0;

        for (int hold = 1; r == 0 && hold >= 0; hold--) {
                r = dependents_add_direct(t, k, k, 1, hold, f);
                for (size_t at = 0; r == 0 && !direct && at < f->n; at++) {
                        RecordKey source = f->v[at].ref.source; /* a growing list moves */

                        r = dependents_add_direct(t, k, &source, f->v[at].depth + 1, hold, f);
                }
        }
        return r;
}

static int dependents_by_depth(const void *a, const void *b) {
        const Dependent *x = a, *y = b;

        if (x->depth != y->depth)
                return (x->depth > y->depth) - (x->depth < y->depth);
        return record_key_compare(&x->ref.source, &y->ref.source);
}

int graph_dependents_most(Txn *t, const RecordKey *k, bool direct, size_t most, Dependent **ret, size_t *ret_n) {
        DependentList f = {.most = most};
        int r = dependents_collect(t, k, direct, &f);

        free(f.buckets);
        if (r != 0) {
                free(f.v);
                return r;
        }
        if (f.n > 0)
                qsort(f.v, f.n, sizeof(*f.v), dependents_by_depth);
        *ret = f.v;
        *ret_n = f.n;
        return 0;
}

int graph_dependents(Txn *t, const RecordKey *k, Dependent **ret, size_t *ret_n) {
        return graph_dependents_most(t, k, false, SIZE_MAX, ret, ret_n);
}

int graph_blockers(Txn *t, const RecordKey *k, Ref **ret, size_t *ret_n) {
        _cleanup_ref_walk_ RefWalk w = {0};
        _cleanup_free_ Ref *v = NULL;
        size_t n = 0;
        Ref ref;
        int r = ref_walk(t, k, true, &w);

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0) {
                RecordState state;
                bool strong = ref.strong || kind_class(ref.source.kind) == CLASS_KERNEL;

                r = graph_state(t, &ref.source, &state);
                if (r < 0 || state == RECORD_NONE || state == RECORD_REMOVED || ref_supersedes(&ref) ||
                    !(strong || state == RECORD_ACTIVE))
                        continue;
                if (!GROW(v, n))
                        return -ENOMEM;
                v[n++] = ref;
        }
        if (r != -ENOENT)
                return r;
        *ret = TAKE_PTR(v);
        *ret_n = n;
        return 0;
}
