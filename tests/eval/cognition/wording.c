#include "tests/eval/cognition/wording.h"

#include "base/ascii.h"
#include "base/hash.h"

#include <errno.h>

#define AND " && "

void vocabulary_deinit(Vocabulary *v) {
        for (size_t i = 0; i < v->n; i++)
                free(v->words[i]);
        free(v->words);
        free(v->slots);
        *v = (Vocabulary){0};
}

/* The slot of the word, or the free slot for the word. */
static size_t vocabulary_slot(const Vocabulary *v, const char *word, size_t n) {
        size_t k = siphash(0, word, n) & (v->n_slots - 1);

        while (v->slots[k] && (strncmp(v->words[v->slots[k] - 1], word, n) != 0 || v->words[v->slots[k] - 1][n]))
                k = (k + 1) & (v->n_slots - 1);
        return k;
}

static int vocabulary_grow(Vocabulary *v) {
        size_t had = v->n_slots;
        uint32_t *old = v->slots;

        v->n_slots = had ? 2 * had : 1024;
        v->slots = calloc(v->n_slots, sizeof(*v->slots));
        if (!v->slots) {
                v->slots = old;
                v->n_slots = had;
                return -ENOMEM;
        }
        free(old);
        for (size_t i = 0; i < v->n; i++)
                v->slots[vocabulary_slot(v, v->words[i], strlen(v->words[i]))] = (uint32_t)i + 1;
        return 0;
}

static int vocabulary_number(Vocabulary *v, const char *word, size_t n, uint32_t *ret) {
        size_t k;

        if (2 * (v->n + 1) > v->n_slots && vocabulary_grow(v) < 0)
                return -ENOMEM;
        k = vocabulary_slot(v, word, n);
        if (!v->slots[k]) {
                if (!GROW(v->words, v->n))
                        return -ENOMEM;
                v->words[v->n] = strndup(word, n);
                if (!v->words[v->n])
                        return -ENOMEM;
                v->slots[k] = (uint32_t)++v->n;
        }
        *ret = v->slots[k];
        return 0;
}

void words_deinit(Words *w) {
        free(w->v);
        *w = (Words){0};
}

static bool words_is_letter(char c) {
        return ascii_letter(c) || ascii_digit(c);
}

/* Tells whether a sentence or line ends behind this byte. */
static bool words_breaks(const char *p) {
        return *p == '\n' || ((*p == '.' || *p == '!' || *p == '?' || *p == ';') &&
                              (p[1] == 0 || p[1] == ' ' || p[1] == '\n' || p[1] == '"' || p[1] == '\''));
}

/* Marks the words of a sentence that began at `from` as open. */
static void words_open(Words *w, size_t from) {
        for (size_t i = from; i < w->n; i++)
                w->v[i].open = true;
}

static int words_add(Vocabulary *v, Words *w, const char *word, size_t n, bool open) {
        _cleanup_free_ char *lower = strndup(word, n);
        uint32_t id;

        if (!lower || !GROW(w->v, w->n))
                return -ENOMEM;
        for (size_t i = 0; i < n; i++)
                lower[i] = ascii_lower(lower[i]);
        if (vocabulary_number(v, lower, n, &id) < 0)
                return -ENOMEM;
        w->v[w->n++] = (Word){.id = id, .open = open};
        return 0;
}

int words_read(Vocabulary *v, const char *text, Words *ret) {
        static const char possible[] = "possible(", unsure[] = "uncertainty_signal:";
        _cleanup_words_ Words w = {0};
        size_t sentence = 0, depth = 0; /* of parentheses in possible(…) */
        bool gaps = false;              /* in uncertainty_signal */

        for (const char *p = text; *p;) {
                size_t n = 0;

                if (p == text || p[-1] == '\n') {
                        gaps = strncmp(p, unsure, sizeof(unsure) - 1) == 0 || (gaps && *p == ' ');
                        depth = 0;
                }
                if (depth == 0 && strncmp(p, possible, sizeof(possible) - 1) == 0) {
                        depth = 1;
                        p += sizeof(possible) - 1;
                        continue;
                }
                while (words_is_letter(p[n]))
                        n++;
                if (n > 0) {
                        if (words_add(v, &w, p, n, gaps || depth > 0) < 0)
                                return -ENOMEM;
                        p += n;
                        continue;
                }
                if (depth > 0)
                        depth = *p == '(' ? depth + 1 : *p == ')' ? depth - 1 : depth;
                if (words_breaks(p) && w.n > sentence) {
                        w.v[w.n - 1].ends = true;
                        if (*p == '?')
                                words_open(&w, sentence);
                        sentence = w.n;
                }
                p++;
        }
        *ret = w;
        w = (Words){0};
        return 0;
}

void form_deinit(Form *f) {
        for (size_t i = 0; i < f->n; i++)
                words_deinit(&f->part[i]);
        *f = (Form){0};
}

int form_read(Vocabulary *v, const char *text, Form *ret) {
        Form f = {0};
        int r = 0;

        for (const char *p = text; p && r == 0;) {
                const char *end = strstr(p, AND);
                _cleanup_free_ char *part = end ? strndup(p, (size_t)(end - p)) : strdup(p);

                if (f.n == FORM_PARTS_MAX)
                        r = -EINVAL;
                else if (!part)
                        r = -ENOMEM;
                else
                        r = words_read(v, part, &f.part[f.n]);
                if (r == 0 && f.part[f.n++].n == 0)
                        r = -EINVAL;
                p = end ? end + sizeof(AND) - 1 : NULL;
        }
        if (r < 0) {
                form_deinit(&f);
                return r;
        }
        *ret = f;
        return 0;
}

static bool form_part_at(const Words *part, const Word *v, size_t n) {
        if (part->n > n)
                return false;
        for (size_t i = 0; i < part->n; i++)
                if (part->v[i].id != v[i].id)
                        return false;
        return true;
}

static bool form_part_in(const Words *part, const Word *v, size_t n, bool asserted) {
        for (size_t i = 0; i + part->n <= n; i++)
                if (!(asserted && v[i].open) && form_part_at(part, v + i, n - i))
                        return true;
        return false;
}

bool form_equal(const Form *a, const Form *b) {
        bool same = a->n == b->n;

        for (size_t i = 0; same && i < a->n; i++)
                same = a->part[i].n == b->part[i].n && form_part_at(&a->part[i], b->part[i].v, b->part[i].n);
        return same;
}

bool form_inside(const Form *a, const Form *b) {
        if (a->n == 1 && b->n == 1)
                return form_part_in(&a->part[0], b->part[0].v, b->part[0].n, false);
        return form_equal(a, b);
}

bool form_at(const Form *f, const Words *text, size_t at) {
        return f->n == 1 && form_part_at(&f->part[0], text->v + at, text->n - at);
}

bool form_found(const Form *f, const Words *text, bool asserted) {
        if (f->n == 1)
                return form_part_in(&f->part[0], text->v, text->n, asserted);
        for (size_t from = 0, to; from < text->n; from = to) {
                bool all = true;

                for (to = from; to < text->n && !text->v[to].ends; to++)
                        ;
                to += to < text->n;
                for (size_t i = 0; all && i < f->n; i++)
                        all = form_part_in(&f->part[i], text->v + from, to - from, asserted);
                if (all)
                        return true;
        }
        return false;
}
