#include "index/likeness.h"
#include "index/lexicon.h"

#include <errno.h>
#include <math.h>
#include <string.h>

/* Measured (README, "Measured identity"), where none of them is at a peak: what an area weighs against its terms, what a lead weighs against a word that
 * no other row has, and what a row that changed something counts against one that made it. */
#define AREA_SHARE 1.5
#define LEAD_SHARE 0.7
#define CHANGES_SHARE 0.5

static bool is_area_byte(char c) {
        return (c | 0x20) - 'a' < 26U || (c >= '0' && c <= '9') || (c && strchr("_/.,+*-", c));
}

/* Bytes of the area; 0: it has none. */
static size_t area_end(const char *s, size_t n) {
        size_t i = 0;

        while (i < n && i < AREA_MAX && is_area_byte(s[i]))
                i++;
        return i > 0 && i + 1 < n && s[i] == ':' && s[i + 1] == ' ' ? i : 0;
}

int naming_read(Lexicon *l, const char *text, size_t n, Naming *ret) {
        _cleanup_naming_ Naming x = NAMING_NULL;
        size_t area = area_end(text, n), at = 0;
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

static int mark(Lexicon *l, Saying *s, const char *text, size_t n) {
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

int saying_text(Lexicon *l, Saying *s, const char *text, size_t n) {
        return mark(l, s, text, n);
}

int saying_reference(Lexicon *l, Saying *s, const char *text, size_t n) {
        naming_deinit(&s->reference);
        int r = naming_read(l, text, n, &s->reference);

        return r < 0 ? r : mark(l, s, text, n);
}

int saying_alias(Lexicon *l, Saying *s, const char *text, size_t n) {
        Naming *more = reallocarray(s->aliases, s->n_aliases + 1, sizeof(*more));
        int r;

        if (!more)
                return -ENOMEM;
        s->aliases = more;
        r = naming_read(l, text, n, &s->aliases[s->n_aliases]);
        if (r < 0)
                return r;
        s->n_aliases++;
        return mark(l, s, text, n);
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

/* What two namings have, and what they have in common. */
typedef struct Shares {
        double row, asked, common;
} Shares;

static bool same(const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b) {
        return n_a == n_b && (n_a == 0 || memcmp(a, b, n_a * sizeof(*a)) == 0);
}

static double sum(const double *weights, const uint32_t *x, size_t n) {
        double all = 0;

        for (size_t i = 0; i < n; i++)
                all += weights[x[i]];
        return all;
}

static double sum_common(const double *weights, const uint32_t *a, size_t n_a, const uint32_t *b, size_t n_b) {
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

static bool in_text(const Saying *s, uint32_t term) {
        return term < s->n_in_text && s->in_text[term];
}

static double sum_in_text(const Saying *s, const double *weights, const uint32_t *x, size_t n) {
        double all = 0;

        for (size_t i = 0; i < n; i++)
                if (in_text(s, x[i]))
                        all += weights[x[i]];
        return all;
}

/* The lead's part of a row's naming, and how much of it a note that settles something finds. */
static double lead_weight(const Lexicon *l, const Naming *row) {
        return row->lead == LEAD_NONE ? 0 : LEAD_SHARE * lexicon_most(l);
}

static double lead_found(const Naming *row) {
        return row->lead == LEAD_MAKES ? 1 : row->lead == LEAD_CHANGES ? CHANGES_SHARE : 0;
}

static Shares compare(const Lexicon *l, const double *weights, bool settles, const Naming *row, const Naming *asked) {
        double row_area = AREA_SHARE * sum(weights, row->area, row->n_area), asked_area = AREA_SHARE * sum(weights, asked->area, asked->n_area);
        Shares x = {
                .row = row_area + sum(weights, row->words, row->n_words),
                .asked = asked_area + sum(weights, asked->words, asked->n_words),
                .common = sum_common(weights, row->words, row->n_words, asked->words, asked->n_words),
        };

        if (row->n_area > 0 && asked->n_area > 0) {
                if (same(row->area, row->n_area, asked->area, asked->n_area))
                        x.common += row_area;
        } else if (row->n_area > 0)
                x.common += sum_common(weights, row->area, row->n_area, asked->words, asked->n_words);
        else
                x.common += sum_common(weights, row->words, row->n_words, asked->area, asked->n_area);
        if (settles) {
                double lead = lead_weight(l, row);

                x.row += lead;
                x.asked += lead;
                x.common += lead * lead_found(row);
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

static double share(double part, double whole) {
        return whole <= 0 ? 0 : MIN(part / whole, 1.0);
}

static double overlap(const Lexicon *l, const double *weights, const Saying *s, const Naming *row) {
        double area = AREA_SHARE * sum(weights, row->area, row->n_area), whole = area + sum(weights, row->words, row->n_words);
        double part = sum_in_text(s, weights, row->words, row->n_words);

        if (s->reference.n_area == 0)
                part += AREA_SHARE * sum_in_text(s, weights, row->area, row->n_area);
        else if (same(row->area, row->n_area, s->reference.area, s->reference.n_area))
                part += area;
        if (s->settles) {
                whole += lead_weight(l, row);
                part += lead_weight(l, row) * lead_found(row);
        } else if (row->lead != LEAD_NONE) {
                whole += weights[row->lead_word];
                part += in_text(s, row->lead_word) ? weights[row->lead_word] : 0;
        }
        return share(part, whole);
}

/* A name without a word of its own names nothing: areas and leads are others', too. */
static bool names(const Naming *x) {
        return x->n_words > 0;
}

/* One naming of the row. */
static void compare_all(const Lexicon *l, const double *weights, const Saying *s, const Naming *row, Likeness *ret) {
        if (!names(row))
                return;
        for (size_t i = 0; i <= s->n_aliases; i++) {
                const Naming *asked = i == 0 ? &s->reference : &s->aliases[i - 1];
                Shares x;

                if (!names(asked))
                        continue;
                x = compare(l, weights, s->settles, row, asked);
                ret->alias = MAX(ret->alias, share(x.common, s->settles ? x.asked : MAX(x.asked, x.row)));
                if (i == 0)
                        ret->reference = MAX(ret->reference, s->settles ? share(2 * x.common, x.row + x.asked) : share(x.common, MAX(x.asked, x.row)));
        }
}

static int weigh(Lexicon *l, const Naming *x) {
        int r = lexicon_weigh(l, x->area, x->n_area);

        if (r == 0)
                r = lexicon_weigh(l, x->words, x->n_words);
        return r == 0 && x->lead != LEAD_NONE ? lexicon_weigh(l, &x->lead_word, 1) : r;
}

int likeness(Lexicon *l, const Saying *s, const Naming *title, const Naming *memory, size_t n_memory, Likeness *ret) {
        const double *weights;
        int r = weigh(l, title);

        for (size_t i = 0; i < n_memory && r == 0; i++)
                r = weigh(l, &memory[i]);
        if (r == 0)
                r = weigh(l, &s->reference);
        for (size_t i = 0; i < s->n_aliases && r == 0; i++)
                r = weigh(l, &s->aliases[i]);
        if (r < 0)
                return r;
        weights = lexicon_weights(l);
        *ret = (Likeness){0};
        compare_all(l, weights, s, title, ret);
        if (names(title))
                ret->overlap = s->settles ? overlap(l, weights, s, title) : ret->reference;
        for (size_t i = 0; i < n_memory; i++)
                compare_all(l, weights, s, &memory[i], ret);
        return 0;
}

static double sum_there(const double *weights, const uint8_t *there, const uint32_t *x, size_t n) {
        double all = 0;

        for (size_t i = 0; i < n; i++)
                all += there[x[i]] ? weights[x[i]] : 0;
        return all;
}

/* One naming of the row, whatever the saying's area, lead and further words are. A word can be common twice: as a word and in an area; what was asked has
 * at least half of that. */
static void compare_most(const Lexicon *l, const uint8_t *there, const Naming *row, bool is_title, Likeness *ret) {
        const double *weights = lexicon_weights(l);
        double area = AREA_SHARE * sum_there(weights, there, row->area, row->n_area), words = sum_there(weights, there, row->words, row->n_words),
               whole = AREA_SHARE * sum(weights, row->area, row->n_area) + sum(weights, row->words, row->n_words),
               common = area + (row->n_area > 0 ? words : 2 * words), lead = lead_weight(l, row), found = lead * lead_found(row),
               lead_word = row->lead == LEAD_NONE ? 0 : weights[row->lead_word], creates;

        if (!names(row))
                return;
        creates = share(common + lead_word, whole + lead_word);
        ret->alias = MAX(ret->alias, MAX(creates, common > 0 ? 1 : share(found, lead)));
        ret->reference = MAX(ret->reference, MAX(creates, share(2 * (common + found), whole + 2 * lead + common / 2)));
        if (is_title)
                ret->overlap = MAX(creates, share(area + words + found, whole + lead));
}

Likeness likeness_most(const Lexicon *l, const uint8_t *there, const Naming *title, const Naming *memory, size_t n_memory) {
        Likeness most = {0};

        compare_most(l, there, title, true, &most);
        for (size_t i = 0; i < n_memory; i++)
                compare_most(l, there, &memory[i], false, &most);
        return most;
}
