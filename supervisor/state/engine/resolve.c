#include "engine/resolve.h"

#include <math.h>
#include <string.h>

#define NAMED_SCORE 0.95
#define FAINT 50 /* thousandths */
/* Thresholds have two digits, and sums of such weights are inexact: allow for the error. */
#define EXACTNESS 1e-9

static const char *const reasons[RESOLVE_REASON_COUNT_] = {
        [RESOLVE_EXPLICIT] = "explicit",         [RESOLVE_NAMED] = "named",   [RESOLVE_SCORE] = "score",
        [RESOLVE_NOTHING_LIKE] = "nothing_like", [RESOLVE_NEW_ID] = "new_id", [RESOLVE_NO_CANDIDATE] = "no_candidate",
        [RESOLVE_WEAK] = "weak",                 [RESOLVE_AMBIGUOUS] = "ambiguous", [RESOLVE_ALIKE] = "alike",
        [RESOLVE_MENTIONED] = "mentioned",
};

const char *resolve_reason_name(ResolveReason r) {
        return r > 0 && r < RESOLVE_REASON_COUNT_ ? reasons[r] : NULL;
}

double resolve_likeness(const ResolveCandidate *c) {
        return 0.45 * c->overlap + 0.25 * c->alias + 0.30 * c->reference;
}

double resolve_score(const ResolveCandidate *c) {
        return c->exact ? 1.0 : c->named ? NAMED_SCORE : resolve_likeness(c);
}

bool resolve_binds(double best, double second, double tau, double delta) {
        return best + EXACTNESS >= tau && best - second + EXACTNESS >= delta;
}

static int candidate_rank(const ResolveCandidate *c) {
        return c->exact ? 2 : c->named ? 1 : 0;
}

/* A row with only words of any text in common is no candidate. */
static bool candidate_counts(const ResolveCandidate *c) {
        return c->score > 0 || c->probability >= FAINT;
}

static int candidate_compare(const void *a, const void *b) {
        const ResolveCandidate *x = a, *y = b;

        if (candidate_rank(x) != candidate_rank(y))
                return candidate_rank(y) - candidate_rank(x);
        if (candidate_rank(x) == 0 && x->compared && y->compared && x->probability != y->probability)
                return x->probability > y->probability ? -1 : 1;
        if (x->score != y->score)
                return x->score > y->score ? -1 : 1;
        return strcmp(x->id, y->id);
}

/* A creating request with a row's id in the text has the thresholds of an ending request. Only mere likeness has
 * thresholds of its own. */
static void resolve_thresholds(Op op, const ResolveCandidate *c, size_t n, const ResolvePolicy *p, double *ret_tau,
                               double *ret_delta) {
        bool alike = op_creates(op) && (n == 0 || !c[0].called || c[0].exact);

        *ret_tau = alike ? p->create_tau : p->tau;
        *ret_delta = alike ? p->create_delta : p->delta;
}

static ResolveOutcome resolve_wait(ResolveOutcome o, ResolveReason reason) {
        o.verdict = RESOLVE_WAIT;
        o.reason = reason;
        return o;
}

/* Is a row mentioned, among rows that are only alike? The best is then not the subject, or a different row may be (G-68). */
static bool resolve_only_mentions(const ResolveCandidate *c, size_t n) {
        for (size_t i = 0; i < n && candidate_rank(&c[0]) == 0; i++)
                if (c[i].mentioned)
                        return true;
        return candidate_rank(&c[0]) == 0 && c[0].aside;
}

static bool resolve_names(const ResolveCandidate *c) {
        return c->reference + EXACTNESS >= 1 || c->alias + EXACTNESS >= 1;
}

/* By likeness the probability decides, if there is one, and the score need not lead. A note that names exactly what the
 * row is called, and no other row nearly so, needs none. */
static bool resolve_is_clear(const ResolveCandidate *best, const ResolveOutcome *o, double tau, double delta,
                             const ResolvePolicy *p) {
        if (candidate_rank(best) > 0 || !best->compared)
                return resolve_binds(o->best, o->second, tau, delta);
        if (best->differs)
                return false;
        return best->probability >= p->least ? o->best + EXACTNESS >= tau
                                             : resolve_names(best) && resolve_binds(o->best, o->second, tau, delta);
}

ResolvePolicy resolve_policy_of(const ResolvePolicy *p, Kind kind) {
        ResolvePolicy of = *p;

        if (kind >= KIND_PLAN && kind <= KIND_LEARNING && p->least_of[kind - KIND_PLAN] > 0)
                of.least = p->least_of[kind - KIND_PLAN];
        return of;
}

ResolveOutcome resolve_decide(Op op, const char *target, ResolveCandidate *c, size_t n, const ResolvePolicy *p) {
        ResolveOutcome o = {0};
        double tau, delta;

        for (size_t i = 0; i < n; i++) {
                if (op == OP_APPEND)
                        c[i].named = c[i].called = false; /* an append may mention a row, but never writes the row */
                c[i].score = resolve_score(&c[i]);
        }
        if (n > 1)
                qsort(c, n, sizeof(*c), candidate_compare);
        resolve_thresholds(op, c, n, p, &tau, &delta);
        if (target && (n == 0 || !c[0].exact)) {
                /* The named row does not exist: a similar row was not meant. */
                if (!op_creates(op))
                        return resolve_wait(o, RESOLVE_NO_CANDIDATE);
                return (ResolveOutcome){.verdict = RESOLVE_NEW, .reason = RESOLVE_NEW_ID};
        }
        while (o.n < n && candidate_rank(&c[o.n]) == candidate_rank(&c[0]))
                o.n++;
        o.best = o.n > 0 ? c[0].score : 0;
        for (size_t i = 1; i < o.n; i++)
                o.second = fmax(o.second, c[i].score);
        if (o.n > 0 && op != OP_APPEND && resolve_is_clear(&c[0], &o, tau, delta, p) &&
            !resolve_only_mentions(c, o.n)) {
                o.verdict = RESOLVE_BIND;
                o.reason = c[0].exact ? RESOLVE_EXPLICIT : c[0].named ? RESOLVE_NAMED : RESOLVE_SCORE;
                return o;
        }
        if (op_creates(op)) {
                if (o.best + EXACTNESS >= p->fresh)
                        return resolve_wait(o, RESOLVE_ALIKE);
                o.verdict = RESOLVE_NEW;
                o.reason = RESOLVE_NOTHING_LIKE;
                return o;
        }
        if (o.n == 0 || !candidate_counts(&c[0]))
                return resolve_wait(o, RESOLVE_NO_CANDIDATE);
        if ((c[0].mentioned || c[0].aside) && candidate_rank(&c[0]) == 0)
                return resolve_wait(o, RESOLVE_MENTIONED);
        return resolve_wait(o, o.best + EXACTNESS < tau || (c[0].compared && resolve_binds(o.best, o.second, tau, delta))
                                       ? RESOLVE_WEAK
                                       : RESOLVE_AMBIGUOUS);
}

static double resolve_three_digits(double v) {
        return (double)(int64_t)(v * 1000 + 0.5) / 1000;
}

static json_t *candidate_json(const ResolveCandidate *c) {
        json_t *o;

        if (c->exact || c->named)
                return json_pack("{s:s, s:f}", "id", c->id, "score", resolve_three_digits(c->score));
        o = json_pack("{s:s, s:f, s:f, s:f, s:f}", "id", c->id, "score", resolve_three_digits(c->score), "overlap",
                      resolve_three_digits(c->overlap), "alias", resolve_three_digits(c->alias), "reference",
                      resolve_three_digits(c->reference));
        if (o && c->compared && json_object_set_new(o, "probability", json_u64(c->probability)) < 0) {
                json_decref(o);
                return NULL;
        }
        return o;
}

json_t *resolve_source_ref(Op op, const ResolveOutcome *o, const ResolveCandidate *c, size_t n,
                           const ResolvePolicy *p) {
        _cleanup_json_ json_t *matches = json_array(), *made = NULL;
        double tau, delta;

        resolve_thresholds(op, c, o->n, p, &tau, &delta);
        for (size_t i = 0; i < MIN(MIN(n, o->n), (size_t)RESOLVE_SHOWN) && candidate_counts(&c[i]); i++)
                if (json_array_append_new(matches, candidate_json(&c[i])) < 0)
                        return NULL;
        made = json_pack("{s:s*, s:O, s:s, s:f, s:f}", "matched_target_id", o->verdict == RESOLVE_BIND ? c[0].id : NULL,
                         "candidate_matches", matches, "resolution_reason", reasons[o->reason], "tau", tau, "delta",
                         delta);
        if (made && o->n > 0 && c[0].compared && candidate_rank(&c[0]) == 0 &&
            (json_object_set_new(made, "probability", json_u64(c[0].probability)) < 0 ||
             json_object_set_new(made, "least", json_u64(p->least)) < 0))
                return NULL;
        return TAKE_PTR(made);
}
