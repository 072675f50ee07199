#include "engine/resolve.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define PROBABLE(ID, SCORE, P) {.id = ID, .overlap = SCORE, .alias = SCORE, .reference = SCORE, .compared = true, .probability = P}
#define FUZZY(name, o, a, r) {.id = (name), .overlap = (o), .alias = (a), .reference = (r)}
#define EXACT(name) {.id = (name), .exact = true}
#define NAMED(name) {.id = (name), .named = true}
#define CALLED(id_) {.id = (id_), .named = true, .called = true}

/* Round figures, so that the rows say what they test whatever the defaults become. */
static const ResolvePolicy policy = {.tau = 0.55, .delta = 0.20, .create_tau = 0.90, .create_delta = 0.20, .fresh = 0.35};

// G-15: explicit id 1.0, slug in text 0.95, else 0.45 overlap + 0.25 alias + 0.30 reference.
Test(resolve, a_score_is_what_it_is_written_to_be) {
        static const struct {
                ResolveCandidate c;
                double score;
        } rows[] = {
                {EXACT("a_b"), 1.0},
                {{.id = "a_b", .exact = true, .named = true}, 1.0},
                {NAMED("a_b"), 0.95},
                {{.id = "a_b", .named = true, .overlap = 1, .alias = 1, .reference = 1}, 0.95},
                {FUZZY("a_b", 1, 0, 0), 0.45},
                {FUZZY("a_b", 0, 1, 0), 0.25},
                {FUZZY("a_b", 0, 0, 1), 0.30},
                {FUZZY("a_b", 1, 1, 1), 1.0},
                {FUZZY("a_b", 0.5, 0.2, 0.1), 0.305},
                {FUZZY("a_b", 0, 0, 0), 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect(fabs(resolve_score(&rows[i].c) - rows[i].score) < 1e-12, "row %zu: %g", i, resolve_score(&rows[i].c));
}

// G-16, G-17, G-19, G-20: what is bound, what is new, what waits, and why.
Test(resolve, the_best_one_is_bound_only_when_it_is_clear) {
        static const struct {
                const char *what;
                Op op;
                const char *target;
                ResolveCandidate c[4];
                ResolveVerdict verdict;
                ResolveReason reason;
                const char *bound;
        } rows[] = {
                {"nothing there to resolve", OP_RESOLVE, NULL, {{0}}, RESOLVE_WAIT, RESOLVE_NO_CANDIDATE, NULL},
                {"nothing alike to resolve", OP_RESOLVE, NULL, {FUZZY("a", 0, 0, 0)}, RESOLVE_WAIT, RESOLVE_NO_CANDIDATE, NULL},
                {"alone and clear", OP_RESOLVE, NULL, {FUZZY("a", 1, 0.4, 0)}, RESOLVE_BIND, RESOLVE_SCORE, "a"},
                {"tau to the digit", OP_RESOLVE, NULL, {FUZZY("a", 0, 1, 1)}, RESOLVE_BIND, RESOLVE_SCORE, "a"},
                {"just below tau", OP_RESOLVE, NULL, {FUZZY("a", 0, 0.999, 1)}, RESOLVE_WAIT, RESOLVE_WEAK, NULL},
                {"delta to the digit", OP_RESOLVE, NULL, {FUZZY("a", 1, 1, 0), FUZZY("b", 0, 1, 0.8333333333333333)}, RESOLVE_BIND, RESOLVE_SCORE, "a"},
                {"just below delta", OP_RESOLVE, NULL, {FUZZY("a", 1, 1, 0), FUZZY("b", 0, 1, 0.84)}, RESOLVE_WAIT, RESOLVE_AMBIGUOUS, NULL},
                {"two the same", OP_INVALIDATE, NULL, {FUZZY("b", 1, 1, 1), FUZZY("a", 1, 1, 1)}, RESOLVE_WAIT, RESOLVE_AMBIGUOUS, NULL},
                {"the second one is clear", OP_RESOLVE, NULL, {FUZZY("a", 0.3, 0, 0), FUZZY("b", 1, 1, 1)}, RESOLVE_BIND, RESOLVE_SCORE, "b"},
                {"its id", OP_RESOLVE, "a", {FUZZY("b", 1, 1, 1), EXACT("a")}, RESOLVE_BIND, RESOLVE_EXPLICIT, "a"},
                {"its id, and another one's in the text", OP_RESOLVE, "a", {NAMED("b"), EXACT("a")}, RESOLVE_BIND, RESOLVE_EXPLICIT, "a"},
                {"an id that no row has", OP_RESOLVE, "x", {FUZZY("a", 1, 1, 1)}, RESOLVE_WAIT, RESOLVE_NO_CANDIDATE, NULL},
                {"an id that no row has, another one in the text", OP_INVALIDATE, "x", {NAMED("a")}, RESOLVE_WAIT, RESOLVE_NO_CANDIDATE, NULL},
                {"a name in the text against words", OP_RESOLVE, NULL, {FUZZY("b", 1, 1, 1), NAMED("a")}, RESOLVE_BIND, RESOLVE_NAMED, "a"},
                {"two names in the text", OP_RESOLVE, NULL, {NAMED("a"), NAMED("b")}, RESOLVE_WAIT, RESOLVE_AMBIGUOUS, NULL},
                {"another one is mentioned", OP_RESOLVE, NULL, {FUZZY("a", 1, 1, 1), {.id = "b", .mentioned = true}}, RESOLVE_WAIT, RESOLVE_AMBIGUOUS, NULL},
                {"it is only mentioned", OP_RESOLVE, NULL, {FUZZY("b", 0.2, 0, 0), {.id = "a", .mentioned = true, .overlap = 1, .alias = 1}}, RESOLVE_WAIT,
                 RESOLVE_MENTIONED, NULL}, // G-68
                {"the only one is only mentioned", OP_RESOLVE, NULL, {{.id = "a", .mentioned = true, .overlap = 1, .alias = 1, .reference = 1}}, RESOLVE_WAIT,
                 RESOLVE_MENTIONED, NULL},
                {"mentioned and meant", OP_RESOLVE, NULL, {{.id = "a", .mentioned = true, .named = true}}, RESOLVE_BIND, RESOLVE_NAMED, "a"},
                {"named, and another one mentioned", OP_RESOLVE, NULL, {NAMED("a"), {.id = "b", .mentioned = true, .overlap = 1}}, RESOLVE_BIND, RESOLVE_NAMED, "a"},
                {"the first one ever", OP_UPSERT, NULL, {{0}}, RESOLVE_NEW, RESOLVE_NOTHING_LIKE, NULL},
                {"below fresh", OP_UPSERT, NULL, {FUZZY("a", 0.5, 0.2, 0.24)}, RESOLVE_NEW, RESOLVE_NOTHING_LIKE, NULL},
                {"fresh to the digit", OP_UPSERT, NULL, {FUZZY("a", 0.5, 0.5, 0)}, RESOLVE_WAIT, RESOLVE_ALIKE, NULL},
                {"in between", OP_APPEND, NULL, {FUZZY("a", 0.8, 0.8, 0.8)}, RESOLVE_WAIT, RESOLVE_ALIKE, NULL},
                {"the same, to be written", OP_UPSERT, NULL, {FUZZY("a", 1, 1, 1)}, RESOLVE_BIND, RESOLVE_SCORE, "a"},
                {"the same twice, to be written", OP_UPSERT, NULL, {FUZZY("a", 1, 1, 1), FUZZY("b", 1, 1, 0.9)}, RESOLVE_WAIT, RESOLVE_ALIKE, NULL},
                {"to be written, its id in the words", OP_UPSERT, NULL, {CALLED("a"), FUZZY("b", 1, 1, 1)}, RESOLVE_BIND, RESOLVE_NAMED, "a"},
                {"to be written, two ids in the words", OP_UPSERT, NULL, {CALLED("a"), CALLED("b")}, RESOLVE_WAIT, RESOLVE_ALIKE, NULL},
                {"to be added, the same words", OP_APPEND, NULL, {FUZZY("a", 1, 1, 1)}, RESOLVE_WAIT, RESOLVE_ALIKE, NULL},
                {"to be added, another one's id in the words", OP_APPEND, NULL, {CALLED("a")}, RESOLVE_NEW, RESOLVE_NOTHING_LIKE, NULL},
                {"to be written, its id", OP_UPSERT, "a", {EXACT("a"), FUZZY("b", 1, 1, 1)}, RESOLVE_BIND, RESOLVE_EXPLICIT, "a"},
                {"to be written, a new id beside the same words", OP_UPSERT, "x", {FUZZY("a", 1, 1, 1)}, RESOLVE_NEW, RESOLVE_NEW_ID, NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                ResolveCandidate c[4], other[4];
                ResolveOutcome o, again;
                size_t n = 0;

                while (n < 4 && rows[i].c[n].id)
                        n++;
                memcpy(c, rows[i].c, sizeof(c));
                for (size_t k = 0; k < n; k++)
                        other[k] = rows[i].c[n - 1 - k];
                o = resolve_decide(rows[i].op, rows[i].target, c, n, &policy);
                cr_expect_eq(o.verdict, rows[i].verdict, "%s: verdict %d", rows[i].what, o.verdict);
                cr_expect_eq(o.reason, rows[i].reason, "%s: %s", rows[i].what, resolve_reason_name(o.reason));
                if (rows[i].bound)
                        cr_expect_str_eq(c[0].id, rows[i].bound, "%s", rows[i].what);
                // G-21: in whatever order they come
                again = resolve_decide(rows[i].op, rows[i].target, other, n, &policy);
                cr_expect(again.verdict == o.verdict && again.reason == o.reason && again.best == o.best && again.second == o.second, "%s: the other way round", rows[i].what);
                for (size_t k = 0; k < n; k++)
                        cr_expect_str_eq(c[k].id, other[k].id, "%s: place %zu", rows[i].what, k);
        }
}

// G-15: ties by id.
Test(resolve, equal_scores_are_in_the_order_of_ids) {
        ResolveCandidate c[] = {FUZZY("c", 0.5, 0, 0), FUZZY("a", 0.5, 0, 0), FUZZY("b", 0.5, 0, 0)};

        resolve_decide(OP_RESOLVE, NULL, c, 3, &policy);
        cr_expect(strcmp(c[0].id, "a") == 0 && strcmp(c[1].id, "b") == 0 && strcmp(c[2].id, "c") == 0);
}

// G-16, G-20: the thresholds are policy, and each operation has its own.
Test(resolve, thresholds_are_those_of_the_policy) {
        ResolvePolicy p = policy;
        ResolveCandidate c[] = {FUZZY("a", 0.6, 0.6, 0.6)};

        cr_expect_eq(resolve_decide(OP_RESOLVE, NULL, c, 1, &p).verdict, RESOLVE_BIND);
        cr_expect_eq(resolve_decide(OP_UPSERT, NULL, c, 1, &p).verdict, RESOLVE_WAIT);
        p.tau = 0.61;
        cr_expect_eq(resolve_decide(OP_RESOLVE, NULL, c, 1, &p).verdict, RESOLVE_WAIT);
        p.create_tau = 0.60;
        cr_expect_eq(resolve_decide(OP_UPSERT, NULL, c, 1, &p).verdict, RESOLVE_BIND);
        p.create_tau = 0.90;
        p.fresh = 0.61;
        cr_expect_eq(resolve_decide(OP_UPSERT, NULL, c, 1, &p).verdict, RESOLVE_NEW);
        cr_expect(resolve_binds(0.75, 0.55, 0.55, 0.20) && !resolve_binds(0.75, 0.56, 0.55, 0.20) && !resolve_binds(0.54, 0, 0.55, 0.20));
}

// G-16, G-18: what source_ref keeps.
Test(resolve, the_outcome_is_kept) {
        ResolveCandidate c[] = {FUZZY("a", 1, 1, 0.5), FUZZY("b", 0.2, 0, 0), FUZZY("c", 0, 0, 0)};
        ResolveOutcome o = resolve_decide(OP_RESOLVE, NULL, c, 3, &policy);
        json_t *ref = resolve_source_ref(OP_RESOLVE, &o, c, 3, &policy), *matches = json_object_get(ref, "candidate_matches");

        cr_assert_not_null(ref);
        cr_expect_str_eq(json_string_value(json_object_get(ref, "matched_target_id")), "a");
        cr_expect_str_eq(json_string_value(json_object_get(ref, "resolution_reason")), "score");
        cr_expect_eq(json_real_value(json_object_get(ref, "tau")), 0.55);
        cr_expect_eq(json_real_value(json_object_get(ref, "delta")), 0.20);
        cr_assert_eq(json_array_size(matches), 2); /* what is in nothing alike is no match */
        cr_expect_eq(json_real_value(json_object_get(json_array_get(matches, 0), "score")), 0.85);
        cr_expect_eq(json_real_value(json_object_get(json_array_get(matches, 0), "reference")), 0.5);
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(matches, 1), "id")), "b");
        json_decref(ref);

        o = resolve_decide(OP_RESOLVE, NULL, c, 0, &policy);
        ref = resolve_source_ref(OP_RESOLVE, &o, c, 0, &policy);
        cr_assert_not_null(ref);
        cr_expect_null(json_object_get(ref, "matched_target_id"));
        cr_expect_eq(json_array_size(json_object_get(ref, "candidate_matches")), 0);
        cr_expect_str_eq(json_string_value(json_object_get(ref, "resolution_reason")), "no_candidate");
        json_decref(ref);
}

// G-71: with probabilities, the most probable row is bound when it is probable enough, whatever the scores' order; a row that differs in
// a number never is; exactly what the note names needs no probability; the record says probability and least in whole numbers.
Test(resolve, probability_decides) {
        static const struct {
                ResolveCandidate c[2];
                ResolveVerdict verdict;
                ResolveReason reason;
                const char *id;
        } rows[] = {
                {{PROBABLE("a", 0.6, 949), PROBABLE("b", 0.6, 10)}, RESOLVE_WAIT, RESOLVE_AMBIGUOUS, NULL},
                {{PROBABLE("a", 0.6, 950), PROBABLE("b", 0.9, 10)}, RESOLVE_BIND, RESOLVE_SCORE, "a"},
                {{PROBABLE("a", 0.5, 990), PROBABLE("b", 0.0, 10)}, RESOLVE_WAIT, RESOLVE_WEAK, NULL}, /* below tau */
                {{PROBABLE("a", 0.9, 300), PROBABLE("b", 0.1, 10)}, RESOLVE_WAIT, RESOLVE_WEAK, NULL}, /* none may be right */
                {{{.id = "a", .overlap = 0.9, .alias = 0.9, .reference = 0.9, .compared = true, .probability = 999, .differs = true}, PROBABLE("b", 0, 0)},
                 RESOLVE_WAIT, RESOLVE_WEAK, NULL},
                {{{.id = "a", .overlap = 0.9, .alias = 1, .reference = 1, .compared = true, .probability = 300}, PROBABLE("b", 0.2, 10)}, RESOLVE_BIND, RESOLVE_SCORE, "a"},
                {{PROBABLE("a", 0.0, 40), PROBABLE("b", 0.0, 10)}, RESOLVE_WAIT, RESOLVE_NO_CANDIDATE, NULL},
        };
        ResolvePolicy p = policy;

        p.least = 950;
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                ResolveCandidate c[2];
                ResolveOutcome o;
                json_t *ref;

                memcpy(c, rows[i].c, sizeof(c));
                o = resolve_decide(OP_RESOLVE, NULL, c, 2, &p);
                cr_expect(o.verdict == rows[i].verdict && o.reason == rows[i].reason, "row %zu: %d %s", i, o.verdict, resolve_reason_name(o.reason));
                if (rows[i].id)
                        cr_expect_str_eq(c[0].id, rows[i].id, "row %zu", i);
                ref = resolve_source_ref(OP_RESOLVE, &o, c, 2, &p);
                cr_expect_eq(json_integer_value(json_object_get(ref, "probability")), c[0].probability, "row %zu", i);
                cr_expect_eq(json_integer_value(json_object_get(ref, "least")), 950, "row %zu", i);
                json_decref(ref);
        }
}

// G-71: a bucket's least probability goes before the common one, and no other bucket's does
Test(resolve, a_bucket_has_its_own) {
        ResolvePolicy p = policy;

        p.least = 950;
        p.least_of[KIND_ISSUE - KIND_PLAN] = 980;
        cr_expect_eq(resolve_policy_of(&p, KIND_ISSUE).least, 980);
        for (size_t i = 0; kinds[i] != KIND_NONE; i++)
                if (kinds[i] != KIND_ISSUE)
                        cr_expect_eq(resolve_policy_of(&p, kinds[i]).least, 950, "%s", kind_name(kinds[i]));
        cr_expect_eq(resolve_policy_of(&p, KIND_NONE).least, 950);
}
