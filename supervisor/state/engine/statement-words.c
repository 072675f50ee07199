#include "engine/statement-words.h"

#define STATEMENT_WORD_TABLES
#include "engine/statement-patterns.h"

#include <string.h>

bool words_have(const char *words, const char *word) {
        size_t n = strlen(word);

        for (const char *p = words; n > 0 && *p;) {
                size_t part = strcspn(p, "|");

                if (part == n && memcmp(p, word, n) == 0)
                        return true;
                p += part + (p[part] == '|');
        }
        return false;
}

bool word_span_has(WordSpan s, size_t i, const char *words) {
        return i < s.n && words_have(words, s.w[i].p);
}

size_t word_span_find(WordSpan s, size_t from, const char *words) {
        size_t i = from;

        while (i < s.n && !words_have(words, s.w[i].p))
                i++;
        return MIN(i, s.n);
}

bool word_is_filler(const StatementWord *w) {
        return words_have(FILLERS, w->p);
}

static const char *word_synonym(const char *stem) {
        for (size_t i = 0; i < ARRAY_SIZE(synonyms); i++)
                if (words_have(synonyms[i].words, stem))
                        return synonyms[i].stem;
        return stem;
}

static const char *word_base(const char *p) {
        for (size_t i = 0; i < ARRAY_SIZE(verb_forms); i++)
                if (words_have(verb_forms[i].forms, p))
                        return verb_forms[i].base;
        return p;
}

/* What a gap between two words says. */
typedef struct Gap {
        bool ends, question, comma, quote, percent;
} Gap;

static Gap gap_read(const char *text, size_t at, size_t end, size_t n) {
        Gap g = {0};

        for (size_t i = at; i < end; i++) {
                bool last = i + 1 == n || strchr(" \t\r\n\"'`)", text[i + 1]);

                g.question |= text[i] == '?';
                g.ends |= text[i] == ';' || text[i] == '\n' || (strchr(".!?", text[i]) && last);
                g.comma |= text[i] == ',' || text[i] == '(' || text[i] == ')';
                g.quote |= text[i] == '"' || text[i] == '`';
                g.percent |= text[i] == '%' && i == at;
        }
        return g;
}

static void statement_add(StatementWords *s, const char *p, size_t n, const StatementWord *like) {
        StatementWord *w = &s->w[s->n];

        if (s->n == STATEMENT_WORDS_MAX) {
                s->too_long = true;
                return;
        }
        *w = *like;
        memcpy(w->p, p, n);
        w->p[n] = 0;
        s->n++;
}

static bool word_ends(const char *p, size_t n, const char *end) {
        size_t k = strlen(end);

        return n > k && memcmp(p + n - k, end, k) == 0;
}

static const char *statement_head(const char *p, size_t n, char ret[static 8]) {
        memcpy(ret, p, n);
        ret[n] = 0;
        return ret;
}

/* "can't" is "can not", "Ann's" is "ann" with an owner's mark, "it's" is "it is". */
static void statement_add_word(StatementWords *s, const Word *w, StatementWord *like) {
        const char *p = w->p;
        size_t n = w->n;
        char head[8];

        if (n == 6 && memcmp(p, "cannot", 6) == 0) {
                statement_add(s, "can", 3, like);
                statement_add(s, "not", 3, like);
        } else if (word_ends(p, n, "n't")) {
                if (n == 5 && (memcmp(p, "can't", 5) == 0 || memcmp(p, "won't", 5) == 0))
                        statement_add(s, *p == 'c' ? "can" : "will", *p == 'c' ? 3 : 4, like);
                else
                        statement_add(s, p, n - 3, like);
                statement_add(s, "not", 3, like);
        } else if (word_ends(p, n, "'s")) {
                bool is = n < 10 && words_have(ARE, statement_head(p, n - 2, head));

                like->owner = !is;
                statement_add(s, p, n - 2, like);
                like->owner = false;
                if (is)
                        statement_add(s, "is", 2, like);
        } else
                statement_add(s, p, n, like);
}

/* "3", "11" of "3.11", or of "2026-03-11": one word. */
static bool statement_joins(const StatementWords *s, const Word *w, char between) {
        const StatementWord *last = s->n ? &s->w[s->n - 1] : NULL;
        size_t n = last ? strlen(last->p) : 0;

        return last && w->chained && strchr(".-", between) && w->p[0] >= '0' && w->p[0] <= '9' &&
               last->p[n - 1] >= '0' && last->p[n - 1] <= '9' && n + 1 + w->n <= TERM_BYTES_MAX;
}

static bool word_is_literal(const Word *w) {
        for (size_t i = 0; i < w->n; i++)
                if (w->kinds[i] == WORD_DIGIT || w->kinds[i] == WORD_UNDERSCORE)
                        return true;
        return false;
}

static int statement_stem(Tokenizer *bag, StatementWords *s) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < s->n; i++) {
                const char *base = word_base(s->w[i].p), *same;

                r = tokenizer_stem(bag, base, strlen(base), s->w[i].stem);
                same = r == 0 ? word_synonym(s->w[i].stem) : NULL;
                if (same && same != s->w[i].stem)
                        strcpy(s->w[i].stem, same);
        }
        return r;
}

int statement_next(Tokenizer *bag, const char *text, size_t n, size_t *at, StatementWords *ret) {
        size_t end = *at;
        bool quoted = false;
        Word w;

        ret->n = 0;
        ret->question = ret->too_long = false;
        for (size_t next = *at; word_next(text, n, &next, &w); end = w.end, *at = next) {
                Gap g = gap_read(text, end, w.at, n);
                StatementWord like = {0};

                if (ret->n > 0 && g.percent)
                        ret->w[ret->n - 1].percent = true;
                if (ret->n > 0 && g.ends && !(w.chained && statement_joins(ret, &w, text[w.at - 1]))) {
                        ret->question = g.question;
                        return statement_stem(bag, ret) ?: 1; /* the word is read again */
                }
                quoted ^= g.quote;
                if (w.chained && statement_joins(ret, &w, text[w.at - 1])) {
                        char *p = ret->w[ret->n - 1].p;
                        size_t k = strlen(p);

                        p[k] = text[w.at - 1];
                        memcpy(p + k + 1, w.p, w.n);
                        p[k + 1 + w.n] = 0;
                        continue;
                }
                like.comma = g.comma;
                like.capital = ret->n > 0 && w.kinds[0] == WORD_UPPER;
                like.literal = quoted || word_is_literal(&w);
                statement_add_word(ret, &w, &like);
        }
        if (ret->n > 0) {
                Gap g = gap_read(text, end, n, n);

                ret->question = g.question;
                ret->w[ret->n - 1].percent |= g.percent;
        }
        *at = n;
        return ret->n > 0 ? (statement_stem(bag, ret) ?: 1) : 0;
}
