#include "engine/arbitration.h"

#include <assert.h>
#include <string.h>

static const char *const words[ARBITRATION_WORDS_] = {
        [ARBITRATION_WON] = "won",
        [ARBITRATION_SUPERSEDED] = "superseded",
        [ARBITRATION_STALE] = "stale",
        [ARBITRATION_LATER] = "later",
        [ARBITRATION_AGREED] = "agreed",
        [ARBITRATION_NOT_LISTED] = "not_listed",
        [ARBITRATION_LOWER_PRIORITY] = "lower_priority",
        [ARBITRATION_OUTVOTED] = "outvoted",
        [ARBITRATION_BELOW_FLOOR] = "below_floor",
        [ARBITRATION_LESS_CONFIDENT] = "less_confident",
        [ARBITRATION_TIE] = "tie",
        [ARBITRATION_ALL_STALE] = "all_stale",
        [ARBITRATION_NO_QUORUM] = "no_quorum",
        [ARBITRATION_NONE_LISTED] = "none_listed",
        [ARBITRATION_ALL_BELOW_FLOOR] = "all_below_floor",
        [ARBITRATION_CLOSED] = "closed",
        [ARBITRATION_NOT_CHOSEN] = "not_chosen",
        [ARBITRATION_UNSEEN] = "unseen",
        [ARBITRATION_NO_CHOICE] = "no_choice",
        [ARBITRATION_JUDGE_FAILED] = "judge_failed",
};

const char *arbitration_word(ArbitrationWord w) {
        return words[w];
}

/* The rank of a proposal under the rule: a lower rank is better. */
typedef struct Standing {
        ArbitrationWord out;  /* why the proposal is out; ARBITRATION_WON: still in */
        double rank;      /* place in the list, or minus the value's regions, or minus the confidence, or 0 */
} Standing;

static bool arbitration_is_confidence(double c) {
        return c >= 0 && c <= 1; /* false also for NaN */
}

static size_t arbitration_place(const ArbitrationRule *rule, const char *skill) {
        size_t i = 0;

        while (i < rule->n_skills && strcmp(rule->skills[i], skill) != 0)
                i++;
        return i;
}

/* Only the newest proposal of a region counts. */
static bool arbitration_is_superseded(const ArbitrationProposal *p, size_t n, size_t at) {
        for (size_t i = 0; i < n; i++)
                if (p[i].seq > p[at].seq && strcmp(p[i].region, p[at].region) == 0)
                        return true;
        return false;
}

static void arbitration_rank(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n,
                             Standing *s) {
        for (size_t i = 0; i < n; i++) {
                bool stale = p[i].expect >= 0 ? (uint64_t)p[i].expect != version : rule->kind == ARBITRATION_CAS;

                s[i] = (Standing){.out = arbitration_is_superseded(p, n, i) ? ARBITRATION_SUPERSEDED
                                         : stale                            ? ARBITRATION_STALE
                                                                            : ARBITRATION_WON};
        }
        for (size_t i = 0; i < n; i++) {
                unsigned votes = 0;

                if (s[i].out == ARBITRATION_SUPERSEDED || s[i].out == ARBITRATION_STALE)
                        continue;
                switch (rule->kind) {
                case ARBITRATION_FIRST:
                case ARBITRATION_CAS:
                case ARBITRATION_KINDS_:
                        break;
                case ARBITRATION_PRIORITY:
                        s[i].rank = (double)arbitration_place(rule, p[i].skill);
                        if (arbitration_place(rule, p[i].skill) == rule->n_skills)
                                s[i].out = ARBITRATION_NOT_LISTED;
                        break;
                case ARBITRATION_QUORUM:
                        for (size_t k = 0; k < n; k++)
                                votes += s[k].out != ARBITRATION_SUPERSEDED && s[k].out != ARBITRATION_STALE &&
                                         memcmp(p[k].hash, p[i].hash, HASH_BYTES) == 0;
                        s[i].rank = -(double)votes;
                        if (votes < rule->least)
                                s[i].out = ARBITRATION_OUTVOTED;
                        break;
                case ARBITRATION_CONFIDENCE:
                        s[i].rank = -p[i].confidence;
                        if (!arbitration_is_confidence(p[i].confidence) || p[i].confidence < rule->floor)
                                s[i].out = ARBITRATION_BELOW_FLOOR;
                        break;
                case ARBITRATION_JUDGE:
                        s[i].out = ARBITRATION_NOT_CHOSEN;
                        break;
                }
        }
}

static bool arbitration_by_value(ArbitrationKind k) {
        return k == ARBITRATION_QUORUM || k == ARBITRATION_CONFIDENCE;
}

/* A total order, as sequence numbers are unique. Negative: a is better. */
static int arbitration_compare(const ArbitrationRule *rule, const ArbitrationProposal *a, const Standing *sa,
                               const ArbitrationProposal *b, const Standing *sb) {
        int hashes = arbitration_by_value(rule->kind) ? memcmp(a->hash, b->hash, HASH_BYTES) : 0;

        if (sa->rank < sb->rank || sa->rank > sb->rank)
                return sa->rank < sb->rank ? -1 : 1;
        return hashes ? hashes : (a->seq > b->seq) - (a->seq < b->seq);
}

/* The word for a valid proposal that did not win. */
static ArbitrationWord arbitration_why_not(const ArbitrationRule *rule, const ArbitrationProposal *p, const Standing *s,
                                           const ArbitrationProposal *won, const Standing *s_won) {
        bool worse = s->rank > s_won->rank;

        if (arbitration_by_value(rule->kind) && memcmp(p->hash, won->hash, HASH_BYTES) == 0)
                return ARBITRATION_AGREED;
        switch (rule->kind) {
        case ARBITRATION_FIRST:
        case ARBITRATION_CAS:
        case ARBITRATION_JUDGE:
        case ARBITRATION_KINDS_:
                break;
        case ARBITRATION_PRIORITY:
                return worse ? ARBITRATION_LOWER_PRIORITY : ARBITRATION_LATER;
        case ARBITRATION_QUORUM:
                return worse ? ARBITRATION_OUTVOTED : ARBITRATION_TIE;
        case ARBITRATION_CONFIDENCE:
                return worse ? ARBITRATION_LESS_CONFIDENT : ARBITRATION_TIE;
        }
        return ARBITRATION_LATER;
}

static ArbitrationWord arbitration_why_nobody(const ArbitrationRule *rule, const Standing *s, size_t n) {
        bool any = false;

        for (size_t i = 0; i < n; i++)
                any |= s[i].out != ARBITRATION_STALE && s[i].out != ARBITRATION_SUPERSEDED;
        if (!any)
                return ARBITRATION_ALL_STALE;
        return rule->kind == ARBITRATION_PRIORITY ? ARBITRATION_NONE_LISTED
               : rule->kind == ARBITRATION_QUORUM ? ARBITRATION_NO_QUORUM
               : rule->kind == ARBITRATION_JUDGE  ? ARBITRATION_NO_CHOICE
                                                  : ARBITRATION_ALL_BELOW_FLOOR;
}

static bool arbitration_is_stale(const ArbitrationProposal *p, uint64_t version) {
        return p->expect >= 0 && (uint64_t)p->expect != version;
}

void arbitration_judge(uint64_t version, const ArbitrationProposal *p, const bool *seen, size_t n, size_t chosen,
                       ArbitrationWord none, ArbitrationVerdict *ret) {
        bool stale = chosen != ARBITRATION_NOBODY && arbitration_is_stale(&p[chosen], version);

        ret->winner = stale ? ARBITRATION_NOBODY : chosen;
        ret->reason = stale                          ? ARBITRATION_STALE
                      : chosen == ARBITRATION_NOBODY ? none
                                                     : ARBITRATION_WON;
        for (size_t i = 0; i < n; i++)
                ret->each[i] = arbitration_is_stale(&p[i], version) ? ARBITRATION_STALE
                               : !seen[i]                           ? ARBITRATION_UNSEEN
                               : ret->winner == ARBITRATION_NOBODY  ? ret->reason == ARBITRATION_STALE
                                                                              ? ARBITRATION_NOT_CHOSEN
                                                                              : ret->reason
                               : i == chosen                        ? ARBITRATION_WON
                               : memcmp(p[i].hash, p[chosen].hash, HASH_BYTES) == 0 ? ARBITRATION_AGREED
                                                                                    : ARBITRATION_NOT_CHOSEN;
}

void arbitration_close(size_t n, ArbitrationVerdict *ret) {
        ret->winner = ARBITRATION_NOBODY;
        ret->reason = ARBITRATION_CLOSED;
        for (size_t i = 0; i < n; i++)
                ret->each[i] = ARBITRATION_CLOSED;
}

void arbitration_decide(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n,
                        ArbitrationVerdict *ret) {
        Standing s[ARBITRATION_PROPOSALS_MAX];
        size_t best = ARBITRATION_NOBODY;

        assert(n > 0 && n <= ARBITRATION_PROPOSALS_MAX);
        arbitration_rank(rule, version, p, n, s);
        for (size_t i = 0; i < n; i++)
                if (s[i].out == ARBITRATION_WON &&
                    (best == ARBITRATION_NOBODY || arbitration_compare(rule, &p[i], &s[i], &p[best], &s[best]) < 0))
                        best = i;
        ret->winner = best;
        ret->reason = best == ARBITRATION_NOBODY ? arbitration_why_nobody(rule, s, n) : ARBITRATION_WON;
        for (size_t i = 0; i < n; i++)
                ret->each[i] = s[i].out != ARBITRATION_WON || i == best
                                       ? s[i].out
                                       : arbitration_why_not(rule, &p[i], &s[i], &p[best], &s[best]);
}
