#include "engine/arbiter.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

static const char *const words[ARBITER_WORDS_] = {
        [ARBITER_WON] = "won",
        [ARBITER_SUPERSEDED] = "superseded",
        [ARBITER_STALE] = "stale",
        [ARBITER_LATER] = "later",
        [ARBITER_AGREED] = "agreed",
        [ARBITER_NOT_LISTED] = "not_listed",
        [ARBITER_LOWER_PRIORITY] = "lower_priority",
        [ARBITER_OUTVOTED] = "outvoted",
        [ARBITER_BELOW_FLOOR] = "below_floor",
        [ARBITER_LESS_CONFIDENT] = "less_confident",
        [ARBITER_TIE] = "tie",
        [ARBITER_ALL_STALE] = "all_stale",
        [ARBITER_NO_QUORUM] = "no_quorum",
        [ARBITER_NONE_LISTED] = "none_listed",
        [ARBITER_ALL_BELOW_FLOOR] = "all_below_floor",
};

const char *arbiter_word(ArbiterWord w) {
        return words[w];
}

/* What the rules look at, in the form in which they compare it: the lower rank is the better one. */
typedef struct Standing {
        ArbiterWord out;  /* why it cannot be taken; ARBITER_WON: it can */
        double rank;      /* place in the list, minus the regions for its value, minus its confidence; 0 */
} Standing;

static bool is_confidence(double c) {
        return c >= 0 && c <= 1; /* false of what is no number, too */
}

static size_t place_of(const ArbiterRule *rule, const char *skill) {
        size_t i = 0;

        while (i < rule->n_skills && strcmp(rule->skills[i], skill) != 0)
                i++;
        return i;
}

/* A region has one voice: its newest proposal. */
static bool is_superseded(const ArbiterProposal *p, size_t n, size_t at) {
        for (size_t i = 0; i < n; i++)
                if (p[i].seq > p[at].seq && strcmp(p[i].region, p[at].region) == 0)
                        return true;
        return false;
}

static void stand(const ArbiterRule *rule, uint64_t version, const ArbiterProposal *p, size_t n, Standing *s) {
        for (size_t i = 0; i < n; i++) {
                bool stale = p[i].expect >= 0 ? (uint64_t)p[i].expect != version : rule->kind == ARBITER_CAS;

                s[i] = (Standing){.out = is_superseded(p, n, i) ? ARBITER_SUPERSEDED : stale ? ARBITER_STALE : ARBITER_WON};
        }
        for (size_t i = 0; i < n; i++) {
                unsigned votes = 0;

                if (s[i].out == ARBITER_SUPERSEDED || s[i].out == ARBITER_STALE)
                        continue;
                switch (rule->kind) {
                case ARBITER_FIRST:
                case ARBITER_CAS:
                case ARBITER_KINDS_:
                        break;
                case ARBITER_PRIORITY:
                        s[i].rank = (double)place_of(rule, p[i].skill);
                        if (place_of(rule, p[i].skill) == rule->n_skills)
                                s[i].out = ARBITER_NOT_LISTED;
                        break;
                case ARBITER_QUORUM:
                        for (size_t k = 0; k < n; k++)
                                votes += s[k].out != ARBITER_SUPERSEDED && s[k].out != ARBITER_STALE && memcmp(p[k].hash, p[i].hash, HASH_BYTES) == 0;
                        s[i].rank = -(double)votes;
                        if (votes < rule->least)
                                s[i].out = ARBITER_OUTVOTED;
                        break;
                case ARBITER_CONFIDENCE:
                        s[i].rank = -p[i].confidence;
                        if (!is_confidence(p[i].confidence) || p[i].confidence < rule->floor)
                                s[i].out = ARBITER_BELOW_FLOOR;
                        break;
                }
        }
}

static bool by_value(ArbiterKind k) {
        return k == ARBITER_QUORUM || k == ARBITER_CONFIDENCE;
}

/* A total order: no two proposals have one sequence number. Negative: a is the better one. */
static int compare(const ArbiterRule *rule, const ArbiterProposal *a, const Standing *sa, const ArbiterProposal *b, const Standing *sb) {
        int hashes = by_value(rule->kind) ? memcmp(a->hash, b->hash, HASH_BYTES) : 0;

        if (sa->rank < sb->rank || sa->rank > sb->rank)
                return sa->rank < sb->rank ? -1 : 1;
        return hashes ? hashes : (a->seq > b->seq) - (a->seq < b->seq);
}

/* Of one that could have been taken as well. */
static ArbiterWord why_not(const ArbiterRule *rule, const ArbiterProposal *p, const Standing *s, const ArbiterProposal *won, const Standing *s_won) {
        bool worse = s->rank > s_won->rank;

        if (by_value(rule->kind) && memcmp(p->hash, won->hash, HASH_BYTES) == 0)
                return ARBITER_AGREED;
        switch (rule->kind) {
        case ARBITER_FIRST:
        case ARBITER_CAS:
        case ARBITER_KINDS_:
                break;
        case ARBITER_PRIORITY:
                return worse ? ARBITER_LOWER_PRIORITY : ARBITER_LATER;
        case ARBITER_QUORUM:
                return worse ? ARBITER_OUTVOTED : ARBITER_TIE;
        case ARBITER_CONFIDENCE:
                return worse ? ARBITER_LESS_CONFIDENT : ARBITER_TIE;
        }
        return ARBITER_LATER;
}

static ArbiterWord why_nobody(const ArbiterRule *rule, const Standing *s, size_t n) {
        bool any = false;

        for (size_t i = 0; i < n; i++)
                any |= s[i].out != ARBITER_STALE && s[i].out != ARBITER_SUPERSEDED;
        if (!any)
                return ARBITER_ALL_STALE;
        return rule->kind == ARBITER_PRIORITY ? ARBITER_NONE_LISTED : rule->kind == ARBITER_QUORUM ? ARBITER_NO_QUORUM : ARBITER_ALL_BELOW_FLOOR;
}

void arbiter_decide(const ArbiterRule *rule, uint64_t version, const ArbiterProposal *p, size_t n, ArbiterVerdict *ret) {
        Standing s[ARBITER_PROPOSALS_MAX];
        size_t best = ARBITER_NOBODY;

        assert(n > 0 && n <= ARBITER_PROPOSALS_MAX);
        stand(rule, version, p, n, s);
        for (size_t i = 0; i < n; i++)
                if (s[i].out == ARBITER_WON && (best == ARBITER_NOBODY || compare(rule, &p[i], &s[i], &p[best], &s[best]) < 0))
                        best = i;
        ret->winner = best;
        ret->reason = best == ARBITER_NOBODY ? why_nobody(rule, s, n) : ARBITER_WON;
        for (size_t i = 0; i < n; i++)
                ret->each[i] = s[i].out != ARBITER_WON || i == best ? s[i].out : why_not(rule, &p[i], &s[i], &p[best], &s[best]);
}
