/* Runs: supervisor, CLI. Takes texts apart into terms: for the index, for queries, for the resolver.
 *
 * A word is a run of letters and digits of any script, with _ and with apostrophes between letters; each ideograph and
 * kana is a word of its own. Letters are read in lower case and without the marks of Latin, Greek and Cyrillic ("Café"
 * is "cafe"). Bytes that are not UTF-8 separate. A word is split at _ and at the turns of camel case ("rxBurst",
 * "HTTPServer"), and is a term as a whole, too ("rx_burst", "rxburst"). Words joined by single - or . are a term as a
 * whole, too, if they have a digit ("cve-2023-1234", "22.11.1"). Terms of English letters alone are stemmed (Snowball
 * "english"); wholes with _ - . are not.
 *
 * The same text gives the same terms on every machine: no locale is used, and the Unicode tables are in the source
 * (letters-table.h). */
#pragma once

#include "index/words.h"

#define TERMS_TEXT_MAX (1024 * 1024)  /* bytes of one text; more is -EFBIG */
#define TERM_TIMES_MAX 255
#define TERMS_LENGTH_MAX 65535
#define TERMS_FIELDS 8

typedef struct Term {
        const char *p;  /* without NUL; borrowed from the bag until a change */
        uint8_t n;
        uint8_t field;
        uint8_t times;  /* in this field, at most TERM_TIMES_MAX */
        bool whole;     /* only as a whole whose parts are terms, too */
} Term;

/* Orders terms by field and then by bytes, for qsort(). */
int term_compare(const void *a, const void *b);

/* A tokenizer and its bag of terms by field; to be filled and cleared many times. */
typedef struct Tokenizer Tokenizer;
int tokenizer_new(Tokenizer **ret); /* 0, -ENOMEM */
void tokenizer_free(Tokenizer *bag);
static inline void tokenizer_freep(Tokenizer **bag) {
        tokenizer_free(*bag);
}
#define _cleanup_tokenizer_ _cleanup_(tokenizer_freep)

/* Remembers the stems of words from text to text: for a bag with many uses. 0, -ENOMEM. */
int tokenizer_keep_stems(Tokenizer *bag);
void tokenizer_clear(Tokenizer *bag);
/* Adds the terms of the text to a field below TERMS_FIELDS. Returns 0, -ENOMEM, -EFBIG. */
int tokenizer_add(Tokenizer *bag, unsigned field, const char *text, size_t n);
/* Adds a new term with its count, as read from another bag; and sets a field's length. Returns 0, -ENOMEM. */
int tokenizer_take(Tokenizer *bag, const Term *t);
void tokenizer_set_length(Tokenizer *bag, unsigned field, unsigned length);
/* All *ret_n terms of the bag, each once a field, by field and then by bytes. Borrowed until the bag changes. NULL: no
 * memory. */
const Term *tokenizer_sorted(Tokenizer *bag, size_t *ret_n);
/* The number of words of a field with repetitions, without wholes; at most TERMS_LENGTH_MAX. */
unsigned tokenizer_length(const Tokenizer *bag, unsigned field);
/* The stem of one folded word, with a NUL; a word that is not of English letters stays. Returns 0, -ENOMEM. */
int tokenizer_stem(Tokenizer *bag, const char *word, size_t n, char ret[static TERM_BYTES_MAX + 1]);
/* For tests: the longest search in the bag's hash table, in buckets. */
size_t tokenizer_longest_search(const Tokenizer *bag);
