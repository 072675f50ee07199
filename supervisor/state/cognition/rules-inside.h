/* Runs: supervisor, CLI. Inside of rules*.c: wordings, and where a text has them. */
#pragma once

#include "cognition/rules.h"

typedef enum RuleForm {
        RULE_HEAD = 1 << 0,   /* only at the beginning of a clause, behind fillers */
        RULE_KEEP = 1 << 1,   /* the words of the pattern belong to the body */
        RULE_NUMBER = 1 << 2, /* a number follows: the body is a limit */
        RULE_WHOLE = 1 << 3,  /* what stands before in the clause belongs to the body */
        RULE_OTHERS = 1 << 4, /* not behind "I", "we", "they": a narration */
} RuleForm;

typedef struct RuleMarker {
        const char *pattern;
        RuleKind kind;
        unsigned form;
} RuleMarker;

typedef enum RuleList {
        RULE_LIFTS,
        RULE_LIFT_VERBS,
        RULE_NOUNS,
        RULE_CHANGES,
        RULE_ASKS,
        RULE_NEEDS,
        RULE_GOALS,
        RULE_PERMITS,
        RULE_TIMES,
        RULE_NEGATIONS,
        RULE_UNASKED,
        RULE_LISTS
} RuleList;

/* rules-find.c. Before the first search: notes the beginnings of all wordings. */
void rule_fill(void);
static inline bool rule_says(const PhraseText *t, size_t i, size_t end, const char *word) {
        return i < end && phrase_may(t->low + t->word[i].at, word) && phrase_match(t, i, end, word) > 0;
}
/* The first place in [at, end) where a pattern stands in the speaker's own words, or SIZE_MAX; *ret_n: its words.
 * begin: NULL, or of each first letter of the patterns the set of second letters. */
size_t rule_find(const PhraseText *t, size_t at, size_t end, const char *const *patterns, size_t n, const uint32_t *begin,
                 size_t *ret_n);
size_t rule_find_list(const PhraseText *t, size_t at, size_t end, RuleList list, size_t *ret_n);
/* The marker at word i of the clause [at, end), or NULL. */
const RuleMarker *rule_marker(const PhraseText *t, size_t at, size_t i, size_t end, size_t *ret_n);
bool rule_lifts_at(const PhraseText *t, size_t i, size_t end);
/* The number of words at `at` by which a rule begins ("from now on"), or 0. */
size_t rule_standing_at(const PhraseText *t, size_t at, size_t end);

/* The words of the longest pattern at i in the speaker's own words, or 0. */
size_t rule_at(const PhraseText *t, size_t i, size_t end, const char *const *list, size_t n);
#define RULE_AT(t, i, end, list) rule_at(t, i, end, list, ARRAY_SIZE(list))
/* Does a pattern stand in [at, end)? */
#define RULE_HAS(t, at, end, list) (rule_find(t, at, end, list, ARRAY_SIZE(list), NULL, &(size_t){0}) != SIZE_MAX)
/* Does a number, an amount or a day stand within the next words? */
bool rule_number_follows(const PhraseText *t, size_t at, size_t end);

/* rules.c: does the clause only ask? Requests ("could you avoid …") are no questions here. */
bool rule_asks_only(const PhraseText *t, size_t at, size_t end, size_t sentence);
/* The rule of a clause by its wording. */
bool rule_stated(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret);
/* rules-goal.c: the goal whose words begin at i. */
bool rule_called(const PhraseText *t, size_t i, size_t end, Rule *ret);
/* The word at i is the verb. */
bool rule_called_verb(const PhraseText *t, size_t i, size_t end, Rule *ret);

/* rules-list.c: the kind of rule that the heading of a list gives the item at the beginning of a line; RULE_KINDS: no
 * item, no such heading. */
RuleKind rule_list(const PhraseText *t, size_t at, size_t *ret_from);
bool rule_listed(const PhraseText *t, RuleKind kind, size_t from, size_t end, Rule *ret);

/* rules-clause.c: the rule of a clause by its structure. CLAUSE_IDLE: narration of the past or a guess; no rule. */
typedef enum RuleClause { CLAUSE_NOTHING, CLAUSE_RULE, CLAUSE_IDLE } RuleClause;
RuleClause rule_clause(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret);
bool rule_narrated(const PhraseText *t, size_t at, size_t end);
/* A habit: "Amounts above $10,000 go to the CFO". */
bool rule_habit(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret);

/* rules-aim.c: a goal by name ("our objective today is to …"); a goal given up or reached. */
bool rule_aim(const PhraseText *t, size_t at, size_t end, Rule *ret);
bool rule_drop(const PhraseText *t, size_t at, size_t end, size_t sentence, Rule *ret);
/* Behind "we need to", or SIZE_MAX. */
size_t rule_wants(const PhraseText *t, size_t at, size_t end);

/* rules-words.c. A word that binds a rule to nothing: a source, a preposition, an auxiliary verb. */
bool rule_weak(const char *w, size_t n);
/* Behind the words before the matter of a clause: "and please also", "so now then". */
size_t rule_skip(const PhraseText *t, size_t at, size_t end);
/* Removes words without matter from both ends of a body. */
void rule_trim(const PhraseText *t, size_t *at, size_t *end);
/* The comma before a remark ("…, however full the disk is"), or `end`. A list goes on. */
size_t rule_remark(const PhraseText *t, size_t at, size_t end);

/* rules-lift.c. false: the clause [at, end) lifts nothing, changes nothing. */
bool rule_lift(const PhraseText *t, size_t at, size_t end, Rule *ret);
/* A permission without a word for the new time: "sharing samples is fine". */
bool rule_allow(const PhraseText *t, size_t at, size_t end, Rule *ret);
bool rule_change(const PhraseText *t, size_t at, size_t end, Rule *ret);
