/* Runs: tests. A small world of documents, kept beside the index: what it must hold, computed the plain way. */
#pragma once

#include "index/rank.h"
#include "tests/support/store-fixture.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define MODEL_NUMBERS 700 /* three chunks */
#define MODEL_WORDS 24
#define MODEL_KINDS 2
#define MODEL_FIELDS 3

/* Words that are their own stems; the first are common. */
static const char *const model_words[MODEL_WORDS] = {
        "alfa", "bravo", "echo", "golf", "hotel", "india", "juliet", "kilo", "lima", "mike", "papa", "quebec", "romeo",
        "sierra", "tango", "zulu", "x1", "x2", "x3", "x4", "x5", "x6", "x7", "x8",
};

typedef struct ModelDoc {
        bool there;
        char id[16];
        uint8_t times[MODEL_FIELDS][MODEL_WORDS];
} ModelDoc;

typedef struct Model {
        ModelDoc doc[MODEL_KINDS][MODEL_NUMBERS]; /* by kind - 1 and number - 1 */
        uint64_t seed;
        Tokenizer *bag;
} Model;

static inline uint32_t model_random(Model *m, uint32_t below) {
        m->seed = m->seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        return (uint32_t)(m->seed >> 33) % below;
}

static inline void model_init(Model *m, uint64_t seed) {
        memset(m, 0, sizeof(*m));
        m->seed = seed;
        cr_assert_eq(tokenizer_new(&m->bag), 0);
}

static inline unsigned model_length(const ModelDoc *d, unsigned field) {
        unsigned n = 0;

        for (unsigned w = 0; w < MODEL_WORDS; w++)
                n += d->times[field][w];
        return n;
}

/* Fills the bag; the words in turns, not one by one, so that no order is that of the index. */
static inline void model_bag(Model *m, const ModelDoc *d) {
        tokenizer_clear(m->bag);
        for (unsigned f = MODEL_FIELDS; f-- > 0;)
                for (unsigned round = 0; round < 8; round++)
                        for (unsigned w = 0; w < MODEL_WORDS; w++)
                                if (d->times[f][w] > round)
                                        cr_assert_eq(tokenizer_add(m->bag, f, model_words[w], strlen(model_words[w])), 0);
}

/* Of few ids, so that there are equal scores of equal ids' beginnings; common words more often. */
static inline void model_make(Model *m, ModelDoc *d, uint64_t number) {
        memset(d, 0, sizeof(*d));
        d->there = true;
        snprintf(d->id, sizeof(d->id), "%c%llu", 'a' + (char)model_random(m, 26), (unsigned long long)number);
        for (unsigned f = 0; f < MODEL_FIELDS; f++)
                for (unsigned i = model_random(m, f == 0 ? 12 : 3); i > 0; i--) {
                        unsigned w = model_random(m, MODEL_WORDS), v = model_random(m, MODEL_WORDS);

                        d->times[f][MIN(w, v)] += d->times[f][MIN(w, v)] < 8;
                }
}

static inline void model_put(Model *m, Txn *t, uint64_t scope, unsigned kind, uint64_t number) {
        const ModelDoc *d = &m->doc[kind - 1][number - 1];

        model_bag(m, d);
        cr_assert_eq(index_put(t, scope, (uint8_t)kind, number, d->id, m->bag), 0);
}
