#include "audit/audit.h"
#include "object/append.h"
#include "tests/state/object/wake-fixture.h"
#include "tests/state/store/write-log.h"

#include <errno.h>

#define NOW UINT64_C(1700000000000000)

static size_t left = SIZE_MAX; /* allocations until one fails */

static bool fails(void) {
        return left != SIZE_MAX && left-- == 0;
}

void *__real_malloc(size_t size);
void *__real_realloc(void *p, size_t size);
void *__real_calloc(size_t n, size_t size);
char *__real_strdup(const char *s);
char *__real_strndup(const char *s, size_t n);
void *__wrap_malloc(size_t size);
void *__wrap_realloc(void *p, size_t size);
void *__wrap_calloc(size_t n, size_t size);
char *__wrap_strdup(const char *s);
char *__wrap_strndup(const char *s, size_t n);

void *__wrap_malloc(size_t size) {
        return fails() ? NULL : __real_malloc(size);
}
void *__wrap_realloc(void *p, size_t size) {
        return fails() ? NULL : __real_realloc(p, size);
}
void *__wrap_calloc(size_t n, size_t size) {
        return fails() ? NULL : __real_calloc(n, size);
}
char *__wrap_strdup(const char *s) {
        return fails() ? NULL : __real_strdup(s);
}
char *__wrap_strndup(const char *s, size_t n) {
        return fails() ? NULL : __real_strndup(s, n);
}

static size_t live; /* blocks of JSON values */
static json_malloc_t live_malloc;
static json_free_t live_free;

static void *live_more(size_t size) {
        void *p = live_malloc(size);

        live += p != NULL;
        return p;
}

static void live_less(void *p) {
        live -= p != NULL;
        live_free(p);
}

/* All that writes: a creation, an input, a wake, what is armed anew, and an end. */
static int work(Txn *t, const char *sleeper, const json_t *intent, const json_t *input, Diag *d) {
        _cleanup_json_ json_t *one = NULL, *two = NULL, *three = NULL;
        _cleanup_appending_ Appending a = APPENDING_NULL;
        char id[REGION_ID_MAX];
        uint64_t seq, version;
        int r = object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "p", .now_usec = NOW}, id, &seq, d)
                        ?: object_input(t, id, "uid:0", "test", input, &one, d)
                        ?: object_end(t, id, "uid:0", "requested", &two, d)
                        ?: engine_slot_put(t, "uid:0", "a", input, -1, &seq, &version, d)
                        ?: append_open(t, sleeper, &a, d);

        a.who = "uid:0";
        a.trace = id;
        a.now_usec = NOW + 1;
        return r ?: append_armed(&a) ?: object_input(t, sleeper, "uid:0", "test", input, &three, d);
}

static void prepare(StoreFixture *f, char sleeper[static REGION_ID_MAX], const json_t *intent) {
        _cleanup_json_ json_t *schema = json_object(),
                              *data = json_pack("{s:{s:{s:s, s:s}}, s:s, s:i}", "trigger", "prerequisite", "slot", "a", "is", "unset", "reason", "test", "not_before", 0);
        _cleanup_appending_ Appending a = APPENDING_NULL;
        uint64_t seq;
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "a", schema, &seq, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "p", .now_usec = NOW}, sleeper, &seq, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(append_open(t, sleeper, &a, &f->d), 0, "%s", f->d.text);
        a.who = "uid:0";
        a.trace = sleeper;
        a.now_usec = NOW;
        cr_assert_eq(append_entry(&a, ENTRY_EVALUATION, NULL, NULL, NULL, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(append_entry(&a, ENTRY_DORMANT, NULL, data, NULL, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

/* The sleeper has 3 entries before the work and 4 after; the other object is there after it alone. */
static void whole(StoreFixture *f, const char *sleeper, bool done, const char *when, unsigned point) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
        _cleanup_json_ json_t *list = NULL;
        AuditReport report;
        Txn *t = store_fixture_begin(f, false);

        cr_assert_eq(object_get(t, sleeper, &row, &f->d), 0);
        cr_assert_eq(object_memory(t, &row, true, &m, &f->d), 0, "%s %u: %s", when, point, f->d.text);
        cr_assert_eq(row.n, done ? 4 : 3, "%s %u: %" PRIu64, when, point, row.n);
        list = wake_list(t, OBJECT_NONE);
        cr_assert_eq(json_array_size(list), done ? 2 : 1, "%s %u", when, point);
        wake_same(t, when);
        store_abort(t);
        cr_assert_eq(audit_run(f->store, &report), 0, "%s %u: %s; expected %s; found %s", when, point, report.what, report.expected, report.found);
}

static uint64_t events(Txn *t) {
        uint64_t n;

        cr_assert_eq(table_rows(t, TABLE_EVENT, &n), 0);
        return n;
}

// O-19, O-43: an allocation that fails, wherever, ends the work with an error, and nothing half is left. The few that fail
// without an error (the write-ahead log goes without a record) leave the work whole.
Test(object_faults, each_allocation) {
        _cleanup_json_ json_t *intent, *input;
        unsigned point = 0, others = 0, borne = 0; /* others: another error than the lack of memory */
        _cleanup_store_fixture_ StoreFixture f;
        char sleeper[REGION_ID_MAX];
        uint64_t whole_work;
        bool happened;
        Diag d = {0};
        Txn *t;
        int r;

        json_get_alloc_funcs(&live_malloc, &live_free);
        json_set_alloc_funcs(live_more, live_less);
        intent = json_pack("{s:{s:s}}", "do", "skill", "x");
        input = json_string("hello");
        store_fixture_init(&f, STORE_WRITE);
        prepare(&f, sleeper, intent);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(work(t, sleeper, intent, input, &d), 0, "%s", d.text);
        whole_work = events(t);
        store_abort(t);
        do {
                size_t before;

                wake_forget();
                before = live;
                t = store_fixture_begin(&f, true);
                left = point++;
                r = work(t, sleeper, intent, input, &d);
                happened = left == SIZE_MAX;
                left = SIZE_MAX;
                cr_assert(r != 0 || events(t) == whole_work, "allocation %u: half of the work without an error", point);
                others += r != 0 && r != -ENOMEM;
                borne += r == 0 && happened;
                if (!happened)
                        store_fixture_commit(&f, t);
                else
                        store_abort(t);
                wake_forget();
                cr_assert_eq(live, before, "allocation %u: %zd values more than before (%d)", point, (ssize_t)(live - before), r);
                if (happened && point % 50 == 0)
                        whole(&f, sleeper, false, "allocation", point);
        } while (happened && point < 20000);
        whole(&f, sleeper, true, "after all allocations", point);
        cr_expect(point > 500 && point < 20000, "%u allocations", point);
        cr_expect_eq(others, 0);
        cr_expect_lt(borne, point / 100, "%u", borne);
        wake_say("%u allocations, %u of them borne", point, borne);
}

// O-36, O-43: a commit that fails, wherever, leaves the object as it was or as it became, and never in between
Test(object_faults, each_call_of_a_commit) {
        _cleanup_json_ json_t *intent = json_pack("{s:{s:s}}", "do", "skill", "x"), *input = json_string("hello");

        for (int half = 0; half < 2; half++)
                for (unsigned point = 1;; point++) {
                        _cleanup_store_fixture_ StoreFixture f;
                        char sleeper[REGION_ID_MAX], file[PATH_MAX];
                        bool happened, said;
                        uint64_t n;
                        Txn *t;

                        store_fixture_init(&f, STORE_SUPERVISE);
                        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
                        lengthen(file);
                        prepare(&f, sleeper, intent);
                        fail_after(file, point, ENOSPC, half);
                        t = store_fixture_begin(&f, true);
                        cr_assert_eq(work(t, sleeper, intent, input, &f.d), 0, "%s", f.d.text);
                        said = store_commit(t, &f.d) == 0;
                        happened = fail_happened();
                        fail_after(file, 0, 0, false);
                        cr_assert_eq(said, !happened, "point %u: a failed commit was acknowledged", point);
                        store_fixture_close(&f);
                        store_fixture_open(&f, STORE_SUPERVISE);
                        t = store_fixture_begin(&f, false);
                        cr_assert_eq(table_rows(t, TABLE_DUE, &n), 0);
                        {
                                _cleanup_object_row_ ObjectRow row = {0};

                                cr_assert_eq(object_get(t, sleeper, &row, &f.d), 0);
                                cr_assert(!said || row.n == 4, "point %u: an acknowledged entry is lost", point);
                                n = row.n;
                        }
                        store_abort(t);
                        whole(&f, sleeper, n == 4, "commit", point);
                        if (!happened)
                                break;
                }
}
