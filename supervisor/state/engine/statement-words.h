/* Runs: supervisor, CLI. For the files of statement.h: the words of a sentence, and spans of them. */
#pragma once

#include "engine/statement.h"

#define STATEMENT_WORDS_MAX 64 /* of a sentence; a longer sentence has no claims */

typedef struct StatementWord {
        char p[TERM_BYTES_MAX + 1];    /* folded; "2026-03-11" and "3.11" are one word */
        char stem[TERM_BYTES_MAX + 1]; /* with the synonyms of statement-words.c */
        bool capital;                  /* as written, but for the first word of a sentence */
        bool literal;                  /* in quotes or backticks, or with a digit, a dot or _ */
        bool owner;                    /* with 's */
        bool percent;                  /* before % */
        bool comma;                    /* behind a comma or a bracket */
} StatementWord;

typedef struct StatementWords {
        StatementWord w[STATEMENT_WORDS_MAX];
        size_t n;
        bool question, too_long;
} StatementWords;

/* The next sentence of the text; *at is 0 at first. Returns 1, 0 at the end, -ENOMEM. */
int statement_next(Tokenizer *bag, const char *text, size_t n, size_t *at, StatementWords *ret);

/* Words [at, end) of a sentence, borrowed. */
typedef struct WordSpan {
        const StatementWord *w;
        size_t n;
} WordSpan;
static inline WordSpan word_span_from(WordSpan s, size_t at) {
        return at < s.n ? (WordSpan){s.w + at, s.n - at} : (WordSpan){s.w + s.n, 0};
}
static inline WordSpan word_span_until(WordSpan s, size_t end) {
        return (WordSpan){s.w, MIN(end, s.n)};
}
/* Is word i of the span one of the words, "a|b|c"? */
bool word_span_has(WordSpan s, size_t i, const char *words);
/* The first such word at or after `from`; s.n: none. */
size_t word_span_find(WordSpan s, size_t from, const char *words);
/* Does the text have the word, "a|b|c"? */
bool words_have(const char *words, const char *word);
/* Articles and the like, without which two phrases are compared. */
bool word_is_filler(const StatementWord *w);
