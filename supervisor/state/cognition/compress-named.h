/* Runs: supervisor, CLI. Named parameters: a value and the noun of the speaker for the value. "Use 3 percent as
 * the canary share", "the window's start is 18:45", "change the ward from 5A to 6B". Pure, table driven; no noun of a
 * subject matter is known here. */
#pragma once

#include "cognition/phrases.h"

#define NAMED_NOUN_MAX 31 /* bytes of a noun in snake case, at most three words */

typedef struct Named {
        char noun[NAMED_NOUN_MAX + 1]; /* empty: `old` is given up */
        char value[PHRASE_ID_MAX];
        char old[PHRASE_ID_MAX]; /* the value before, if the speaker names it, or empty */
        bool revises;            /* the words correct or change */
        size_t at, end;          /* words of the parameter */
} Named;

/* The next named parameter of the speaker's own words from *at on; *at moves behind. false: no more. */
bool named_next(const PhraseText *t, size_t *at, Named *ret);
/* The noun of the words [at, end) in snake case. false: no noun. */
bool named_noun(const PhraseText *t, size_t at, size_t end, char ret[static NAMED_NOUN_MAX + 1]);

#define NAMED_OPTIONS 4
/* Values of a choice that the text offers: "two options for the ward: 4A, …, or 4B". Returns their number,
 * 0 or at least 2. */
size_t named_options(const PhraseText *t, Named ret[static NAMED_OPTIONS]);
/* Which of the n options does the speaker take: "the second", "go with 4B"? n: none. */
size_t named_choice(const PhraseText *t, const Named *options, size_t n);

/* How alike two nouns are: 0 not at all, 1 with a word in common, 2 with all words of the shorter, 3 the last word is
 * the same, too, 4 equal. Words of one general meaning count as the same. */
unsigned named_alike(const char *a, const char *b);
/* How alike two values are in their form: 0 another form; from NAMED_STRONG on, a word in common, as INC-427 and INC-9.
 */
#define NAMED_STRONG 16U
unsigned named_form(const char *a, const char *b);
