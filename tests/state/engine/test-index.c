/* Runs: tests. The rows of the term index: those of the documents that are there, whatever was there before. */
#include "tests/state/engine/index-model.h"

#include <errno.h>

#define LIVED 7  /* scope with a history */
#define FRESH 8  /* scope into which the same documents were put once */

static void begin(StoreFixture *f, Txn **t) {
        store_fixture_init(f, STORE_WRITE);
        *t = store_fixture_begin(f, true);
}

/* Rows of the table that begin so. */
static size_t count(Txn *t, Table table, uint64_t scope) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t prefix[8];
        Bytes k, v;
        size_t n = 0;

        be64_put(prefix, scope);
        cr_assert_eq(cursor_open(t, table, BYTES(prefix, 8), &c), 0);
        while (cursor_next(c, &k, &v) == 0 && bytes_begin(k, BYTES(prefix, 8)))
                n++;
        return n;
}

static void expect_same_rows(Txn *t, Table table, const char *when) {
        _cleanup_cursor_ Cursor *a = NULL, *b = NULL;
        uint8_t from[2][8];
        Bytes ka, va, kb, vb;

        be64_put(from[0], LIVED);
        be64_put(from[1], FRESH);
        cr_assert_eq(count(t, table, LIVED), count(t, table, FRESH), "%s: rows of %s", when, table_name(table));
        cr_assert_eq(cursor_open(t, table, BYTES(from[0], 8), &a), 0);
        cr_assert_eq(cursor_open(t, table, BYTES(from[1], 8), &b), 0);
        for (size_t n = count(t, table, LIVED); n > 0; n--) {
                cr_assert_eq(cursor_next(a, &ka, &va), 0);
                cr_assert_eq(cursor_next(b, &kb, &vb), 0);
                cr_assert(ka.n == kb.n && memcmp((const char *)ka.p + 8, (const char *)kb.p + 8, ka.n - 8) == 0, "%s: keys of %s", when, table_name(table));
                cr_assert(va.n == vb.n && memcmp(va.p, vb.p, va.n) == 0, "%s: values of %s", when, table_name(table));
        }
}

static void forget(Txn *t, uint64_t scope) {
        uint8_t from[8];

        be64_put(from, scope);
        cr_assert_eq(table_del_prefix(t, TABLE_TERM, BYTES(from, 8)), 0);
        cr_assert_eq(table_del_prefix(t, TABLE_DOC, BYTES(from, 8)), 0);
        cr_assert_eq(count(t, TABLE_TERM, scope) + count(t, TABLE_DOC, scope), 0);
}

// G-29, M-56: a function of the documents that are there, after any puts, replacements and deletes; when all are gone, nothing is there.
Test(index, rows_do_not_tell_their_history) {
        _cleanup_store_fixture_ StoreFixture f;
        static Model m;
        Txn *t;

        begin(&f, &t);
        model_init(&m, 20);
        for (unsigned round = 0; round < 12; round++) {
                char when[32];

                snprintf(when, sizeof(when), "round %u", round);
                for (unsigned i = 0; i < 500; i++) {
                        unsigned kind = 1 + model_random(&m, MODEL_KINDS), number = 1 + model_random(&m, round % 3 ? MODEL_NUMBERS : 40);
                        ModelDoc *d = &m.doc[kind - 1][number - 1], was = *d;

                        if (d->there && model_random(&m, round < 6 ? 4 : 2) == 0) {
                                cr_assert_eq(index_del(t, LIVED, (uint8_t)kind, number), 0);
                                *d = (ModelDoc){0};
                                continue;
                        }
                        model_make(&m, d, number);
                        if (was.there && model_random(&m, 3) > 0) /* one field alone is another */
                                memcpy(d->times, was.times, sizeof(was.times) / MODEL_FIELDS * model_random(&m, 3));
                        model_put(&m, t, LIVED, kind, number);
                }
                for (unsigned kind = MODEL_KINDS; kind > 0; kind--)
                        for (unsigned i = 0, number = 1 + round; i < MODEL_NUMBERS; i++, number = 1 + (number + 288) % MODEL_NUMBERS)
                                if (m.doc[kind - 1][number - 1].there)
                                        model_put(&m, t, FRESH, kind, number);
                expect_same_rows(t, TABLE_TERM, when);
                expect_same_rows(t, TABLE_DOC, when);
                forget(t, FRESH);
        }
        for (unsigned kind = 1; kind <= MODEL_KINDS; kind++)
                for (unsigned number = 1; number <= MODEL_NUMBERS; number++)
                        cr_expect_eq(index_del(t, LIVED, (uint8_t)kind, number), m.doc[kind - 1][number - 1].there ? 0 : -ENOENT);
        cr_expect_eq(count(t, TABLE_TERM, LIVED), 0);
        cr_expect_eq(count(t, TABLE_DOC, LIVED), 0);
        tokenizer_free(m.bag);
        store_abort(t);
}

static void put(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, const char *id, const char *text) {
        _cleanup_tokenizer_ Tokenizer *b = NULL;

        cr_assert_eq(tokenizer_new(&b), 0);
        cr_assert_eq(tokenizer_add(b, INDEX_TEXT, text, strlen(text)), 0);
        cr_assert_eq(index_put(t, scope, kind, number, id, b), 0);
}

// M-21, M-24, M-56: what is counted, what is deleted, and that other scopes and kinds have no part in it.
Test(index, counts_and_deletes) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t df;
        IndexStats s;
        Bytes row;
        Txn *t;

        begin(&f, &t);
        put(t, 1, 0x41, 300, "a", "the secret of the house");
        put(t, 1, 0x41, 2, "b", "a house");
        put(t, 1, 0x51, 2, "b", "a house");
        put(t, 2, 0x41, 2, "b", "a secret house");
        put(t, 1, 0x41, 9, "empty", "");
        cr_assert_eq(index_df(t, 1, 0x41, INDEX_TEXT, "hous", 4, &df), 0);
        cr_expect_eq(df, 2);
        cr_assert_eq(index_df(t, 1, 0x41, INDEX_ALIAS, "hous", 4, &df), 0);
        cr_expect_eq(df, 0);
        cr_assert_eq(index_df(t, 1, 0x41, INDEX_TEXT, "hou", 3, &df), 0);
        cr_expect_eq(df, 0, "the beginning of a term is another term");
        cr_assert_eq(index_stats(t, 1, 0x41, &s), 0);
        cr_expect_eq(s.docs, 3);
        cr_expect_eq(s.field[INDEX_TEXT].docs, 2);
        cr_expect_eq(s.field[INDEX_TEXT].length, 7);
        cr_assert_eq(index_stats(t, 3, 0x41, &s), 0);
        cr_expect_eq(s.docs, 0);

        cr_expect_eq(index_del(t, 1, 0x41, 300), 0);
        cr_expect_eq(index_del(t, 1, 0x41, 300), -ENOENT);
        cr_expect_eq(index_doc(t, 1, 0x41, 300, &row), -ENOENT);
        cr_assert_eq(index_df(t, 1, 0x41, INDEX_TEXT, "secret", 6, &df), 0);
        cr_expect_eq(df, 0);
        cr_assert_eq(index_df(t, 2, 0x41, INDEX_TEXT, "secret", 6, &df), 0);
        cr_expect_eq(df, 1);
        cr_expect_eq(index_del(t, 1, 0x41, 2), 0);
        cr_expect_eq(index_doc(t, 1, 0x41, 2, &row), -ENOENT);
        cr_expect_eq(index_doc(t, 1, 0x51, 2, &row), 0);
        forget(t, 1);
        cr_expect_eq(index_doc(t, 2, 0x41, 2, &row), 0);
        store_abort(t);
}

// G-56: rows that cannot be those of any set of documents are noticed, not built upon.
Test(index, damage) {
        static const struct {
                const char *what;
                const char *row; /* of the term "hous", chunk 0 */
                size_t n;
        } rows[] = {
                {"a row of no document", "", 0},
                {"half an entry", "\x02\x01\x00\x01\x03", 5},
                {"without the document", "\x03\x01\x00\x01", 4},
        };
        _cleanup_store_fixture_ StoreFixture f;
        uint8_t k[TERM_KEY_MAX], d[DOC_KEY_BYTES];
        size_t n = term_key(1, 0x41, INDEX_TEXT, "hous", 4, k);
        uint64_t df;
        Txn *t;

        begin(&f, &t);
        be64_put(k + n, 0);
        doc_key(1, 0x41, 2, d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                forget(t, 1);
                put(t, 1, 0x41, 2, "b", "house");
                cr_assert_eq(table_put(t, TABLE_TERM, BYTES(k, n + 8), BYTES(rows[i].row, rows[i].n)), 0);
                cr_expect_eq(index_del(t, 1, 0x41, 2), -EUCLEAN, "%s", rows[i].what);
                if (rows[i].n % 4 || rows[i].n == 0)
                        cr_expect_eq(index_df(t, 1, 0x41, INDEX_TEXT, "hous", 4, &df), -EUCLEAN, "%s", rows[i].what);
        }
        forget(t, 1);
        put(t, 1, 0x41, 2, "b", "house");
        for (size_t cut = 0; cut < 20; cut++) { /* each way in which a document's row may be cut short */
                static const char whole[] = "\x01" "b\x00\x00\x01\x00\x00\x00\x01\x04\x01" "hous";

                if (cut >= sizeof(whole) - 1 || cut == 2) /* 2: a document without terms */
                        continue;
                cr_assert_eq(table_put(t, TABLE_DOC, BYTES(d, sizeof(d)), BYTES(whole, cut)), 0);
                cr_expect_eq(index_del(t, 1, 0x41, 2), -EUCLEAN, "cut at %zu", cut);
        }
        store_abort(t);
}

// G-29, G-56: a row of ids is what the documents are, and one that does not hold is noticed at each length to which it may be cut.
Test(index, rows_of_ids) {
        static const char *const ids[] = {"a", "bc", "a-much-longer-one", "d"};
        uint8_t rows[2][IDS_BYTES_MAX], out[IDS_BYTES_MAX];
        size_t n[2] = {0};

        for (unsigned back = 0; back < 2; back++)
                for (unsigned i = 0; i < 4; i++) {
                        unsigned which = back ? 3 - i : i;
                        int r = ids_change(BYTES(rows[back], n[back]), (uint8_t)(which * 21), ids[which], strlen(ids[which]), out);

                        cr_assert_gt(r, 0);
                        memcpy(rows[back], out, (size_t)r);
                        n[back] = (size_t)r;
                }
        cr_assert(n[0] == n[1] && memcmp(rows[0], rows[1], n[0]) == 0);
        for (unsigned low = 0; low < 64; low++) {
                const uint8_t *p = rows[0];
                Bytes id;

                cr_expect_eq(ids_seek(&p, rows[0] + n[0], (uint8_t)low, &id), low % 21 ? -EUCLEAN : 0);
                cr_expect(low % 21 || (id.n == strlen(ids[low / 21]) && memcmp(id.p, ids[low / 21], id.n) == 0));
                if (low % 21)
                        cr_expect_eq(ids_change(BYTES(rows[0], n[0]), (uint8_t)low, NULL, 0, out), -EUCLEAN);
        }
        for (size_t cut = 1; cut < n[0]; cut++)
                if (cut != 3 && cut != 7 && cut != 26)
                        cr_expect_eq(ids_change(BYTES(rows[0], cut), 63, "x", 1, out), -EUCLEAN, "cut at %zu", cut);
        cr_expect_eq(ids_change(BYTES("\x05\x01x\x05\x01y", 6), 9, "z", 1, out), -EUCLEAN);
        cr_expect_eq(ids_change(BYTES("\x40\x01x", 3), 9, "z", 1, out), -EUCLEAN);
        cr_expect_eq(ids_change(BYTES("\x05\x01x", 3), 5, NULL, 0, out), 0);
}
