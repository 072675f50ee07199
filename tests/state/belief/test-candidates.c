#include "belief/candidates.h"
#include "belief/cues.h"
#include "belief/shortlist.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "tests/eval/setting.h"
#include "tests/support/store-fixture.h"

#include <math.h>
#include <string.h>

#define ME "uid:0"

static const char history[] = "0a1b2c01\t1\tnet/loop: support flow director\t\t\n"
                              "0a1b2c02\t2\tnet/loop: add hardware timestamps\t\t\n"
                              "0a1b2c03\t3\tnet/ring: support hardware timestamps for rx_burst()\t\t\n"
                              "0a1b2c04\t4\teal: add arm64 power hints\t\t\n"
                              "0a1b2c05\t5\tadd support of what is known as a guide\t\t\n"
                              "0a1b2c06\t6\tapp/pump: add an option for the burst size, and hints\t\t\n"
                              "0a1b2c07\t7\tnet/loop: fix flow director table size\t0a1b2c01\tThe table was sized before the queues were known.\n"
                              "0a1b2c08\t8\tnet/loop: fix crash on close\t0a1b2c02\tClosing twice freed the clock of the hardware twice. Support for it was missing.\n"
                              "0a1b2c09\t9\tnet/ring: fix hardware timestamps\t0a1b2c03\tSimilar to commit 0a1b2c02 (\"net/loop: add hardware timestamps\").\n"
                              "0a1b2c0a\t10\tapp/pump: fix parsing\t0a1b2c06\tThis reverts commit 0a1b2c06ffff.\n"
                              "0a1b2c0b\t11\tfix hints\t0a1b2c04\tThe arm64 ones.\n"
                              "0a1b2c0c\t12\tseveral words that none has\t0a1b2c05\tNothing.\n";

static void create(StoreFixture *f, Txn *t, const ChangesRow *row) {
        json_t *payload = json_pack("{s:s, s:s*}", "title", row->subject, "detail", *row->body ? row->body : NULL);
        Mutated made;
        int r = engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = OP_UPSERT, .id = row->slug, .expect = 0, .payload = payload, .who = ME}, &made, &f->d);

        cr_assert_eq(r, 0, "%s: %s", row->slug, f->d.text);
        json_decref(payload);
}

typedef struct Judged {
        StoreFixture *f;
        Txn *t;
        const Changes *h;
        uint64_t scope;
        size_t created, notes, bound;
} Judged;

/* The same note, asked of the store with the same rows. */
static void ask_the_store(void *user, uint32_t note, bool absent, const ResolveOutcome *want, const ResolveCandidate *best, size_t n) {
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        Judged *x = user;
        _cleanup_free_ char *text = changes_note(x->h, note, NOTE_MASKED);
        _cleanup_canon_request_ BeliefRequest req = {0};
        _cleanup_candidates_ Candidates found = {0};
        _cleanup_bucket_ Bucket b = {0};
        ResolveQuestion asked;

        for (; x->created < note; x->created++)
                create(x->f, x->t, &x->h->rows[x->created]);
        x->notes++;
        if (absent)
                return;
        b = bucket_of(x->t, x->scope, KIND_ISSUE);
        cr_assert_eq(cues_interpret(text, strlen(text), CUE_AGENT, &req, &x->f->d), 0, "%s", x->f->d.text);
        asked = asked_by(&req, text, strlen(text));
        cr_assert_eq(candidates_find(&b, &asked, &policy, &found), 0);
        cr_expect(found.outcome.verdict == want->verdict && fabs(found.outcome.best - want->best) < 1e-12, "%s: %.4f, replayed %.4f", text, found.outcome.best, want->best);
        cr_expect_eq(found.n, n, "%s: %zu candidates, replayed %zu", text, found.n, n);
        for (size_t i = 0; i < MIN(n, found.n); i++)
                cr_expect(strcmp(found.v[i].id, best[i].id) == 0 && found.v[i].compared && found.v[i].probability == best[i].probability,
                          "%s: %s %u, replayed %s %u", text, found.v[i].id, found.v[i].probability, best[i].id, best[i].probability);
        x->bound += want->verdict == RESOLVE_BIND;
}

// G-13, G-17, G-21, G-55, G-71, G-72: what tests/eval/identity counts is what the store's own rows and index give, note by note, row by row.
Test(candidates, the_store_gives_what_the_replay_counts) {
        _cleanup_store_fixture_ StoreFixture f;
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        Changes c;
        Judged x = {.f = &f, .h = &c};
        const Setting how = {.each = ask_the_store, .user = &x};
        SettingCount count;

        store_fixture_init(&f, STORE_WRITE);
        cr_assert_eq(changes_read(strdup(history), strlen(history), &c, &f.d), 0, "%s", f.d.text);
        x.t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_scope_need(x.t, ME, SCOPE_DEFAULT, &x.scope, &f.d), 0);
        cr_assert_eq(setting_replay(&c, &how, &policy, &count), 0);
        cr_expect_eq(x.notes, c.n_notes);
        cr_expect_gt(x.bound, 0);
        store_fixture_commit(&f, x.t);
        changes_deinit(&c);
}

static void change(StoreFixture *f, Txn *t, Op op, const char *id, const char *title) {
        json_t *payload = title ? json_pack("{s:s}", "title", title) : json_object();
        Mutated m;
        int r = engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = op, .id = id, .expect = MUTATION_ANY, .payload = payload, .who = ME}, &m, &f->d);

        cr_assert_eq(r, 0, "%s: %s", id, f->d.text);
        json_decref(payload);
}

/* More of them than are looked at, each of them more like the note than the open one is. */
#define ENDED (SHORTLIST_ROWS + 40)

// G-17, G-20: rows that have ended keep none off the list that an operation can be about; what has ended and is opened again is on it, and operations that
// are about ended ones, too, find both.
Test(candidates, rows_that_have_ended_crowd_nobody_out) {
        static const char said[] = "The reader of the queue leaks memory at start no more.";
        _cleanup_store_fixture_ StoreFixture f;
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        change(&f, t, OP_UPSERT, "open_one", "the reader of the queue");
        for (unsigned i = 0; i < ENDED; i++) {
                char id[32];

                snprintf(id, sizeof(id), "ended_%u", i);
                change(&f, t, OP_UPSERT, id, "the reader of the queue leaks memory at start");
                change(&f, t, OP_RESOLVE, id, NULL);
        }
        for (unsigned again = 0; again < 3; again++) {
                ResolveQuestion asked = {.op = again < 2 ? OP_RESOLVE : OP_UPSERT, .text = said, .n_text = strlen(said), .reference = "the reader of the queue"};
                _cleanup_candidates_ Candidates c = {0};
                _cleanup_bucket_ Bucket b = {0};
                uint64_t scope;

                if (again == 1)
                        change(&f, t, OP_UPSERT, "ended_7", "the reader of the queue leaks memory at start");
                cr_assert_eq(engine_scope_need(t, ME, SCOPE_DEFAULT, &scope, &f.d), 0);
                b = bucket_of(t, scope, KIND_ISSUE);
                cr_assert_eq(candidates_find(&b, &asked, &policy, &c), 0);
                if (again == 2) {
                        unsigned open = 0;

                        for (size_t i = 0; i < c.n; i++)
                                open += candidates_state(&c, i) == RECORD_OPEN;
                        cr_expect(open == 2 && c.n >= SHORTLIST_ROWS && c.n <= SHORTLIST_ROWS + 2, "%u of %zu are open", open, c.n);
                        continue;
                }
                cr_assert_eq(c.n, 1 + again, "%zu candidates", c.n);
                for (size_t i = 0; i < c.n; i++) {
                        cr_expect(strcmp(c.v[i].id, "open_one") == 0 || strcmp(c.v[i].id, "ended_7") == 0, "%s", c.v[i].id);
                        cr_expect_eq(candidates_state(&c, i), RECORD_OPEN);
                }
        }
        store_abort(t);
}
