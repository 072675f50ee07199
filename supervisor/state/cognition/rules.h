/* Runs: supervisor, CLI. Sentences that state, change or lift a rule, or name a goal. The caller asks only about texts
 * of user, operator or policy; foreign words in them are skipped (C-24). Pure. */
#pragma once

#include "cognition/phrases.h"

#define RULE_BODY_MAX 72 /* bytes: with polarity and source still an atom */

typedef enum RuleKind {
        RULE_MUST,
        RULE_MUST_NOT,
        RULE_ALLOWED,
        RULE_AVOID,
        RULE_LIFT,   /* body: words of the rule that no longer holds */
        RULE_CHANGE, /* body: the sentence; value: new, old: the value before or empty */
        RULE_GOAL,   /* body: the atom */
        RULE_DROP,   /* body: words of a goal that is given up or reached */
        RULE_KINDS,
} RuleKind;
const char *rule_kind_name(RuleKind k);

typedef struct Rule {
        RuleKind kind;
        bool limit;   /* the body holds a bound with a number */
        bool strong;  /* a goal that is called one */
        bool soft;    /* a permission: lifts a prohibition with the same words alone */
        bool counted; /* a number stands before the goal's object: "3 rooms" */
        bool weak;    /* a permission that says something only against a prohibition */
        bool wanted;  /* the speaker asks for help with the goal, wants or needs it */
        bool anew;    /* the goal takes the place of the speaker's goals */
        char body[RULE_BODY_MAX + 1];
        char value[PHRASE_ID_MAX], old[PHRASE_ID_MAX];
        size_t at, end; /* words */
} Rule;

/* The next rule of the words from *at on; *at moves behind it. false: no more. */
bool rule_next(const PhraseText *t, size_t *at, Rule *ret);
/* How many words of content a and b share, and the number of a. Plurals and some endings count as the same. */
size_t rule_shared(const char *a, const char *b, size_t *ret_n);
/* The same for texts that are compared with many others: their words and stems. */
typedef struct RuleStem {
        uint8_t at, n, stem, mark; /* place and bytes in `norm`; equal stems have equal marks */
        int8_t weak;               /* -1: not known yet */
} RuleStem;
typedef struct RuleStems {
        char norm[256];
        RuleStem word[128];
        size_t n;
        uint64_t marks; /* a bit for each mark */
} RuleStems;
void rule_stems(const char *text, RuleStems *ret);
size_t rule_stems_shared(RuleStems *a, const RuleStems *b, size_t *ret_n);
/* Have both a stem in common, of any word? */
bool rule_stems_meet(const RuleStems *a, const RuleStems *b);
/* Words of [at, end) without articles and foreign words, sanitised for an atom, at most n_out - 1 bytes. */
size_t rule_words(const PhraseText *t, size_t at, size_t end, char *out, size_t n_out);
/* The goal of the words [at, end). false: none. */
bool rule_goal(const PhraseText *t, size_t at, size_t end, Rule *ret);
