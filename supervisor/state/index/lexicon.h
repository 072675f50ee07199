/* Runs: supervisor, CLI. A lexicon: the terms of texts as numbers, and the weight of each term by the number of rows
 * with the term. Pure, but for the callback with the count of rows. */
#pragma once

#include "index/tokenizer.h"

typedef struct Lexicon Lexicon;
/* The number of rows with the term; called once a term until the next lexicon_rows(). 0 or -errno. */
typedef int (*LexiconCount)(void *userdata, uint32_t number, const char *term, size_t n, uint64_t *ret);
/* lent: the tokenizer to use, cleared for each text; NULL: the lexicon makes a tokenizer. Returns 0, -ENOMEM. */
int lexicon_new(LexiconCount count, void *userdata, Tokenizer *lent, Lexicon **ret);
void lexicon_free(Lexicon *l);
static inline void lexicon_freep(Lexicon **l) {
        lexicon_free(*l);
}
#define _cleanup_lexicon_ _cleanup_(lexicon_freep)
/* Sets the number of rows, 0 at first, and forgets all counts. */
void lexicon_rows(Lexicon *l, uint64_t rows);
/* The terms have the numbers from 0 to the returned value less 1. */
uint32_t lexicon_terms(const Lexicon *l);

typedef enum Lead {
        LEAD_NONE,
        LEAD_MAKES,   /* add, support … */
        LEAD_CHANGES, /* update, use … */
        LEAD_MENDS,   /* fix, remove … */
} Lead;

typedef enum LexiconTake {
        LEXICON_ALL,
        LEXICON_TELLING, /* without words of every note */
} LexiconTake;
/* The text's terms as numbers, ascending, each once; wholes whose parts are terms are left out. *ret is owned, NULL for
 * no terms. Returns 0, -ENOMEM, -EFBIG. */
int lexicon_read(Lexicon *l, const char *text, size_t n, LexiconTake take, uint32_t **ret, size_t *ret_n);
int lexicon_lead(Lexicon *l, const char *word, size_t n, Lead *ret, uint32_t *ret_number);
/* Computes missing weights of the terms. Returns 0 or the count's error. */
int lexicon_weigh(Lexicon *l, const uint32_t *terms, size_t n);
/* The last count of a weighed term. */
uint64_t lexicon_rows_with(const Lexicon *l, uint32_t term);
bool lexicon_tells(const Lexicon *l, uint32_t term); /* not a word of every note */
/* The term's bytes, lent. */
const char *lexicon_term(const Lexicon *l, uint32_t term, size_t *ret_n);
/* Compares the bytes of two terms, as memcmp(). */
int lexicon_compare(const Lexicon *l, uint32_t a, uint32_t b);
/* The weights by number. Lent until the lexicon changes. */
const double *lexicon_weights(const Lexicon *l);
/* The weight of a term without rows. */
double lexicon_most(const Lexicon *l);
