/* Runs: tests. What the index knows of what waits: who had a row for a candidate, who has some words, which words begin how; and however many wait, no more
 * than the oldest are looked at. */
#include "engine/scope.h"
#include "engine/wait.h"
#include "tests/support/store-fixture.h"

#include <string.h>

static uint64_t wait_for(Txn *t, uint64_t scope, Kind kind, const char *note, const char *candidate) {
        _cleanup_json_ json_t *body = json_pack("{s:s, s:{s:s}, s:[{s:s}]}", "note", note, "request", "reference_text", note, "candidates", "id", candidate);
        uint64_t id;

        cr_assert_eq(engine_wait(t, "uid:0", NULL, scope, kind, OP_RESOLVE, NULL, body, &id), 0);
        return id;
}

static size_t having(Txn *t, uint64_t scope, Kind kind, const char *id, uint64_t ret[static WAIT_HAVING_MOST]) {
        size_t n = 99;

        cr_assert_eq(wait_having(t, scope, kind, id, ret, &n), 0);
        for (size_t i = 1; i < n; i++)
                cr_expect_lt(ret[i - 1], ret[i]);
        return n;
}

typedef struct Seen {
        uint64_t first, last;
        size_t n, unread;
} Seen;

static int see(void *user, const RankOverlap *o) {
        Seen *s = user;

        cr_expect_lt(s->last, o->number);
        s->first = s->n == 0 ? o->number : s->first;
        s->last = o->number;
        s->n++;
        s->unread += o->unread != 0;
        return 0;
}

static Seen sharing(Txn *t, uint64_t scope, Kind kind, const char *a, const char *b) {
        RankTerm terms[] = {{.p = a, .n = (uint8_t)strlen(a)}, {.p = b, .n = (uint8_t)strlen(b)}};
        Seen s = {0};

        cr_assert_eq(wait_sharing(t, scope, kind, terms, 2, see, &s), 0);
        return s;
}

// G-46, G-47, G-48
Test(wait, by_candidate_and_by_words) {
        uint64_t scope, other, first = 0, mine = 0, rare = 0, elsewhere, ids[WAIT_HAVING_MOST];
        _cleanup_store_fixture_ StoreFixture f;
        RankTerm words[4];
        size_t n = 99;
        Seen s;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_scope_create(t, "uid:0", "one", &scope, &f.d), 0, "%s", f.d.text);
        cr_assert_eq(engine_scope_create(t, "uid:0", "two", &other, &f.d), 0, "%s", f.d.text);
        cr_expect_eq(wait_any(t, scope, KIND_ISSUE), 0);
        cr_expect_eq(having(t, scope, KIND_ISSUE, "import_blocker", ids), 0, "nothing waits");
        for (unsigned i = 0; i < 3000; i++) {
                uint64_t id = wait_for(t, scope, KIND_ISSUE, i == 2900 ? "The flaky quasar is a blocker no more." : "The earlier blocker is fixed.",
                                       i == 2600 ? "import_blocker" : "other_import_blocker");

                first = i == 0 ? id : first;
                rare = i == 2900 ? id : rare;
                mine = i == 2600 ? id : mine;
        }
        elsewhere = wait_for(t, other, KIND_ISSUE, "The flaky quasar is fixed.", "import_blocker");

        cr_expect_eq(wait_any(t, scope, KIND_ISSUE), 1);
        cr_expect_eq(wait_any(t, scope, KIND_DECISION), 0);
        cr_expect(having(t, scope, KIND_ISSUE, "import_blocker", ids) == 1 && ids[0] == mine, "and none that has another with a name like it");
        cr_expect(having(t, scope, KIND_ISSUE, "other_import_blocker", ids) == WAIT_HAVING_MOST && ids[0] == first, "the oldest");
        cr_expect_eq(having(t, scope, KIND_DECISION, "import_blocker", ids), 0, "another bucket");
        cr_expect(having(t, other, KIND_ISSUE, "import_blocker", ids) == 1 && ids[0] == elsewhere, "another scope"); // M-23

        s = sharing(t, scope, KIND_ISSUE, "blocker", "quasar");
        cr_expect(s.first == first && s.last == rare && s.n > 1700 && s.n < 2400, "%zu: the oldest that have the one, each that has the other", s.n);
        cr_expect_eq(s.unread, 1, "and of that one it is not known whether it has the first");
        s = sharing(t, other, KIND_ISSUE, "blocker", "quasar");
        cr_expect(s.n == 1 && s.first == elsewhere && s.unread == 0);

        cr_assert_eq(wait_words(t, scope, KIND_ISSUE, "qua", 3, words, ARRAY_SIZE(words), &n), 0);
        cr_expect(n == 1 && words[0].n == 6 && memcmp(words[0].p, "quasar", 6) == 0);
        cr_assert_eq(wait_words(t, scope, KIND_ISSUE, "f", 1, words, ARRAY_SIZE(words), &n), 0);
        cr_expect(n == 2 && words[0].n == 3 && memcmp(words[0].p, "fix", 3) == 0, "each once, however many have it: %zu", n);
        cr_assert_eq(wait_words(t, scope, KIND_ISSUE, "f", 1, words, 1, &n), 0);
        cr_expect_eq(n, 1);

        cr_assert_eq(engine_wait_drop(t, "uid:0", rare, "not needed", NULL, &f.d), 0, "%s", f.d.text);
        cr_expect_eq(sharing(t, scope, KIND_ISSUE, "quasar", "flaki").n, 0, "what was dropped");
        store_abort(t);
}
