/* Runs: supervisor, CLI. Chooses one of several proposals for a slot (I-55, I-56). Pure: a rule, the proposals of
 * regions with a good end, and the slot's version give a verdict. The order of the proposals does not matter.
 *
 *   first        the proposal with the lowest sequence number in the ledger
 *   cas          compare-and-swap: the lowest sequence number among the proposals that expect the slot's version
 *   priority     the proposal of the skill listed first in the rule; for one skill, the lowest sequence number
 *   quorum       the value of at least `least` regions; of several the value of most regions, then the lowest hash
 *   confidence   the highest confidence not below `floor`; for equal confidence the value with the lowest hash
 *   judge        the proposal that a judge chose (judge.h); without a judge no verdict has a winner
 *
 * Each rule rejects a proposal with a wrong expected version (stale). Quorum and confidence choose a value, not a
 * region: the value's proposal with the lowest sequence number then wins. The speed of a region decides nothing
 * else. */
#pragma once

#include "base/diag.h"
#include "base/hash.h"
#include "base/json.h"

#define ARBITRATION_PROPOSALS_MAX 64 /* gathered before a verdict */
#define ARBITRATION_SKILLS_MAX 16    /* of a rule */
#define ARBITRATION_SKILL_MAX 65     /* a skill's name, NUL included */
#define ARBITRATION_FIELD_MAX 65     /* a compared member's name, NUL included */

enum {
        ARBITRATION_E_RULE = 1, /* not a rule; the message has the cause */
};

typedef enum ArbitrationKind {
        ARBITRATION_FIRST,
        ARBITRATION_CAS,
        ARBITRATION_PRIORITY,
        ARBITRATION_QUORUM,
        ARBITRATION_CONFIDENCE,
        ARBITRATION_JUDGE,
        ARBITRATION_KINDS_,
} ArbitrationKind;

typedef struct ArbitrationRule {
        ArbitrationKind kind;
        unsigned of;    /* proposals gathered before the verdict, one a region; 1 to ARBITRATION_PROPOSALS_MAX */
        unsigned least; /* quorum: 1 to `of` */
        double floor;   /* confidence: 0 to 1 */
        char by[ARBITRATION_FIELD_MAX]; /* quorum: the compared member of the values; empty: the whole value */
        size_t n_skills; /* priority */
        char skills[ARBITRATION_SKILLS_MAX][ARBITRATION_SKILL_MAX];
} ArbitrationRule;
/* {"rule":"first","of":2}, {"rule":"cas","of":2}, {"rule":"priority","of":3,"skills":["a","b"]},
 * {"rule":"quorum","of":3,"least":2,"by"?:"answer"}, {"rule":"confidence","of":3,"floor":0.6},
 * {"rule":"judge","of":8}; no other member. Returns 0 or ARBITRATION_E_RULE. */
int arbitration_rule_parse(const json_t *json, ArbitrationRule *ret, Diag *reterr);
/* The same as text, or in short form: first/2, cas/2, priority:a,b/3, quorum:2/3, confidence:0.6/3,
 * judge/8. Returns 0, ARBITRATION_E_RULE, -ENOMEM. */
int arbitration_rule_parse_text(const char *text, ArbitrationRule *ret, Diag *reterr);
/* The JSON form of arbitration_rule_parse(). New reference or NULL. */
json_t *arbitration_rule_json(const ArbitrationRule *rule);

/* The hash by which a value is compared: of its canonical bytes, or of the canonical bytes of member `by`. Returns 0,
 * -ENOENT without such a member, -EUCLEAN for other bytes, -ENOMEM. */
int arbitration_hash_of(const ArbitrationRule *rule, const void *value, size_t n, uint8_t ret[static HASH_BYTES]);

typedef struct ArbitrationProposal {
        uint64_t seq;              /* of the proposal's event; unique */
        const char *region, *skill; /* borrowed */
        int64_t expect;            /* expected version; -1: any */
        double confidence;         /* 0 to 1; other values: none */
        uint8_t hash[HASH_BYTES];  /* of the value's canonical bytes */
} ArbitrationProposal;

/* The verdict on each proposal, and on the slot. arbitration_word() gives the ledger's word. */
typedef enum ArbitrationWord {
        ARBITRATION_WON,
        ARBITRATION_SUPERSEDED,     /* the region has a newer proposal */
        ARBITRATION_STALE,          /* expects a version other than the slot's; cas: or expects none */
        ARBITRATION_LATER,          /* equally good, but later */
        ARBITRATION_AGREED,         /* has the winning value */
        ARBITRATION_NOT_LISTED,     /* the rule does not list the skill */
        ARBITRATION_LOWER_PRIORITY,
        ARBITRATION_OUTVOTED,       /* too few regions, or fewer than the winner's */
        ARBITRATION_BELOW_FLOOR,
        ARBITRATION_LESS_CONFIDENT,
        ARBITRATION_TIE,            /* equally good; the winning value has a lower hash */
        /* verdicts without a winner */
        ARBITRATION_ALL_STALE,      /* no proposal fits the slot's version */
        ARBITRATION_NO_QUORUM,
        ARBITRATION_NONE_LISTED,
        ARBITRATION_ALL_BELOW_FLOOR,
        ARBITRATION_CLOSED,         /* the round ended before: a new question, or nothing gathered (round.h) */
        /* verdicts of a judge */
        ARBITRATION_NOT_CHOSEN,     /* the judge chose another value */
        ARBITRATION_UNSEEN,         /* gathered after the judge got the question */
        ARBITRATION_NO_CHOICE,      /* the judge chose none */
        ARBITRATION_JUDGE_FAILED,   /* the judge gave no valid answer */
        ARBITRATION_WORDS_,
} ArbitrationWord;
const char *arbitration_word(ArbitrationWord w);

#define ARBITRATION_NOBODY SIZE_MAX
typedef struct ArbitrationVerdict {
        size_t winner;                               /* index of the proposal, or ARBITRATION_NOBODY */
        ArbitrationWord reason;                          /* ARBITRATION_WON, or the reason for no winner */
        ArbitrationWord each[ARBITRATION_PROPOSALS_MAX];     /* of each proposal */
} ArbitrationVerdict;
/* The verdict on a closed round: no winner, ARBITRATION_CLOSED for all. n may be 0. */
void arbitration_close(size_t n, ArbitrationVerdict *ret);
/* version: of the slot, 0 for none. n: 1 to ARBITRATION_PROPOSALS_MAX. */
void arbitration_decide(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n,
                        ArbitrationVerdict *ret);
/* The verdict of a judge. chosen: index of the chosen proposal, or ARBITRATION_NOBODY for the reason `none`. seen: of
 * each proposal. A chosen proposal for another version than the slot's does not win (ARBITRATION_STALE). */
void arbitration_judge(uint64_t version, const ArbitrationProposal *p, const bool *seen, size_t n, size_t chosen,
                       ArbitrationWord none, ArbitrationVerdict *ret);
