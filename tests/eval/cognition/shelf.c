#include "tests/eval/cognition/agents.h"
#include "tests/eval/cognition/judge.h"
#include "tests/eval/cognition/wording.h"

#include <errno.h>
#include <math.h>

#define SHELF_K1 1.2
#define SHELF_B 0.75

typedef struct ShelfText {
        char *text; /* owned */
        Words words;
        double score;
} ShelfText;

struct Shelf {
        Vocabulary vocabulary;
        ShelfText *texts;
        size_t n, n_words;
};

int shelf_new(Shelf **ret) {
        *ret = calloc(1, sizeof(**ret));
        return *ret ? 0 : -ENOMEM;
}

void shelf_free(Shelf *s) {
        if (!s)
                return;
        for (size_t i = 0; i < s->n; i++) {
                free(s->texts[i].text);
                words_deinit(&s->texts[i].words);
        }
        free(s->texts);
        vocabulary_deinit(&s->vocabulary);
        free(s);
}

int shelf_add(Shelf *s, const char *text) {
        ShelfText *t;

        if (!GROW(s->texts, s->n))
                return -ENOMEM;
        t = &s->texts[s->n];
        *t = (ShelfText){.text = strdup(text)};
        if (!t->text)
                return -ENOMEM;
        s->n++;
        s->n_words += 1;
        if (words_read(&s->vocabulary, text, &t->words) < 0)
                return -ENOMEM;
        s->n_words += t->words.n;
        return 0;
}

static size_t shelf_count(const Words *w, uint32_t id) {
        size_t n = 0;

        for (size_t i = 0; i < w->n; i++)
                n += w->v[i].id == id;
        return n;
}

static void shelf_score(Shelf *s, uint32_t word, size_t *counts) {
        double length = (double)(s->n_words - s->n) / (double)s->n, df = 0, idf;

        for (size_t i = 0; i < s->n; i++) {
                counts[i] = shelf_count(&s->texts[i].words, word);
                df += counts[i] > 0;
        }
        idf = log(1 + ((double)s->n - df + 0.5) / (df + 0.5));
        for (size_t i = 0; i < s->n; i++)
                if (counts[i] > 0) {
                        double tf = (double)counts[i], n = (double)s->texts[i].words.n;

                        s->texts[i].score += idf * tf * (SHELF_K1 + 1) /
                                             (tf + SHELF_K1 * (1 - SHELF_B + SHELF_B * n / length));
                }
}

/* The best text that is not taken; of equals the earliest. */
static size_t shelf_best(const Shelf *s, const bool *taken) {
        size_t best = s->n;

        for (size_t i = 0; i < s->n; i++)
                if (!taken[i] && (best == s->n || s->texts[i].score > s->texts[best].score))
                        best = i;
        return best;
}

int shelf_find(Shelf *s, const char *query, unsigned k, int64_t least, Buf *out) {
        _cleanup_words_ Words words = {0};
        _cleanup_free_ size_t *counts = calloc(s->n + 1, sizeof(*counts));
        _cleanup_free_ bool *taken = calloc(s->n + 1, sizeof(*taken));
        int r = words_read(&s->vocabulary, query, &words);

        if (r < 0 || !counts || !taken)
                return -ENOMEM;
        for (size_t i = 0; i < s->n; i++)
                s->texts[i].score = 0;
        for (size_t i = 0; s->n > 0 && i < words.n; i++)
                shelf_score(s, words.v[i].id, counts);
        for (size_t i = 0; i < s->n && (k > 0 ? i < k : least > 0); i++) {
                size_t best = shelf_best(s, taken);

                taken[best] = true;
                least -= (int64_t)judge_tokens(s->texts[best].text);
        }
        for (size_t i = 0; r == 0 && i < s->n; i++)
                if (taken[i])
                        r = buf_add_str(out, s->texts[i].text) ?: buf_add_str(out, "\n");
        return r;
}
