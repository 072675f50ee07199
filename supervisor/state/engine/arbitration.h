/* Runs: supervisor, CLI. Which of several proposals for one slot is taken (I-55, I-56). Pure: a rule, the proposals of regions that ended well, and
 * the version that the slot has give a verdict, the same one for each order in which the proposals are given.
 *
 *   first        the proposal with the lowest sequence number in the ledger
 *   cas          compare-and-swap: of those that expect the version that the slot has, the one with the lowest sequence number
 *   priority     that of the skill that stands first in the rule's list; of several of one skill, the lowest sequence number
 *   quorum       the value that at least `least` regions propose; of several values the one of most regions, then that of the lowest hash
 *   confidence   the highest confidence that is not below `floor`; of equal ones the value of the lowest hash
 *
 * Under each rule a proposal that expects another version than the slot's is out (stale). Where a value and not a region is chosen, its proposal with
 * the lowest sequence number stands for it: with quorum and confidence, who was faster decides nothing else. */
#pragma once

#include "base/diag.h"
#include "base/hash.h"
#include "base/json.h"

#define ARBITRATION_PROPOSALS_MAX 64 /* that are gathered before a verdict */
#define ARBITRATION_SKILLS_MAX 16    /* of a rule */
#define ARBITRATION_SKILL_MAX 65     /* a skill's name, NUL included */

enum {
        ARBITRATION_E_RULE = 1, /* not a rule: message says what is wrong */
};

typedef enum ArbitrationKind { ARBITRATION_FIRST, ARBITRATION_CAS, ARBITRATION_PRIORITY, ARBITRATION_QUORUM, ARBITRATION_CONFIDENCE, ARBITRATION_KINDS_ } ArbitrationKind;

typedef struct ArbitrationRule {
        ArbitrationKind kind;
        unsigned of;    /* proposals from different regions that are gathered before the verdict; 1 to ARBITRATION_PROPOSALS_MAX */
        unsigned least; /* quorum: 1 to `of` */
        double floor;   /* confidence: 0 to 1 */
        size_t n_skills; /* priority */
        char skills[ARBITRATION_SKILLS_MAX][ARBITRATION_SKILL_MAX];
} ArbitrationRule;
/* {"rule":"first","of":2}, {"rule":"cas","of":2}, {"rule":"priority","of":3,"skills":["a","b"]}, {"rule":"quorum","of":3,"least":2},
 * {"rule":"confidence","of":3,"floor":0.6}; no other member. Returns 0 or ARBITRATION_E_RULE. */
int arbitration_rule_parse(const json_t *json, ArbitrationRule *ret, Diag *reterr);
/* The same as text, or short: first/2, cas/2, priority:a,b/3, quorum:2/3, confidence:0.6/3. Returns 0, ARBITRATION_E_RULE, -ENOMEM. */
int arbitration_rule_parse_text(const char *text, ArbitrationRule *ret, Diag *reterr);
/* What arbitration_rule_parse reads. New reference or NULL. */
json_t *arbitration_rule_json(const ArbitrationRule *rule);

typedef struct ArbitrationProposal {
        uint64_t seq;              /* of its event; no two are equal */
        const char *region, *skill; /* borrowed */
        int64_t expect;            /* the version that it expects; -1: any */
        double confidence;         /* 0 to 1; anything else: none */
        uint8_t hash[HASH_BYTES];  /* of the value's canonical bytes */
} ArbitrationProposal;

/* Why a proposal is or is not the one, and why there is none. arbitration_word() gives what the ledger says. */
typedef enum ArbitrationWord {
        ARBITRATION_WON,
        ARBITRATION_SUPERSEDED,     /* its region has a newer one */
        ARBITRATION_STALE,          /* expects another version than the slot has; cas: or none */
        ARBITRATION_LATER,          /* as good, and not the first */
        ARBITRATION_AGREED,         /* has the value that was taken */
        ARBITRATION_NOT_LISTED,     /* of a skill that the rule does not name */
        ARBITRATION_LOWER_PRIORITY,
        ARBITRATION_OUTVOTED,       /* a value of fewer regions than were needed, or than another's */
        ARBITRATION_BELOW_FLOOR,
        ARBITRATION_LESS_CONFIDENT,
        ARBITRATION_TIE,            /* as good as the one that was taken, whose value's hash is lower */
        /* verdicts without a winner */
        ARBITRATION_ALL_STALE,      /* none can be taken at the version that the slot has */
        ARBITRATION_NO_QUORUM,
        ARBITRATION_NONE_LISTED,
        ARBITRATION_ALL_BELOW_FLOOR,
        ARBITRATION_WORDS_,
} ArbitrationWord;
const char *arbitration_word(ArbitrationWord w);

#define ARBITRATION_NOBODY SIZE_MAX
typedef struct ArbitrationVerdict {
        size_t winner;                               /* index into the proposals, or ARBITRATION_NOBODY */
        ArbitrationWord reason;                          /* ARBITRATION_WON, or why there is none */
        ArbitrationWord each[ARBITRATION_PROPOSALS_MAX];     /* of each proposal */
} ArbitrationVerdict;
/* version: that the slot has, 0 for none. n: 1 to ARBITRATION_PROPOSALS_MAX. */
void arbitration_decide(const ArbitrationRule *rule, uint64_t version, const ArbitrationProposal *p, size_t n, ArbitrationVerdict *ret);
