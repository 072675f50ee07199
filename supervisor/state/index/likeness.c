#include "index/likeness.h"

#include <errno.h>
#include <string.h>

/* Measured (tests/eval); no value is at a peak of the curve. The weight of an area relative to its terms; of a lead
 * relative to a word of no other row; and of a row about a change relative to a row about the making. */
#define AREA_SHARE 1.5
#define LEAD_SHARE 0.7
#define CHANGES_SHARE 0.5

static bool naming_area_byte(char c) {
        return (c | 0x20) - 'a' < 26U || (c >= '0' && c <= '9') || (c && strchr("_/.,+*-", c));
}

/* The length of the area in bytes; 0: no area. */
static size_t naming_area_end(const char *s, size_t n) {
        size_t i = 0;

        while (i < n && i < AREA_MAX && naming_area_byte(s[i]))
                i++;
        return i > 0 && i + 1 < n && s[i] == ':' && s[i + 1] == ' ' ? i : 0;
}

int naming_read(Lexicon *l, const char *text, size_t n, Naming *ret) {
        _cleanup_naming_ Naming x = NAMING_NULL;
        size_t area = naming_area_end(text, n), at = 0;
        Word w;
        int r = lexicon_read(l, text, area, LEXICON_ALL, &x.area, &x.n_area);

        if (r < 0)
                return r;
        if (area > 0) {
                text += area + 1;
                n -= area + 1;
        }
        if (word_next(text, n, &at, &w)) {
                r = lexicon_lead(l, text + w.at, w.end - w.at, &x.lead, &x.lead_word);
                if (r < 0)
                        return r;
                if (x.lead != LEAD_NONE) {
                        text += w.end;
                        n -= w.end;
                }
        }
        r = lexicon_read(l, text, n, LEXICON_TELLING, &x.words, &x.n_words);
        if (r < 0)
                return r;
        *ret = x;
        x = NAMING_NULL;
        return 0;
}

void naming_deinit(Naming *x) {
        free(x->area);
        free(x->words);
        *x = NAMING_NULL;
}

int saying_text(Lexicon *l, Saying *s, const char *text, size_t n) {
        _cleanup_free_ uint32_t *words = NULL;
        size_t n_words;
        int r = lexicon_read(l, text, n, LEXICON_ALL, &words, &n_words);

        if (r < 0 || n_words == 0)
                return r;
        if (lexicon_terms(l) > s->n_in_text) {
                uint32_t room = lexicon_terms(l);
                uint8_t *more = realloc(s->in_text, room);

                if (!more)
                        return -ENOMEM;
                memset(more + s->n_in_text, 0, room - s->n_in_text);
                s->in_text = more;
                s->n_in_text = room;
        }
        for (size_t i = 0; i < n_words; i++)
                s->in_text[words[i]] = 1;
        return 0;
}

int saying_reference(Lexicon *l, Saying *s, const char *text, size_t n) {
        naming_deinit(&s->reference);

        return naming_read(l, text, n, &s->reference) ?: saying_text(l, s, text, n);
}

int saying_alias(Lexicon *l, Saying *s, const char *text, size_t n) {
        int r;

        if (!GROW(s->aliases, s->n_aliases))
                return -ENOMEM;
        r = naming_read(l, text, n, &s->aliases[s->n_aliases]);
        if (r < 0)
                return r;
        s->n_aliases++;
        return saying_text(l, s, text, n);
}

int saying_seek(Lexicon *l, Saying *s, const char *text, size_t n) {
        _cleanup_free_ uint32_t *words = NULL;
        uint32_t *more;
        size_t n_words;
        int r = lexicon_read(l, text, n, LEXICON_ALL, &words, &n_words);

        if (r < 0 || n_words == 0)
                return r;
        more = reallocarray(s->sought, s->n_sought + n_words, sizeof(*more));
        if (!more)
                return -ENOMEM;
        memcpy(more + s->n_sought, words, n_words * sizeof(*words));
        s->sought = more;
        s->n_sought += n_words;
        return 0;
}

void saying_deinit(Saying *s) {
        naming_deinit(&s->reference);
        for (size_t i = 0; i < s->n_aliases; i++)
                naming_deinit(&s->aliases[i]);
        free(s->aliases);
        free(s->in_text);
        free(s->sought);
        *s = SAYING_NULL;
}

/* The weights of two namings and of the common part. */
typedef struct Shares {
        double row, asked, common;
} Shares;

static bool naming_same_terms(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b) {
        return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof(*a)) == 0);
}

static double weights_sum(const double *weights, const uint32_t *x, size_t n) {
        double all = 0;

        for (size_t i = 0; i < n; i++)
                all += weights[x[i]];
        return all;
}

static double weights_sum_common(const double *weights, const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b) {
        double all = 0;

        for (size_t i = 0, k = 0; i < n_a && k < n_b;)
                if (a[i] == b[k]) {
                        all += weights[a[i]];
                        i++;
                        k++;
                } else if (a[i] < b[k])
                        i++;
                else
                        k++;
        return all;
}

/* there: by the number of the term; terms from n_there on are not there. */
static double weights_sum_there(const double *weights, const uint8_t *there, uint32_t n_there, const uint32_t *x,
                                size_t n) {
        double all = 0;

        for (size_t i = 0; i < n; i++)
                if (x[i] < n_there && there[x[i]])
                        all += weights[x[i]];
        return all;
}

static double weights_sum_said(const Saying *s, const double *weights, const uint32_t *x, size_t n) {
        return weights_sum_there(weights, s->in_text, s->n_in_text, x, n);
}

/* The weight of the lead in a row's naming, and the share of this weight for a note that settles. */
static double naming_lead_weight(const Lexicon *l, const Naming *row) {
        return row->lead == LEAD_NONE ? 0 : LEAD_SHARE * lexicon_most(l);
}

static double naming_lead_found(const Naming *row) {
        return row->lead == LEAD_MAKES ? 1 : row->lead == LEAD_CHANGES ? CHANGES_SHARE : 0;
}

static Shares naming_compare(const Lexicon *l, const double *weights, bool settles, const Naming *row,
                             const Naming *asked) {
        double row_area = AREA_SHARE * weights_sum(weights, row->area, row->n_area),
               asked_area = AREA_SHARE * weights_sum(weights, asked->area, asked->n_area);
        Shares x = {
                .row = row_area + weights_sum(weights, row->words, row->n_words),
                .asked = asked_area + weights_sum(weights, asked->words, asked->n_words),
                .common = weights_sum_common(weights, row->words, row->n_words, asked->words, asked->n_words),
        };

        if (row->n_area > 0 && asked->n_area > 0) {
                if (naming_same_terms(row->area, row->n_area, asked->area, asked->n_area))
                        x.common += row_area;
        } else if (row->n_area > 0)
                x.common += weights_sum_common(weights, row->area, row->n_area, asked->words, asked->n_words);
        else
                x.common += weights_sum_common(weights, row->words, row->n_words, asked->area, asked->n_area);
        if (settles) {
                double lead = naming_lead_weight(l, row);

                x.row += lead;
                x.asked += lead;
                x.common += lead * naming_lead_found(row);
        } else {
                if (row->lead != LEAD_NONE)
                        x.row += weights[row->lead_word];
                if (asked->lead != LEAD_NONE)
                        x.asked += weights[asked->lead_word];
                if (row->lead != LEAD_NONE && asked->lead != LEAD_NONE && row->lead_word == asked->lead_word)
                        x.common += weights[row->lead_word];
        }
        return x;
}

static double likeness_share(double part, double whole) {
        return whole <= 0 ? 0 : MIN(part / whole, 1.0);
}

static double likeness_overlap(const Lexicon *l, const double *weights, const Saying *s, const Naming *row) {
        double area = AREA_SHARE * weights_sum(weights, row->area, row->n_area),
               whole = area + weights_sum(weights, row->words, row->n_words);
        double part = weights_sum_said(s, weights, row->words, row->n_words);

        if (s->reference.n_area == 0)
                part += AREA_SHARE * weights_sum_said(s, weights, row->area, row->n_area);
        else if (naming_same_terms(row->area, row->n_area, s->reference.area, s->reference.n_area))
                part += area;
        if (s->settles) {
                whole += naming_lead_weight(l, row);
                part += naming_lead_weight(l, row) * naming_lead_found(row);
        } else if (row->lead != LEAD_NONE) {
                whole += weights[row->lead_word];
                part += weights_sum_said(s, weights, &row->lead_word, 1);
        }
        return likeness_share(part, whole);
}

/* A naming without words names nothing: other rows have the same areas and leads. */
static bool naming_names(const Naming *x) {
        return x->n_words > 0;
}

/* Compares one naming of the row with the reference and the aliases. */
static void likeness_compare(const Lexicon *l, const double *weights, const Saying *s, const Naming *row,
                             Likeness *ret) {
        if (!naming_names(row))
                return;
        for (size_t i = 0; i <= s->n_aliases; i++) {
                const Naming *asked = i == 0 ? &s->reference : &s->aliases[i - 1];
                Shares x;

                if (!naming_names(asked))
                        continue;
                x = naming_compare(l, weights, s->settles, row, asked);
                ret->alias = MAX(ret->alias, likeness_share(x.common, s->settles ? x.asked : MAX(x.asked, x.row)));
                if (i == 0)
                        ret->reference =
                                MAX(ret->reference, s->settles ? likeness_share(2 * x.common, x.row + x.asked)
                                                               : likeness_share(x.common, MAX(x.asked, x.row)));
        }
}

int naming_weigh(Lexicon *l, const Naming *x) {
        int r = lexicon_weigh(l, x->area, x->n_area) ?: lexicon_weigh(l, x->words, x->n_words);

        return r == 0 && x->lead != LEAD_NONE ? lexicon_weigh(l, &x->lead_word, 1) : r;
}

int likeness(Lexicon *l, const Saying *s, const Naming *title, const Naming *memory, size_t n_memory, Likeness *ret) {
        const double *weights;
        int r = naming_weigh(l, title);

        for (size_t i = 0; i < n_memory && r == 0; i++)
                r = naming_weigh(l, &memory[i]);
        if (r == 0)
                r = naming_weigh(l, &s->reference);
        for (size_t i = 0; i < s->n_aliases && r == 0; i++)
                r = naming_weigh(l, &s->aliases[i]);
        if (r < 0)
                return r;
        weights = lexicon_weights(l);
        *ret = (Likeness){0};
        likeness_compare(l, weights, s, title, ret);
        if (naming_names(title))
                ret->overlap = s->settles ? likeness_overlap(l, weights, s, title) : ret->reference;
        for (size_t i = 0; i < n_memory; i++)
                likeness_compare(l, weights, s, &memory[i], ret);
        return 0;
}

/* The bound for one naming of the row, for any area, lead and further words. A word can be common twice: as a word and
 * in an area. The saying then has at least half of this weight. */
static void likeness_bound(const Lexicon *l, const uint8_t *there, const Naming *row, bool is_title, Likeness *ret) {
        const double *weights = lexicon_weights(l);
        double area = AREA_SHARE * weights_sum_there(weights, there, UINT32_MAX, row->area, row->n_area),
               words = weights_sum_there(weights, there, UINT32_MAX, row->words, row->n_words),
               whole = AREA_SHARE * weights_sum(weights, row->area, row->n_area) +
                       weights_sum(weights, row->words, row->n_words),
               common = area + (row->n_area > 0 ? words : 2 * words), lead = naming_lead_weight(l, row),
               found = lead * naming_lead_found(row), lead_word = row->lead == LEAD_NONE ? 0 : weights[row->lead_word],
               creates;

        if (!naming_names(row))
                return;
        creates = likeness_share(common + lead_word, whole + lead_word);
        ret->alias = MAX(ret->alias, MAX(creates, common > 0 ? 1 : likeness_share(found, lead)));
        ret->reference =
                MAX(ret->reference, MAX(creates, likeness_share(2 * (common + found), whole + 2 * lead + common / 2)));
        if (is_title)
                ret->overlap = MAX(creates, likeness_share(area + words + found, whole + lead));
}

Likeness likeness_most(const Lexicon *l, const uint8_t *there, const Naming *title, const Naming *memory,
                       size_t n_memory) {
        Likeness most = {0};

        likeness_bound(l, there, title, true, &most);
        for (size_t i = 0; i < n_memory; i++)
                likeness_bound(l, there, &memory[i], false, &most);
        return most;
}
