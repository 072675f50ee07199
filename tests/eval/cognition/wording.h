/* Runs: tests. Texts as sequences of words, to find values in the contexts of agents. A word is a run of A-Z, a-z and
 * 0-9, in lower case; everything else separates words. Words of a dialogue are numbered, so that searching compares
 * numbers. Pure. */
#pragma once

#include "base/util.h"

/* The numbers of words: from 1. */
typedef struct Vocabulary {
        char **words; /* owned */
        uint32_t *slots;
        size_t n, n_slots;
} Vocabulary;
void vocabulary_deinit(Vocabulary *v);
#define _cleanup_vocabulary_ _cleanup_(vocabulary_deinit)

typedef struct Word {
        uint32_t id;
        bool ends; /* the last word of a sentence or a line */
        bool open; /* in possible(…), in uncertainty_signal, or in a question: the text does not assert the word */
} Word;
typedef struct Words {
        Word *v; /* owned */
        size_t n;
} Words;
void words_deinit(Words *w);
#define _cleanup_words_ _cleanup_(words_deinit)
/* Returns 0, -ENOMEM. */
int words_read(Vocabulary *v, const char *text, Words *ret);

/* A surface form: words in a row, or several such parts "A && B", all in one sentence or line, in any order. */
#define FORM_PARTS_MAX 12
typedef struct Form {
        Words part[FORM_PARTS_MAX];
        size_t n;
} Form;
void form_deinit(Form *f);
/* Returns 0, -ENOMEM, -EINVAL (a part without words, or too many parts). */
int form_read(Vocabulary *v, const char *text, Form *ret);
bool form_equal(const Form *a, const Form *b);
/* Is `a` a part of `b`? Forms of several parts: only where the two are equal. */
bool form_inside(const Form *a, const Form *b);
/* Stands the form in the text? With asserted: outside of open text. */
bool form_found(const Form *f, const Words *text, bool asserted);
/* Does the form of one part stand at this word? */
bool form_at(const Form *f, const Words *text, size_t at);
