/* Runs: supervisor, CLI. The words of a text, unstemmed: for the tokenizer, and for callers that compare words instead
 * of terms. */
#pragma once

#include "base/util.h"

#define TERM_BYTES_MAX 64   /* a longer word is cut into several */
#define TERMS_PHRASE_MAX 32 /* words of a phrase */

typedef struct Word {
        char p[TERM_BYTES_MAX]; /* folded; with _ and ' */
        uint8_t kinds[TERM_BYTES_MAX]; /* WORD_* of the byte's character as written */
        uint8_t n;
        bool chained;           /* only a single - or . precedes the word */
        size_t at, end;         /* position in the text */
} Word;
enum { WORD_OTHER, WORD_UPPER, WORD_LOWER, WORD_DIGIT, WORD_UNDERSCORE, WORD_APOSTROPHE };
/* Reads the next word. *at is 0 at first; false at the end of the text. */
bool word_next(const char *text, size_t n, size_t *at, Word *ret);

/* Does the text have the phrase's words, unstemmed, in a row? Separators, case and marks do not matter. A word stands
 * between separators: "import blocker" is not in "import_blocker". A phrase without words, or with more than
 * TERMS_PHRASE_MAX, is in no text. */
bool tokenizer_have_phrase(const char *text, size_t n_text, const char *phrase, size_t n_phrase);
/* The number of words of a phrase, for callers with limits. */
size_t tokenizer_phrase_words(const char *phrase, size_t n);
