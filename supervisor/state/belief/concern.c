#include "belief/concern.h"

#include "belief/candidates.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* More than sums in another order differ by. */
#define SLACK 1e-6

static bool creates(Op op) {
        return op == OP_UPSERT || op == OP_APPEND;
}

/* Nothing that scores less keeps another row from being bound, or a new one from being made. */
static double in_the_way(bool makes, const ResolvePolicy *p) {
        return (makes ? fmin(p->fresh, p->create_tau - p->create_delta) : p->tau - p->delta) - SLACK;
}

bool concern_decides(Op op, const ResolveCandidate *candidates, size_t n, const ResolvePolicy *policy) {
        ResolveCandidate all[1 + RESOLVE_SHOWN];

        assert(n <= ARRAY_SIZE(all));
        for (size_t i = 0; i < n; i++)
                all[i] = candidates[i];
        return resolve_decide(op, NULL, all, n, policy).verdict != RESOLVE_WAIT;
}

bool concern_frees(Op op, const ResolveCandidate *was, const ResolveCandidate *now, const ResolvePolicy *policy) {
        bool named = was->named || was->exact, less = !now || (named && !now->named && !now->exact) || (was->mentioned && !now->mentioned) ||
                                                     resolve_score(now) < resolve_score(was);

        return less && (named || was->mentioned || resolve_score(was) >= in_the_way(creates(op), policy));
}

double concern_least(bool is_new, const ResolvePolicy *policy) {
        double bound = fmin(policy->tau, policy->create_tau) - SLACK;

        return is_new ? bound : fmin(bound, fmin(in_the_way(false, policy), in_the_way(true, policy)));
}

/* What it was found to be between, as far as they are candidates now. */
static int weigh_others(Bucket *b, Lexicon *l, const Evidence *e, Op op, const char *id, const json_t *candidates, ResolveCandidate *c, size_t *n) {
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
                if (r == 0 && candidates_apply(b->kind, op, row->state))
                        r = evidence_weigh(l, e, &row->evidence, &c[(*n)++]);
                r = r == -ENOENT ? 0 : r;
        }
        return r;
}

/* Returns 1 when it is a candidate, 0, -errno. */
static int weigh(const Bucket *b, Lexicon *l, const Evidence *e, Op op, const BucketRow *row, ResolveCandidate *ret) {
        int r;

        if (!row || !candidates_apply(b->kind, op, row->state))
                return 0;
        r = evidence_weigh(l, e, &row->evidence, ret);
        return r < 0 ? r : 1;
}

static bool knows(const json_t *candidates, const char *id) {
        for (size_t i = 0; i < json_array_size(candidates); i++) {
                const char *other = json_text(json_object_get(json_array_get(candidates, i), "id"));

                if (other && strcmp(other, id) == 0)
                        return true;
        }
        return false;
}

static bool reaches(Op op, const ResolveCandidate *c, const ResolvePolicy *p) {
        return c->named || resolve_score(c) + SLACK >= (creates(op) ? p->create_tau : p->tau);
}

int concern_row(Bucket *b, const char *id, const BucketRow *was, const Asked *asked, const json_t *candidates, const ResolvePolicy *policy) {
        ResolveCandidate before, c[1 + RESOLVE_SHOWN];
        _cleanup_evidence_ Evidence e = {0};
        int r, is_now, was_before;
        const BucketRow *row;
        Lexicon *l;
        size_t n;

        if (asked->target || b->kind == KIND_PLAN || b->kind == KIND_TASK_STATE) /* there is nothing to find out about which row it is about */
                return !asked->target || strcmp(asked->target, id) == 0;
        r = bucket_lexicon(b, &l);
        if (r <= 0)
                return r;
        r = bucket_row(b, id, &row);
        if (r == 0)
                r = evidence_init(l, asked, &e);
        if (r < 0)
                return r == -ENOENT ? -EUCLEAN : r;
        is_now = weigh(b, l, &e, asked->op, row, &c[0]);
        was_before = is_now < 0 ? is_now : weigh(b, l, &e, asked->op, was, &before);
        if (was_before < 0)
                return was_before;
        if (was_before && concern_frees(asked->op, &before, is_now ? &c[0] : NULL, policy))
                return 1;
        if (!knows(candidates, id) && (!is_now || !reaches(asked->op, &c[0], policy)))
                return 0;
        n = (size_t)is_now;
        r = weigh_others(b, l, &e, asked->op, id, candidates, c, &n);
        return r < 0 ? r : concern_decides(asked->op, c, n, policy);
}
