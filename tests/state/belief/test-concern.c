/* Runs: tests. The cheap look at what waits, beside the whole resolution: rows, requests and changes drawn at random (from a seed: the same ones each time),
 * with few words, so that much is alike. */
#include "belief/candidates.h"
#include "belief/concern.h"
#include "index/lexicon.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "tests/support/store-fixture.h"

#include <criterion/logging.h>

#include <string.h>

#define ME "uid:0"
#define ROWS 9
#define WAITS 12
#define CHANGES 400

static uint64_t seed = 1;

static unsigned upto(unsigned n) {
        seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (unsigned)(seed >> 33) % n;
}

/* Areas, leads, words that stand in any note, and others. */
static void say(char *ret, size_t n, bool with_id) {
        static const char *const areas[] = {"", "", "", "net: ", "disk: ", "net/loop: "}, *const leads[] = {"", "", "", "add ", "fix ", "update "},
                                 *const words[] = {"disk", "server", "fan", "rack", "net", "loop", "of the", "is", "full", "quasar", "lamp"};
        size_t at = (size_t)snprintf(ret, n, "%s%s", areas[upto(ARRAY_SIZE(areas))], leads[upto(ARRAY_SIZE(leads))]);

        for (unsigned i = 0, most = 1 + upto(4); i < most; i++)
                at += (size_t)snprintf(ret + at, n - at, "%s%s", i ? " " : "", words[upto(ARRAY_SIZE(words))]);
        if (with_id && upto(8) == 0)
                snprintf(ret + at, n - at, " row_%c_%u", "ab"[upto(2)], upto(ROWS));
}

typedef struct Waiting {
        char note[256], reference[256];
        json_t *aliases, *candidates;
        ResolveQuestion asked;
} Waiting;

static json_t *matches(Op op, const Candidates *c, const ResolvePolicy *p) {
        json_t *ref = resolve_source_ref(op, &c->outcome, c->v, c->n, p), *list = json_incref(json_object_get(ref, "candidate_matches"));

        json_decref(ref);
        return list;
}

/* A request that waits, or -1 when what was drawn does not. */
static int draw(Bucket *b, const ResolvePolicy *p, Waiting *w) {
        Candidates c;

        *w = (Waiting){.aliases = json_array()};
        say(w->note, sizeof(w->note), true);
        say(w->reference, sizeof(w->reference), false);
        for (unsigned i = upto(3); i > 0; i--) {
                char alias[256];

                say(alias, sizeof(alias), false);
                json_array_append_new(w->aliases, json_string(alias));
        }
        w->asked = (ResolveQuestion){.op = upto(4) ? OP_RESOLVE : OP_UPSERT, .reference = upto(3) ? w->reference : NULL, .aliases = w->aliases, .text = w->note,
                           .n_text = strlen(w->note)};
        cr_assert_eq(candidates_find(b, &w->asked, p, &c), 0);
        if (c.outcome.verdict == RESOLVE_WAIT)
                w->candidates = matches(w->asked.op, &c, p);
        else
                json_decref(w->aliases);
        candidates_deinit(&c);
        return w->candidates ? 0 : -1;
}

static void change(StoreFixture *f, Txn *t, Bucket *b, const char *id, BucketRow **ret_was) {
        json_t *payload = NULL, *more = NULL;
        char title[256], alias[256];
        const BucketRow *row;
        Mutated made;
        Lexicon *l;
        Op op = OP_UPSERT;

        cr_assert_geq(bucket_lexicon(b, &l), 0);
        if (bucket_row(b, id, &row) == 0 && row->state == RECORD_OPEN && upto(2))
                op = OP_RESOLVE;
        say(title, sizeof(title), false);
        say(alias, sizeof(alias), false);
        payload = op == OP_RESOLVE ? json_object() : json_pack("{s:s}", "title", title);
        more = upto(3) ? NULL : json_pack("{s:[s]}", "aliases", alias);
        cr_assert_eq(bucket_take(b, id, ret_was), 0);
        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = op, .id = id, .expect = MUTATION_ANY, .payload = payload, .more = more, .who = ME},
                                   &made, &f->d), 0, "%s", f->d.text);
        json_decref(payload);
        json_decref(more);
}

/* The whole resolution with the row as it was in place of the row as it is. */
static ResolveOutcome as_if(Bucket *b, const ResolveQuestion *asked, const Candidates *now, const char *id, const BucketRow *was, const ResolvePolicy *p) {
        ResolveCandidate c[ROWS + 1];
        ResolveEvidence e;
        Lexicon *l;
        size_t n = 0;

        cr_assert_eq(bucket_lexicon(b, &l), 1);
        for (size_t i = 0; i < now->n; i++)
                if (strcmp(now->v[i].id, id) != 0)
                        c[n++] = now->v[i];
        cr_assert_eq(evidence_init(l, asked, &e), 0);
        if (was && kind_next_state(KIND_ISSUE, asked->op, was->state) != RECORD_NONE)
                cr_assert_eq(evidence_weigh(l, &e, &was->evidence, &c[n++]), 0);
        evidence_deinit(&e);
        return resolve_decide(asked->op, NULL, c, n, p);
}

/* What the index knows of it never says too little. */
static void bounded(Bucket *b, const Waiting *w, const BucketRow *row) {
        const char *texts[2 + 4] = {w->note, w->reference};
        uint8_t there[4096] = {0};
        ResolveCandidate c;
        Likeness most;
        ResolveEvidence e;
        Lexicon *l;

        cr_assert_eq(bucket_lexicon(b, &l), 1);
        for (size_t i = 0; i < json_array_size(w->aliases); i++)
                texts[2 + i] = json_string_value(json_array_get(w->aliases, i));
        for (size_t i = 0; i < 2 + json_array_size(w->aliases); i++) {
                uint32_t *numbers;
                size_t n;

                cr_assert_eq(lexicon_read(l, texts[i], strlen(texts[i]), LEXICON_ALL, &numbers, &n), 0);
                for (size_t k = 0; k < n; k++)
                        there[numbers[k]] = 1;
                free(numbers);
        }
        cr_assert_lt(lexicon_terms(l), sizeof(there));
        cr_assert_eq(evidence_init(l, &w->asked, &e), 0);
        cr_assert_eq(evidence_weigh(l, &e, &row->evidence, &c), 0);
        evidence_deinit(&e);
        most = likeness_most(l, there, &row->evidence.naming, row->evidence.memory, row->evidence.n_memory);
        cr_expect(most.overlap >= c.overlap - 1e-9 && most.alias >= c.alias - 1e-9 && most.reference >= c.reference - 1e-9,
                  "%s, asked %s, %s: %f %f %f, at most %f %f %f", row->title, w->note, w->reference, c.overlap, c.alias, c.reference, most.overlap, most.alias,
                  most.reference);
}

// G-46, G-48, G-55: where the cheap look says that a change concerns no request, the whole resolution does not decide it for that change either; and most
// changes concern none.
Test(concern, says_no_only_where_nothing_would_be_decided) {
        const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        unsigned decided = 0, passed = 0, tried = 0, bound = 0;
        _cleanup_store_fixture_ StoreFixture f;
        static Waiting waits[WAITS];
        size_t n_waits = 0;
        uint64_t scope;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_scope_need(t, ME, SCOPE_DEFAULT, &scope, &f.d), 0);
        for (unsigned i = 0; i < CHANGES; i++) {
                Bucket b = bucket_of(t, scope, KIND_ISSUE);
                const BucketRow *row;
                BucketRow *was;
                char id[16];

                while (n_waits < WAITS && draw(&b, &policy, &waits[n_waits]) == 0)
                        n_waits++;
                snprintf(id, sizeof(id), "row_%c_%u", "ab"[upto(2)], upto(ROWS / 2));
                change(&f, t, &b, id, &was);
                for (size_t k = 0; k < n_waits; k++) {
                        const Waiting *w = &waits[k];
                        ResolveOutcome before;
                        Candidates now;
                        int concerns = concern_row(&b, id, was, &w->asked, w->candidates, &policy);

                        cr_assert_geq(concerns, 0);
                        cr_assert_eq(candidates_find(&b, &w->asked, &policy, &now), 0);
                        before = as_if(&b, &w->asked, &now, id, was, &policy);
                        if (now.outcome.verdict != RESOLVE_WAIT && before.verdict == RESOLVE_WAIT) {
                                decided++;
                                bound += now.outcome.verdict == RESOLVE_BIND && strcmp(now.v[0].id, id) == 0;
                                cr_expect_eq(concerns, 1, "change %u of %s decides \"%s\", %s", i, id, w->note, resolve_reason_name(now.outcome.reason));
                        }
                        passed += !concerns;
                        tried += concerns && now.outcome.verdict == RESOLVE_WAIT;
                        cr_assert_eq(bucket_row(&b, id, &row), 0);
                        bounded(&b, w, row);
                        candidates_deinit(&now);
                }
                /* those that could be decided are, others are forgotten now and then */
                for (size_t k = 0; k < n_waits;) {
                        Candidates now;

                        cr_assert_eq(candidates_find(&b, &waits[k].asked, &policy, &now), 0);
                        if (now.outcome.verdict != RESOLVE_WAIT || upto(20) == 0) {
                                json_decref(waits[k].aliases);
                                json_decref(waits[k].candidates);
                                waits[k] = waits[--n_waits];
                                waits[k].asked.text = waits[k].note;
                                waits[k].asked.reference = waits[k].asked.reference ? waits[k].reference : NULL;
                        } else
                                k++;
                        candidates_deinit(&now);
                }
                bucket_row_free(was);
                bucket_deinit(&b);
        }
        cr_log_info("%u decided, %u of these by the row itself; %u said no to, %u tried in vain", decided, bound, passed, tried);
        cr_expect(bound > 12 && decided - bound > 5, "%u decided, %u by the row itself", decided, bound);
        cr_expect_gt(passed, tried, "%u said no to, %u tried in vain", passed, tried);
        while (n_waits > 0) {
                json_decref(waits[--n_waits].aliases);
                json_decref(waits[n_waits].candidates);
        }
        store_abort(t);
}
