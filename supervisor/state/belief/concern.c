#include "belief/concern.h"

#include "belief/candidates.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Larger than the difference between sums in a different order. */
#define SLACK 1e-6

/* A candidate below this score neither prevents the binding of another row nor the creation of a new row. */
static double concern_blocking_score(bool makes, const ResolvePolicy *p) {
        return (makes ? fmin(p->fresh, p->create_tau - p->create_delta) : p->tau - p->delta) - SLACK;
}

/* Tells whether the row prevented a decision and is a weaker candidate now. now: NULL: no candidate any more. */
static bool concern_frees(Op op, const ResolveCandidate *was, const ResolveCandidate *now,
                          const ResolvePolicy *policy) {
        bool named = was->named || was->exact, less = !now || (named && !now->named && !now->exact) ||
                                                      (was->mentioned && !now->mentioned) ||
                                                      resolve_score(now) < resolve_score(was);

        return less &&
               (named || was->mentioned || resolve_score(was) >= concern_blocking_score(op_creates(op), policy));
}

double concern_least(bool is_new, const ResolvePolicy *policy) {
        double bound = fmin(policy->tau, policy->create_tau) - SLACK;

        return is_new ? bound
                      : fmin(bound, fmin(concern_blocking_score(false, policy), concern_blocking_score(true, policy)));
}

/* Weighs the rows that the queue lists as candidates of the request, as far as they are candidates now. */
static int concern_weigh_others(Bucket *b, Lexicon *l, const ResolveEvidence *e, Op op, const char *id,
                                const json_t *candidates, ResolveCandidate *c, Pair *pairs, size_t *n) {
        size_t size = json_array_size(candidates);
        int r = 0;

        for (size_t i = 0; r == 0 && i < MIN(size, (size_t)RESOLVE_SHOWN); i++) {
                const char *other = json_text(json_object_get(json_array_get(candidates, i), "id"));
                const BucketRow *row;

                if (!other || !record_id_valid(b->kind, other))
                        return -EUCLEAN;
                if (strcmp(other, id) == 0)
                        continue;
                r = bucket_row(b, other, &row);
                if (r == 0 && candidates_apply(b->kind, op, row->state)) {
                        r = evidence_weigh(l, e, &row->evidence, &c[*n]);
                        pairs[*n] = bucket_pair(row, &c[*n]);
                        (*n)++;
                }
                r = r == -ENOENT ? 0 : r;
        }
        return r;
}

/* Returns 1 with the weighed candidate, 0 when the row is no candidate, -errno. */
static int concern_weigh(const Bucket *b, Lexicon *l, const ResolveEvidence *e, Op op, const BucketRow *row,
                         ResolveCandidate *ret) {
        int r;

        if (!row || !candidates_apply(b->kind, op, row->state))
                return 0;
        r = evidence_weigh(l, e, &row->evidence, ret);
        return r < 0 ? r : 1;
}

static bool concern_knows(const json_t *candidates, const char *id) {
        for (size_t i = 0; i < json_array_size(candidates); i++)
                if (json_text_is(json_object_get(json_array_get(candidates, i), "id"), id))
                        return true;
        return false;
}

static bool concern_reaches(Op op, const ResolveCandidate *c, const ResolvePolicy *p) {
        return c->named || resolve_score(c) + SLACK >= (op_creates(op) ? p->create_tau : p->tau);
}

int concern_row(Bucket *b, const char *id, const BucketRow *was, const ResolveQuestion *asked, const json_t *candidates,
                const ResolvePolicy *policy) {
        const ResolvePolicy of_bucket = resolve_policy_of(policy, b->kind);
        ResolveCandidate before, c[1 + RESOLVE_SHOWN];
        Pair pairs[1 + RESOLVE_SHOWN];
        _cleanup_evidence_ ResolveEvidence e = {0};
        int r, is_now, was_before;
        const BucketRow *row;
        Lexicon *l;
        size_t n;

        if (asked->target || b->kind == KIND_PLAN || b->kind == KIND_TASK_STATE) /* the request names its row */
                return !asked->target || strcmp(asked->target, id) == 0;
        r = bucket_lexicon(b, &l);
        if (r <= 0)
                return r;
        r = bucket_row(b, id, &row) ?: evidence_init(l, asked, &e);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        is_now = concern_weigh(b, l, &e, asked->op, row, &c[0]);
        was_before = is_now < 0 ? is_now : concern_weigh(b, l, &e, asked->op, was, &before);
        if (was_before < 0)
                return was_before;
        if (was_before && concern_frees(asked->op, &before, is_now ? &c[0] : NULL, policy))
                return 1;
        if (!concern_knows(candidates, id) && (!is_now || !concern_reaches(asked->op, &c[0], policy)))
                return 0;
        n = (size_t)is_now;
        pairs[0] = bucket_pair(row, &c[0]);
        r = concern_weigh_others(b, l, &e, asked->op, id, candidates, c, pairs, &n)
                ?: bucket_compare(l, &e, asked, pairs, n);
        /* Further candidates can only prevent the decision. The item's agent is not asked here. */
        return r < 0 ? r : resolve_decide(asked->op, NULL, c, n, &of_bucket).verdict != RESOLVE_WAIT;
}
