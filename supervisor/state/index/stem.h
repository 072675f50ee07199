/* Runs: supervisor, CLI. Inside of index/tokenizer.c: Snowball's English stemmer, without the other languages. */
#pragma once

#include "base/util.h"

/* libstemmer.h's door leads through a table of all its languages, and each start of `lethe` would relocate them: 0.13 ms, a tenth of what an
 * invocation may take. So the archive's own functions of the one language are called; of their state only its beginning is read, which has been the same in
 * all of Snowball's C, and tests/state/engine/test-terms.c holds the results against those of libstemmer.h. */
typedef struct SN_env {
        unsigned char *p; /* the word, and after english_UTF_8_stem() its stem */
        int c;
        int l;            /* its length */
} Stemmer;

Stemmer *english_UTF_8_create_env(void);
void english_UTF_8_close_env(Stemmer *z);
int english_UTF_8_stem(Stemmer *z);                                       /* below 0: no memory */
int SN_set_current(Stemmer *z, int size, const unsigned char *word);      /* -1: no memory */
