#include "random-object.h"

#include <errno.h>
#include <string.h>

static size_t left = SIZE_MAX; /* allocations until one fails */

static bool fails(void) {
        return left != SIZE_MAX && left-- == 0;
}

void *__real_malloc(size_t n);
void *__real_calloc(size_t n, size_t size);
void *__real_reallocarray(void *p, size_t n, size_t size);
void *__wrap_malloc(size_t n);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_reallocarray(void *p, size_t n, size_t size);

void *__wrap_malloc(size_t n) {
        return fails() ? NULL : __real_malloc(n);
}
void *__wrap_calloc(size_t n, size_t size) {
        return fails() ? NULL : __real_calloc(n, size);
}
void *__wrap_reallocarray(void *p, size_t n, size_t size) {
        return fails() ? NULL : __real_reallocarray(p, n, size);
}

/* Each allocation of a job fails once: the job says so, and gives what it gives without, or nothing. Returns their number. */
static size_t each_allocation(int (*job)(void *), void *arg) {
        size_t k = 0;
        int r;

        do {
                left = k++;
                r = job(arg);
                cr_assert(r == 0 || r == -ENOMEM, "allocation %zu: %d", k, r);
        } while (r != 0 && k < 100000);
        left = SIZE_MAX;
        cr_assert_eq(r, 0);
        return k;
}

static int parse_file(void *arg) {
        _cleanup_object_bundle_ ObjectBundle b = OBJECT_BUNDLE_NULL;
        const Buf *file = arg;
        int r = object_bundle_parse(file->data, file->n, &b, NULL);

        cr_assert(r == 0 || (!b.entries && !b.keys && !b.schemas && !b.memory.fold));
        if (r == 0) {
                _cleanup_buf_ Buf again = {0};

                left = SIZE_MAX;
                cr_assert_eq(object_bundle_print(&b, &again), 0);
                cr_assert(again.n == file->n && memcmp(again.data, file->data, file->n) == 0);
        }
        return r;
}

static int print_file(void *arg) {
        const RandomObject *o = arg;
        _cleanup_buf_ Buf file = {0};
        int r = object_bundle_print(&o->b, &file);

        cr_assert(r == 0 || file.n == 0);
        return r;
}

static int make_entry(void *arg) {
        RandomObject *o = arg;
        const Entry *last = &o->b.entries[o->b.n - 1];
        _cleanup_entry_ Entry e = ENTRY_NULL;
        Signer *s = &o->signers[0];
        int r = entry_make(&(EntryNew){.object = o->id, .n = last->n + 1, .prev = last->hash, .node = s->node, .trace = o->id, .kind = ENTRY_EVALUATION,
                                       .state = OBJECT_EVALUATION, .policy = json_object_get(last->json, "policy"), .outcome = json_object_get(last->json, "outcome"),
                                       .data = json_object_get(last->json, "data")},
                           s->keyid, signer_sign, s, &e, NULL);

        r = r ?: entry_verify(&e, s->pk, NULL);
        cr_assert(r == 0 || r == -ENOMEM);
        return r;
}

// O-36, O-40: an allocation that fails is told as such, at each place, and is never taken for a damaged file
Test(no_memory, bundle) {
        _cleanup_random_object_ RandomObject o;
        _cleanup_buf_ Buf file = {0};

        random_object(&o, 8, 8);
        random_print(&o, &file);
        cr_expect_gt(each_allocation(parse_file, &file), 100);
        cr_expect_gt(each_allocation(print_file, &o), 5);
}

// O-36: an entry is made whole, or not at all
Test(no_memory, entry) {
        _cleanup_random_object_ RandomObject o;

        random_object(&o, 8, 8);
        cr_expect_gt(each_allocation(make_entry, &o), 30);
}
