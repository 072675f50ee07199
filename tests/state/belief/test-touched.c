/* Runs: tests. Which of those that wait are looked at again after a row was written: those that had it for a candidate, and of those that share its words the
 * likeliest; however many wait, boundedly many. */
#include "belief/touched.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "tests/support/store-fixture.h"

#include <string.h>

#define ME "uid:0"

static uint64_t wait_for(Txn *t, uint64_t scope, const char *note, const char *candidate) {
        _cleanup_json_ json_t *body = json_pack("{s:s, s:{s:s}, s:[{s:s}]}", "note", note, "request", "reference_text", note, "candidates", "id", candidate);
        uint64_t id;

        cr_assert_eq(engine_wait(t, ME, NULL, scope, KIND_ISSUE, OP_RESOLVE, NULL, body, &id), 0);
        return id;
}

static void write_row(StoreFixture *f, Txn *t, const char *id, const char *title) {
        _cleanup_json_ json_t *payload = json_pack("{s:s}", "title", title);
        Mutated made;

        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = OP_UPSERT, .id = id, .expect = MUTATION_ANY, .payload = payload, .who = ME}, &made,
                                   &f->d), 0, "%s", f->d.text);
}

static Touched touched(StoreFixture *f, Txn *t, uint64_t scope, const char *id, const char *title) {
        _cleanup_bucket_ Bucket b = bucket_of(t, scope, KIND_ISSUE);
        BucketRow *was;
        Touched ret;

        cr_assert_eq(bucket_take(&b, id, &was), 0);
        write_row(f, t, id, title);
        cr_assert_eq(touched_find(&b, id, was, &RESOLVE_POLICY_DEFAULT, &ret), 0);
        for (size_t i = 1; i < ret.n; i++)
                cr_expect_lt(ret.ids[i - 1], ret.ids[i]);
        bucket_row_free(was);
        return ret;
}

static bool has(const Touched *t, uint64_t id) {
        for (size_t i = 0; i < t->n; i++)
                if (t->ids[i] == id)
                        return true;
        return false;
}

// G-46, G-47, G-48: thousands wait alike: a row that shares too little with them touches none, one that is like them a few; the one that it is the likeliest
// for is among these, wherever it stands.
Test(touched, by_a_row) {
        uint64_t scope, first = 0, mine = 0, rare = 0, named = 0, hashed = 0, brief = 0;
        _cleanup_store_fixture_ StoreFixture f;
        size_t had = 0;
        Touched found;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_scope_need(t, ME, SCOPE_DEFAULT, &scope, &f.d), 0, "%s", f.d.text);
        for (unsigned i = 0; i < 30; i++) { /* so that words weigh something */
                char id[32], title[64];

                snprintf(id, sizeof(id), "another_row_%u", i);
                snprintf(title, sizeof(title), "thing%u does as it likes in hall%u", i, i % 5);
                write_row(&f, t, id, title);
        }
        found = touched(&f, t, scope, "import_row", "The import is broken.");
        cr_expect_eq(found.n, 0, "nothing waits");
        for (unsigned i = 0; i < 3000; i++) {
                const char *note = "The blocker of an import on the cluster is gone, says Bob.";
                uint64_t id;

                if (i == 2500)
                        note = "The flaky quasar is over.";
                else if (i == 1550)
                        note = "The import blocker: gone.";
                else if (i == 2700)
                        note = "Never again odd_row, they say.";
                else if (i == 2800)
                        note = "This is what commit 1bb4a528c41f0 had, in the old tree.";
                id = wait_for(t, scope, note, i == 2600 ? "some_row" : "other_some_row");
                first = i == 0 ? id : first;
                rare = i == 2500 ? id : rare;
                brief = i == 1550 ? id : brief;
                mine = i == 2600 ? id : mine;
                named = i == 2700 ? id : named;
                hashed = i == 2800 ? id : hashed;
        }
        found = touched(&f, t, scope, "lamp_out", "A lamp of the red tower is out now, is it not");
        cr_expect_eq(found.n, 0, "it has the words that are in any text: %zu", found.n);
        found = touched(&f, t, scope, "much_else", "The cluster of telescopes above Oslo turns into winter sky mode");
        cr_expect_eq(found.n, 0, "it has a word of thousands: %zu", found.n);
        found = touched(&f, t, scope, "new_blocker", "A blocker of the import");
        cr_expect(found.n > 1 && found.n < 16 && has(&found, first) && has(&found, brief), "%zu: the oldest ones, and the one that says nothing else", found.n);
        found = touched(&f, t, scope, "flaky_thing", "A quasar is flaky");
        cr_expect(found.n == 1 && has(&found, rare));
        found = touched(&f, t, scope, "odd_row", "Whatever this may be");
        cr_expect(found.n == 1 && has(&found, named), "%zu: its name", found.n);
        found = touched(&f, t, scope, "of_1bb4a528", "Whatever that may be");
        cr_expect(found.n == 1 && has(&found, hashed), "%zu: its hash, in another length", found.n);
        found = touched(&f, t, scope, "some_row", "Nothing that is said");
        cr_expect(found.n == 1 && has(&found, mine) && found.had[0], "the one that has it for a candidate, and none that has another with a name like it");
        found = touched(&f, t, scope, "other_some_row", "Nothing that is said either");
        for (size_t i = 0; i < found.n; i++)
                had += found.had[i];
        cr_expect(had == WAIT_HAVING_MOST && found.ids[0] == first, "the oldest of thousands that have it for a candidate: %zu of %zu", had, found.n);
        store_abort(t);
}
