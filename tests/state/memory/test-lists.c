/* Lists come in the order in which records were made, whole or in parts, whatever became of the records since. */
#include "engine/fold.h"
#include "ledger/ledger.h"
#include "memory/records.h"
#include "store/store-internal.h"
#include "tests/state/engine/cleanup-fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <limits.h>

#define ALL (1U << RECORD_ACTIVE | 1U << RECORD_ARCHIVED | 1U << RECORD_REMOVED)

typedef struct World {
        StoreFixture f;
        Txn *t;
        Diag d;
        uint32_t dice;
} World;

static unsigned roll(World *w, unsigned n) {
        w->dice = w->dice * 1664525U + 1013904223U;
        return (w->dice >> 16) % n;
}

/* Creation, written again, archived, removed, restored, deleted, made anew: some of it is refused. */
static void live(World *w, int steps) {
        static const char letters[] = "mks";
        static const Op ops[] = {OP_SAVE, OP_SAVE, OP_SAVE, OP_ARCHIVE, OP_ARCHIVE, OP_REMOVE, OP_REMOVE, OP_RESTORE, OP_DELETE};

        for (int i = 0; i < steps; i++) {
                Op op = ops[roll(w, ARRAY_SIZE(ops))];
                char letter = letters[roll(w, 3)], id[8];
                Mutated done;

                snprintf(id, sizeof(id), "%c%u", 'a' + (char)roll(w, 26), roll(w, 2));
                if (op == OP_SAVE)
                        save(w->t, letter, id, "", &w->d);
                else
                        mutate_judged(w->t, &(Mutation){.kind = kind_of(letter), .op = op, .id = id, .expect = MUTATION_ANY, .who = ME}, &done, &w->d);
        }
}

typedef struct Creation {
        uint64_t created;
        RecordKey key;
} Creation;

static int by_created(const void *a, const void *b) {
        const Creation *x = a, *y = b;

        return (x->created > y->created) - (x->created < y->created);
}

/* What a list is to have: from the rows of the records, put in order here. */
static size_t made(World *w, unsigned states, unsigned classes, Creation *ret, size_t most) {
        _cleanup_record_walk_ RecordWalk walk = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t scope;
        size_t n = 0;

        cr_assert_eq(scope_get(w->t, SCOPE_DEFAULT, &scope), 0);
        cr_assert_eq(record_walk(w->t, scope, KIND_NONE, &walk), 0);
        while (record_walk_next(&walk, &rec) == 0) {
                if (!memory_is_family(rec.key.kind) || !(classes & 1U << kind_class(rec.key.kind)))
                        continue;
                if (states ? !(states & 1U << rec.state) : rec.state == RECORD_REMOVED)
                        continue;
                cr_assert_lt(n, most);
                ret[n++] = (Creation){rec.created, rec.key};
        }
        qsort(ret, n, sizeof(*ret), by_created);
        return n;
}

static void same(const json_t *list, const Creation *want, size_t n, size_t from, const char *what) {
        for (size_t i = 0; i < json_array_size(list); i++) {
                const json_t *o = json_array_get(list, i);

                cr_assert_lt(from + i, n, "%s", what);
                cr_expect_eq(json_integer_value(json_object_get(o, "created")), (json_int_t)want[from + i].created, "%s: %zu", what, from + i);
                cr_expect_str_eq(json_string_value(json_object_get(o, "id")), want[from + i].key.id, "%s: %zu", what, from + i);
                cr_expect_str_eq(json_string_value(json_object_get(o, "kind")), kind_name(want[from + i].key.kind), "%s: %zu", what, from + i);
        }
}

/* In parts of each size, and of so little looked at. */
static void in_parts(World *w, const RecordFilter *f, unsigned classes, const Creation *want, size_t n) {
        for (size_t limit = 1; limit <= 9; limit += 4) {
                char place[MEMORY_PLACE_MAX] = "", next[MEMORY_PLACE_MAX];
                size_t at = 0, parts = 0;

                do {
                        const MemoryBound b = {.classes = classes, .records = 3, .text = SIZE_MAX};
                        _cleanup_json_ json_t *list = NULL;

                        cr_assert_eq(memory_page(w->t, SCOPE_DEFAULT, f, &b, *place ? place : NULL, limit, &list, next, &w->d), 0, "%s", w->d.text);
                        cr_assert_leq(json_array_size(list), MIN(limit, (size_t)3));
                        same(list, want, n, at, "in parts");
                        at += json_array_size(list);
                        memcpy(place, next, sizeof(place));
                        cr_assert_lt(parts++, 500);
                } while (*place);
                cr_expect_eq(at, n, "limit %zu", limit);
        }
}

// M-13: created, then id (no two are made by one event): the whole list and its parts, of each sort of record and for who may see some families only
Test(lists, in_the_order_in_which_records_were_made) {
        static const unsigned states[] = {0, 1U << RECORD_ARCHIVED, 1U << RECORD_REMOVED, ALL}, classes[] = {UINT_MAX, 1U << CLASS_MEMORY | 1U << CLASS_SKILL};

        size_t all[ARRAY_SIZE(states)] = {0};

        for (uint32_t dice = 1; dice <= 20; dice++) {
                World w = {.dice = dice};
                FoldResult fold;
                Creation want[400];

                store_fixture_init(&w.f, STORE_WRITE);
                w.t = store_fixture_begin(&w.f, true);
                live(&w, 400);
                for (size_t i = 0; i < ARRAY_SIZE(states); i++) {
                        const RecordFilter f = {.states = states[i]};
                        _cleanup_json_ json_t *list = NULL;
                        size_t n = made(&w, states[i], UINT_MAX, want, ARRAY_SIZE(want));

                        all[i] += n;
                        cr_assert_eq(memory_list(w.t, SCOPE_DEFAULT, &f, &list, &w.d), 0);
                        cr_expect_eq(json_array_size(list), n, "world %u, row %zu", dice, i);
                        same(list, want, n, 0, "as a whole");
                        for (size_t k = 0; k < ARRAY_SIZE(classes); k++)
                                in_parts(&w, &f, classes[k], want, made(&w, states[i], classes[k], want, ARRAY_SIZE(want)));
                }
                cr_assert_eq(engine_fold_compare(w.t, &fold, &w.d), 0);
                cr_expect_null(fold.how, "table %s, key %s: %s", table_name(fold.table), fold.key, fold.how);
                store_abort(w.t);
                store_fixture_deinit(&w.f);
        }
        for (size_t i = 0; i < ARRAY_SIZE(states); i++)
                cr_expect_gt(all[i], 50, "row %zu: little to put in order", i);
}

// M-13: a place that no list gave is refused
Test(lists, places) {
        static const char *const bad[] = {"", " 1", "1 ", "+1", "-1", "01", "1a", "memory_substrate/a", "18446744073709551616"};
        const MemoryBound b = {.classes = UINT_MAX, .records = 10, .text = SIZE_MAX};
        char next[MEMORY_PLACE_MAX];
        const RecordFilter f = {0};
        World w = {.dice = 1};
        json_t *list;

        store_fixture_init(&w.f, STORE_WRITE);
        w.t = store_fixture_begin(&w.f, true);
        live(&w, 20);
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                cr_expect_eq(memory_page(w.t, SCOPE_DEFAULT, &f, &b, bad[i], 10, &list, next, &w.d), ENGINE_E_BAD_NAME, "%s", bad[i]);
        cr_assert_eq(memory_page(w.t, SCOPE_DEFAULT, &f, &b, "18446744073709551615", 10, &list, next, &w.d), 0);
        cr_expect(json_array_size(list) == 0 && !*next);
        json_decref(list);
        store_abort(w.t);
        store_fixture_deinit(&w.f);
}

static size_t transactions(const World *w) {
        MDB_envinfo info;

        mdb_env_info(w->f.store->env, &info);
        return info.me_last_txnid;
}

// M-13, G-29: an index of whatever length is made anew in several transactions, so that no more than a part of it is in memory; none of them says that it is
// done before all of it is
Test(lists, a_long_index_is_made_anew_in_parts) {
        enum { MANY = 4200 };
        static const Table index[] = {TABLE_TERM, TABLE_DOC};
        World w = {0};
        uint8_t version[8];
        bool newest = false;
        FoldResult fold;
        size_t before;

        store_fixture_init(&w.f, STORE_WRITE);
        w.t = store_fixture_begin(&w.f, true);
        for (unsigned i = 0; i < MANY; i++) {
                char id[16];

                snprintf(id, sizeof(id), "r%u", i);
                cr_assert_eq(save(w.t, 'm', id, "", &w.d), 0, "%s", w.d.text);
        }
        for (size_t i = 0; i < ARRAY_SIZE(index); i++)
                cr_assert_eq(table_del_prefix(w.t, index[i], BYTES(NULL, 0)), 0);
        be64_put(version, 2);
        cr_assert_eq(table_put(w.t, TABLE_META, BYTES_STR("version"), BYTES(version, 8)), 0);
        store_fixture_commit(&w.f, w.t);
        before = transactions(&w);
        cr_assert_eq(engine_index_renew(w.f.store, &w.d), 0, "%s", w.d.text);
        cr_expect_geq(transactions(&w), before + 2);
        w.t = store_fixture_begin(&w.f, false);
        cr_expect_eq(store_is_newest(w.t, &newest), 0);
        cr_expect(newest);
        cr_assert_eq(engine_fold_compare(w.t, &fold, &w.d), 0, "%s", w.d.text);
        cr_expect_null(fold.how, "table %s, key %s: %s", table_name(fold.table), fold.key, fold.how);
        store_abort(w.t);
        store_fixture_deinit(&w.f);
}

// G-29: what cannot be told from the ledger is not made up, and is not tried for ever
Test(lists, no_index_is_made_of_a_ledger_with_a_hole) {
        World w = {0};
        uint8_t key[8];
        uint64_t n, last;
        bool newest = true;

        store_fixture_init(&w.f, STORE_WRITE);
        w.t = store_fixture_begin(&w.f, true);
        cr_assert_eq(save(w.t, 'm', "one", "", &w.d), 0, "%s", w.d.text);
        cr_assert_eq(ledger_state(w.t, &n, &last), 0);
        be64_put(key, 2);
        cr_assert_eq(table_put(w.t, TABLE_META, BYTES_STR("version"), BYTES(key, 8)), 0);
        store_fixture_commit(&w.f, w.t);
        w.t = store_fixture_begin(&w.f, true);
        be64_put(key, n - 1);
        cr_assert_eq(table_del(w.t, TABLE_EVENT, BYTES(key, 8)), 0);
        store_fixture_commit(&w.f, w.t);
        cr_expect_eq(engine_index_renew(w.f.store, &w.d), -EUCLEAN);
        w.t = store_fixture_begin(&w.f, false);
        cr_expect_eq(store_is_newest(w.t, &newest), 0);
        cr_expect_not(newest);
        store_abort(w.t);
        store_fixture_deinit(&w.f);
}
