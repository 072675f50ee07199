/* Runs: supervisor, CLI. For the files of statement.h: the value of a claim as bytes for a comparison. Byte 0 is the
 * class, byte 1 tells whether any difference counts. A date has year, month and day; a quantity has its unit, the least
 * and the greatest number; words have their hashes in order, without articles and prepositions. */
#pragma once

#include "engine/statement-words.h"

typedef enum ValueClass {
        VALUE_WORDS = 1,
        VALUE_DATE,
        VALUE_QUANTITY,
} ValueClass;

/* A date, a quantity, or else words. strict: the value of a triple (any difference counts). */
void value_of(WordSpan s, bool strict, Claim *ret);
/* Words alone. */
void value_of_words(WordSpan s, Claim *ret);
/* The only quantity of the words ("at least 3", "64 MB", "between 2 and 5 days"). *ret_from, *ret_end: the words of the
 * quantity. False: no quantity, or several. */
bool value_quantity(WordSpan s, size_t *ret_from, size_t *ret_end, Claim *ret);
