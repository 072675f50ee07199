#include "engine/fold.h"
#include "tests/state/engine/history.h"
#include "tests/support/store-fixture.h"

/* Compares, and says where when it is not the same. */
static void same(Txn *t, const char *when) {
        FoldResult f;
        Diag d;

        cr_assert_eq(engine_fold_compare(t, &f, &d), 0, "%s", d.text);
        cr_assert_null(f.how, "%s: table %s, key %s: %s (%lu rows)", when, table_name(f.table), f.key, f.how, f.differ);
}

/* Whatever was done, in whatever order, with commits, aborts and a process's end in between: the tables are the fold of the ledger, byte for
 * byte (G-29, G-31). */
Test(fold, of_a_random_history_is_the_tables) {
        const char *many = getenv("LETHE_HISTORIES");
        unsigned histories = many ? (unsigned)atoi(many) : 6, done = 0, refused = 0;

        for (unsigned seed = 1; seed <= histories; seed++) {
                _cleanup_store_fixture_ StoreFixture f;
                History h = {.state = seed * UINT64_C(0x9e3779b97f4a7c15)};
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                for (unsigned i = 0; i < 500; i++) {
                        history_step(t, &h);
                        if (history_roll(&h, 40) == 0) {
                                if (history_roll(&h, 4) == 0)
                                        store_abort(t);
                                else
                                        store_fixture_commit(&f, t);
                                if (history_roll(&h, 4) == 0) {
                                        store_fixture_close(&f);
                                        store_fixture_open(&f, STORE_WRITE);
                                }
                                t = store_fixture_begin(&f, true);
                        }
                }
                same(t, "before the commit");
                store_fixture_commit(&f, t);
                t = store_fixture_begin(&f, false);
                same(t, "after it");
                store_abort(t);
                done += h.done;
                refused += h.refused;
        }
        cr_expect_gt(done, histories * 100, "%u done, %u refused", done, refused);
        cr_expect_gt(refused, histories * 20, "%u done, %u refused", done, refused);
}

/* Of the last row. Returns 0, -ENOENT. */
static int last_key(Txn *t, Table table, uint8_t key[static 512], size_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        int r = -ENOENT;
        Bytes k, v;

        cr_assert_eq(cursor_open(t, table, (Bytes){0}, &c), 0);
        while (cursor_next(c, &k, &v) == 0) {
                memcpy(key, k.p, *ret_n = k.n);
                r = 0;
        }
        return r;
}

/* Each table that is a fold, each sort of damage: it is found, and it is put in order (G-29, G-56). */
Test(fold, finds_and_mends_each_damage) {
        _cleanup_store_fixture_ StoreFixture f;
        History h = {.state = 7};
        FoldResult fold;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (unsigned i = 0; i < 400; i++)
                history_step(t, &h);
        for (int i = 0; i < 2; i++) { /* one that refers to another is there at the end */
                _cleanup_json_ json_t *payload = history_payload(&h, KIND_KNOWLEDGE, OP_SAVE), *refs = json_pack("[{s:s, s:s}]", "kind", "knowledge_projections", "id", "xx");
                Mutated m;

                cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_KNOWLEDGE, .op = OP_SAVE, .id = i ? "yy" : "xx", .payload = payload, .refs = i ? refs : NULL,
                                                          .who = "uid:1000", .expect = MUTATION_ANY}, &m, &d), 0, "%s", d.text);
        }
        history_wait(t, &h, SCOPE_DEFAULT);
        store_fixture_commit(&f, t);
        for (const Table *table = (Table[]){TABLE_SCOPE, TABLE_REC, TABLE_CHANGE, TABLE_REF, TABLE_RREF, TABLE_TERM,
                                              TABLE_DOC, TABLE_WAIT, TABLE_CLAIM, TABLE_COMMITS, TABLE_COUNT_};
             *table != TABLE_COUNT_; table++)
                for (int damage = 0; damage < 3; damage++) {
                        static const char *const how[] = {"missing", "extra", "differs"};
                        uint8_t key[512];
                        size_t n;

                        t = store_fixture_begin(&f, true);
                        cr_assert_eq(last_key(t, *table, key, &n), 0, "%s is empty", table_name(*table));
                        key[n] = 'x';
                        if (damage == 0)
                                cr_assert_eq(table_del(t, *table, BYTES(key, n)), 0);
                        else if (damage == 1)
                                cr_assert_eq(table_put(t, *table, BYTES(key, n + 1), BYTES_STR("x")), 0);
                        else
                                cr_assert_eq(table_put(t, *table, BYTES(key, n), BYTES_STR("x")), 0);
                        cr_assert_eq(engine_fold_compare(t, &fold, &d), 0, "%s", d.text);
                        cr_assert(fold.how && strcmp(fold.how, how[damage]) == 0 && fold.table == *table && fold.differ == 1, "%s %s: %s %lu", table_name(*table),
                                  how[damage], fold.how, fold.differ);
                        cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0, "%s", d.text);
                        cr_expect_eq(fold.differ, 1);
                        same(t, "mended");
                        store_fixture_commit(&f, t);
                }
        /* all of it at once */
        t = store_fixture_begin(&f, true);
        for (Table table = TABLE_SCOPE; table <= TABLE_WAIT; table++)
                cr_assert_eq(table_del_prefix(t, table, BYTES(NULL, 0)), 0);
        cr_assert_eq(table_del_prefix(t, TABLE_CLAIM, BYTES(NULL, 0)), 0);
        cr_assert_eq(table_del_prefix(t, TABLE_COMMITS, BYTES(NULL, 0)), 0);
        cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0, "%s", d.text);
        cr_expect_eq(fold.differ, fold.rows);
        same(t, "made anew");
        store_fixture_commit(&f, t);
}
