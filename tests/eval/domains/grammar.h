/* Runs: tests. Sentences from templates: [a|b] is a choice, {name} a variable, # a digit from 1 to 9, <words> a part of
 * the surface form by which the judge knows a rule. Choices may be nested. The same seed makes the same bytes. */
#pragma once

#include "base/buf.h"

#define GRAMMAR_VARIABLES 12

typedef struct GrammarVariable {
        const char *name, *value;
} GrammarVariable;

typedef struct Grammar {
        uint64_t state; /* of the numbers */
        GrammarVariable variables[GRAMMAR_VARIABLES];
        size_t n_variables;
        Buf form; /* parts marked in the last sentence, "A && B" */
        int failed; /* 0 or the first -errno */
} Grammar;
void grammar_deinit(Grammar *g);
/* From 0 to n - 1. */
unsigned grammar_below(Grammar *g, unsigned n);
/* The value is borrowed until the next sentence. */
void grammar_let(Grammar *g, const char *name, const char *value);
/* The sentence, owned; the first letter is a capital. Clears the variables. NULL after a failure. */
char *grammar_say(Grammar *g, const char *pattern);
/* As it is, for values. */
char *grammar_value(Grammar *g, const char *pattern);
