/* Runs: tests. Claims of records in the store: what a look for opposed records costs, and that no row of theirs outlives its record. */
#include "engine/claim.h"
#include "engine/dispute.h"
#include "engine/fold.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "record/event.h"
#include "tests/support/store-fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define ME "uid:1000"
#define MANY 10000

static Txn *begin(StoreFixture *f) {
        store_fixture_init(f, STORE_WRITE);
        return store_fixture_begin(f, true);
}

static Mutated put(Txn *t, Kind kind, Op op, const char *id, json_t *payload) {
        _cleanup_json_ json_t *p = payload;
        Mutated m;
        Diag d;

        cr_assert_eq(mutate_judged(t, &(Mutation){.kind = kind, .op = op, .id = id, .expect = MUTATION_ANY, .payload = p, .who = ME, .one_of_many = true,
                                                  .type = kind == KIND_MEMORY && op == OP_SAVE ? "semantic" : NULL}, &m, &d), 0, "%s", d.text);
        cr_assert(m.applied);
        return m;
}

static void fact(Txn *t, const char *id, const char *object) {
        put(t, KIND_MEMORY, OP_SAVE, id, json_pack("{s:s, s:s, s:s}", "subject", "Ann", "predicate", "favourite number", "object", object));
}

static void rule(Txn *t, const char *id, const char *statement) {
        put(t, KIND_CONSTRAINT, OP_UPSERT, id, json_pack("{s:s}", "statement", statement));
}

static Record get(Txn *t, Kind kind, const char *id) {
        Record rec = RECORD_NULL;
        uint64_t scope;
        RecordKey k;

        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
        k = record_key_of(scope, kind, id);
        cr_assert_eq(record_get(t, &k, &rec), 0);
        return rec;
}

static Disputes of(Txn *t, Kind kind, const char *id) {
        _cleanup_record_ Record rec = get(t, kind, id);
        Disputes d;

        cr_assert_eq(disputes_of(t, &rec, NULL, &d), 0);
        return d;
}

static uint64_t claim_rows(Txn *t) {
        uint64_t n;

        cr_assert_eq(table_rows(t, TABLE_CLAIM, &n), 0);
        return n;
}

/* G-69: with 10,000 records of one subject, no answer and no row of a record grows with their number */
Test(claim, ten_thousand_records_of_one_subject) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t = begin(&f);
        char id[16], n[16];

        for (unsigned i = 0; i < MANY; i++) {
                _cleanup_json_ json_t *entry = NULL;
                Mutated m;

                snprintf(id, sizeof(id), "f%u", i);
                snprintf(n, sizeof(n), "%u", i);
                m = put(t, KIND_MEMORY, OP_SAVE, id, json_pack("{s:s, s:s, s:s}", "subject", "Ann", "predicate", "favourite number", "object", n));
                if (i % 1000 == 999) {
                        Disputes d = of(t, KIND_MEMORY, id);

                        cr_assert_eq(event_get(t, m.seq, &entry), 0);
                        cr_expect_eq(json_array_size(json_object_get(entry, "disputes")), DISPUTES_MAX);
                        cr_expect(d.n == DISPUTES_MAX && d.more);
                }
        }
        cr_expect_eq(claim_rows(t), 2 * MANY); /* a claim and a record each, and no row for a pair */
        /* the one that says the same as most of them do not is found among them, and they find it */
        for (unsigned i = 0; i < MANY; i++) {
                snprintf(id, sizeof(id), "c%u", i);
                rule(t, id, "skills must not use the network");
        }
        rule(t, "other", "skills may use the network");
        cr_expect(of(t, KIND_CONSTRAINT, "other").n == DISPUTES_MAX && of(t, KIND_CONSTRAINT, "other").more);
        for (unsigned i = 0; i < MANY; i += MANY / 4) {
                Disputes d;

                snprintf(id, sizeof(id), "c%u", i);
                d = of(t, KIND_CONSTRAINT, id);
                cr_expect(d.n == 1 && strcmp(d.v[0].key.id, "other") == 0 && !d.more);
        }
        store_fixture_commit(&f, t);
}

/* G-69, M-65: every end of a record ends its part in disputes, and a return begins it again */
Test(claim, only_live_records_are_parties) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t = begin(&f);
        uint64_t n;

        fact(t, "a", "7");
        fact(t, "b", "8");
        cr_expect_eq(of(t, KIND_MEMORY, "a").n, 1);
        put(t, KIND_MEMORY, OP_ARCHIVE, "b", NULL);
        cr_expect(of(t, KIND_MEMORY, "a").n == 0 && of(t, KIND_MEMORY, "b").n == 0);
        put(t, KIND_MEMORY, OP_RESTORE, "b", NULL);
        cr_expect(of(t, KIND_MEMORY, "a").n == 1 && of(t, KIND_MEMORY, "b").n == 1);
        fact(t, "b", "7");
        cr_expect_eq(of(t, KIND_MEMORY, "a").n, 0);
        fact(t, "b", "8");
        n = claim_rows(t);
        put(t, KIND_MEMORY, OP_DELETE, "b", NULL);
        cr_expect_eq(of(t, KIND_MEMORY, "a").n, 0);
        cr_expect_eq(claim_rows(t), n - 2);
        rule(t, "c1", "use TLS");
        rule(t, "c2", "do not use TLS");
        cr_expect_eq(of(t, KIND_CONSTRAINT, "c1").n, 1);
        put(t, KIND_CONSTRAINT, OP_INVALIDATE, "c2", json_object());
        cr_expect_eq(of(t, KIND_CONSTRAINT, "c1").n, 0);
        rule(t, "c2", "do not use TLS");
        cr_expect_eq(of(t, KIND_CONSTRAINT, "c1").n, 1);
        store_fixture_commit(&f, t);
}

/* G-69: a settled pair is none until either is written anew, and goes with its records */
Test(claim, a_settled_pair) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t = begin(&f);
        uint64_t scope, seq, before;
        Party a, b;
        Diag d;

        fact(t, "a", "7");
        fact(t, "b", "8");
        fact(t, "c", "9");
        before = claim_rows(t);
        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
        cr_assert(party_parse(scope, "memory_substrate/a", &a) == 0 && party_parse(scope, "memory_substrate/b", &b) == 0);
        cr_assert_eq(engine_dispute_settled(t, ME, NULL, &a, &b, &seq, &d), 0);
        cr_expect_eq(of(t, KIND_MEMORY, "a").n, 1);
        cr_expect_eq(of(t, KIND_MEMORY, "b").n, 1);
        cr_expect_eq(of(t, KIND_MEMORY, "c").n, 2);
        fact(t, "b", "8"); /* the same again is a new word */
        cr_expect_eq(of(t, KIND_MEMORY, "a").n, 2);
        cr_assert_eq(engine_dispute_settled(t, ME, NULL, &b, &a, &seq, &d), 0);
        cr_expect_eq(claim_rows(t), before + 2);
        put(t, KIND_MEMORY, OP_DELETE, "b", NULL);
        cr_expect_eq(claim_rows(t), before - 2);
        cr_expect_eq(engine_dispute_settled(t, ME, NULL, &a, &b, &seq, &d), ENGINE_E_NO_RECORD);
        store_fixture_commit(&f, t);
}

/* G-25: a claim that is missing, or that is no bytes of a claim, is damage, and no row without a dispute */
Test(claim, damaged_rows) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t = begin(&f);
        _cleanup_record_ Record rec = RECORD_NULL;
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t key[512];
        size_t n = 0;
        Disputes found;
        FoldResult fold;
        Bytes k, v;
        Diag d;

        fact(t, "a", "7");
        cr_assert_eq(cursor_open(t, TABLE_CLAIM, BYTES(NULL, 0), &c), 0);
        while (cursor_next(c, &k, &v) == 0) {
                memcpy(key, k.p, k.n);
                n = k.n;
        }
        cr_assert_eq(table_put(t, TABLE_CLAIM, BYTES(key, n), BYTES_STR("short")), 0); /* the record's row comes last */
        rec = get(t, KIND_MEMORY, "a");
        cr_expect_eq(disputes_of(t, &rec, NULL, &found), -EUCLEAN);
        cr_assert_eq(engine_fold_compare(t, &fold, &d), 0);
        cr_expect(fold.differ == 1 && fold.table == TABLE_CLAIM);
        cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0);
        cr_expect_eq(disputes_of(t, &rec, NULL, &found), 0);
        cursor_freep(&c); /* before its transaction ends */
        c = NULL;
        store_abort(t);
}
