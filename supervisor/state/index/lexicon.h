/* Runs: supervisor, CLI. What likeness.c, and who looks for rows, ask of the lexicon. */
#pragma once

#include "index/likeness.h"
#include "index/tokenizer.h"

#define AREA_MAX 64 /* bytes */

typedef enum LexiconTake {
        LEXICON_ALL,
        LEXICON_TELLING, /* without words that stand in any note */
} LexiconTake;
/* The text's terms as numbers in ascending order, each once, no wholes of which the parts are there. *ret is owned, NULL with 0. Returns 0, -ENOMEM, -EFBIG. */
int lexicon_read(Lexicon *l, const char *text, size_t n, LexiconTake take, uint32_t **ret, size_t *ret_n);
/* Is the word a lead? */
int lexicon_lead(Lexicon *l, const char *word, size_t n, Lead *ret, uint32_t *ret_number);
/* Makes sure that the terms have a weight. 0 or what the count returned. */
int lexicon_weigh(Lexicon *l, const uint32_t *terms, size_t n);
/* What the count said of a term that has a weight. */
uint64_t lexicon_rows_with(const Lexicon *l, uint32_t term);
/* Its bytes, lent. */
const char *lexicon_term(const Lexicon *l, uint32_t term, size_t *ret_n);
/* By their bytes, as memcmp(). */
int lexicon_compare(const Lexicon *l, uint32_t a, uint32_t b);
/* By number. Lent until the lexicon changes. */
const double *lexicon_weights(const Lexicon *l);
/* What a term weighs that no row has. */
double lexicon_most(const Lexicon *l);
