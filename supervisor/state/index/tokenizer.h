/* Runs: supervisor, CLI. Text as terms: what the index stores, what a query asks for, what the resolver compares.
 *
 * A word is a run of letters and digits of any script, with _ in it and apostrophes between its letters; each ideograph and kana is one of its own.
 * Letters are read in lower case and without the marks of Latin, Greek and Cyrillic ("Café" is "cafe"). Bytes that are not UTF-8 separate.
 * A word is split at _ and where camel case turns ("rxBurst", "HTTPServer"), and stays whole besides ("rx_burst", "rxburst"); words that are joined by
 * single - or . stay whole besides when there is a digit among them ("cve-2023-1234", "22.11.1"). What is of English letters alone is stemmed
 * (Snowball "english"), wholes with _ - . are not.
 *
 * The same text gives the same terms on every machine: there is no locale in it, and the Unicode tables are our own. */
#pragma once

#include "base/util.h"

#define TERM_BYTES_MAX 64             /* a longer word is cut into several */
#define TERMS_TEXT_MAX (1024 * 1024)  /* bytes of one text; more is -EFBIG */
#define TERMS_PHRASE_MAX 32           /* words of a phrase */
#define TERM_TIMES_MAX 255
#define TERMS_LENGTH_MAX 65535
#define TERMS_FIELDS 8

typedef struct Term {
        const char *p;  /* no NUL in it, none after it; borrowed from the bag until it changes */
        uint8_t n;
        uint8_t field;
        uint8_t times;  /* in this field, at most TERM_TIMES_MAX */
        bool whole;     /* only as a whole of which the parts are terms, too */
} Term;

/* A bag of terms by field: made once, filled and cleared as often as wanted. */
typedef struct Tokenizer Tokenizer;
int tokenizer_new(Tokenizer **ret); /* 0, -ENOMEM */
void tokenizer_free(Tokenizer *b);
static inline void tokenizer_freep(Tokenizer **b) {
        tokenizer_free(*b);
}
#define _cleanup_tokenizer_ _cleanup_(tokenizer_freep)

/* Remembers stems of words from text to text: for a bag that many are read with. 0, -ENOMEM. */
int tokenizer_keep_stems(Tokenizer *b);
void tokenizer_clear(Tokenizer *b);
/* Adds what is in the text to a field below TERMS_FIELDS. Returns 0, -ENOMEM, -EFBIG. */
int tokenizer_add(Tokenizer *b, unsigned field, const char *text, size_t n);
/* A term as it was in a bag before, and a field's length: the term is not in the bag. Returns 0, -ENOMEM. */
int tokenizer_take(Tokenizer *b, const Term *t);
void tokenizer_set_length(Tokenizer *b, unsigned field, unsigned length);
/* All that is in the bag, each once a field, by field and then by bytes: *ret_n of them. Borrowed until the bag changes. */
const Term *tokenizer_sorted(Tokenizer *b, size_t *ret_n);
/* Words of a field with all repetitions, wholes not counted; at most TERMS_LENGTH_MAX. */
unsigned tokenizer_length(const Tokenizer *b, unsigned field);
/* For tests: how many places of the bag's table are looked at for one term at worst. */
size_t tokenizer_longest_search(const Tokenizer *b);

/* Does the text have the words of the phrase, unstemmed, one after the other? What stands between the words, and case and marks, do not matter; a word is
 * what is between separators, so that "import blocker" is not in "import_blocker". A phrase without a word, or with more than TERMS_PHRASE_MAX, is in no text. */
bool tokenizer_have_phrase(const char *text, size_t n_text, const char *phrase, size_t n_phrase);
/* Words of a phrase, for who must refuse those with none and with too many. */
size_t tokenizer_phrase_words(const char *phrase, size_t n);

/* Reads one word after the other, unstemmed, for those who look at words and not at terms. */
typedef struct Word {
        char p[TERM_BYTES_MAX]; /* folded; with _ and ' */
        uint8_t kinds[TERM_BYTES_MAX]; /* of the character that a byte belongs to, as it was written: WORD_* */
        uint8_t n;
        bool chained;           /* a single - or . is all that stands between it and the word before */
        size_t at, end;         /* where it is in the text */
} Word;
enum { WORD_OTHER, WORD_UPPER, WORD_LOWER, WORD_DIGIT, WORD_UNDERSCORE, WORD_APOSTROPHE };
/* *at is 0 at first; false at the end of the text. */
bool word_next(const char *text, size_t n, size_t *at, Word *ret);
