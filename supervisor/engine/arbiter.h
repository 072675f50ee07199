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

#define ARBITER_PROPOSALS_MAX 64 /* that are gathered before a verdict */
#define ARBITER_SKILLS_MAX 16    /* of a rule */
#define ARBITER_SKILL_MAX 65     /* a skill's name, NUL included */

enum {
        ARBITER_E_RULE = 1, /* not a rule: message says what is wrong */
};

typedef enum ArbiterKind { ARBITER_FIRST, ARBITER_CAS, ARBITER_PRIORITY, ARBITER_QUORUM, ARBITER_CONFIDENCE, ARBITER_KINDS_ } ArbiterKind;

typedef struct ArbiterRule {
        ArbiterKind kind;
        unsigned of;    /* proposals from different regions that are gathered before the verdict; 1 to ARBITER_PROPOSALS_MAX */
        unsigned least; /* quorum: 1 to `of` */
        double floor;   /* confidence: 0 to 1 */
        size_t n_skills; /* priority */
        char skills[ARBITER_SKILLS_MAX][ARBITER_SKILL_MAX];
} ArbiterRule;
/* {"rule":"first","of":2}, {"rule":"cas","of":2}, {"rule":"priority","of":3,"skills":["a","b"]}, {"rule":"quorum","of":3,"least":2},
 * {"rule":"confidence","of":3,"floor":0.6}; no other member. Returns 0 or ARBITER_E_RULE. */
int arbiter_rule_parse(const json_t *json, ArbiterRule *ret, Diag *reterr);
/* The same as text, or short: first/2, cas/2, priority:a,b/3, quorum:2/3, confidence:0.6/3. Returns 0, ARBITER_E_RULE, -ENOMEM. */
int arbiter_rule_parse_text(const char *text, ArbiterRule *ret, Diag *reterr);
/* What arbiter_rule_parse reads. New reference or NULL. */
json_t *arbiter_rule_json(const ArbiterRule *rule);

typedef struct ArbiterProposal {
        uint64_t seq;              /* of its event; no two are equal */
        const char *region, *skill; /* borrowed */
        int64_t expect;            /* the version that it expects; -1: any */
        double confidence;         /* 0 to 1; anything else: none */
        uint8_t hash[HASH_BYTES];  /* of the value's canonical bytes */
} ArbiterProposal;

/* Why a proposal is or is not the one, and why there is none. arbiter_word() gives what the ledger says. */
typedef enum ArbiterWord {
        ARBITER_WON,
        ARBITER_SUPERSEDED,     /* its region has a newer one */
        ARBITER_STALE,          /* expects another version than the slot has; cas: or none */
        ARBITER_LATER,          /* as good, and not the first */
        ARBITER_AGREED,         /* has the value that was taken */
        ARBITER_NOT_LISTED,     /* of a skill that the rule does not name */
        ARBITER_LOWER_PRIORITY,
        ARBITER_OUTVOTED,       /* a value of fewer regions than were needed, or than another's */
        ARBITER_BELOW_FLOOR,
        ARBITER_LESS_CONFIDENT,
        ARBITER_TIE,            /* as good as the one that was taken, whose value's hash is lower */
        /* verdicts without a winner */
        ARBITER_ALL_STALE,      /* none can be taken at the version that the slot has */
        ARBITER_NO_QUORUM,
        ARBITER_NONE_LISTED,
        ARBITER_ALL_BELOW_FLOOR,
        ARBITER_WORDS_,
} ArbiterWord;
const char *arbiter_word(ArbiterWord w);

#define ARBITER_NOBODY SIZE_MAX
typedef struct ArbiterVerdict {
        size_t winner;                               /* index into the proposals, or ARBITER_NOBODY */
        ArbiterWord reason;                          /* ARBITER_WON, or why there is none */
        ArbiterWord each[ARBITER_PROPOSALS_MAX];     /* of each proposal */
} ArbiterVerdict;
/* version: that the slot has, 0 for none. n: 1 to ARBITER_PROPOSALS_MAX. */
void arbiter_decide(const ArbiterRule *rule, uint64_t version, const ArbiterProposal *p, size_t n, ArbiterVerdict *ret);
