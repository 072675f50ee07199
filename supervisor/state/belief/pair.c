#include "belief/pair.h"

#include "base/hash.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define RARE 0.5     /* of the weight of a word without rows; rarer words count extra */
#define NEAR_AREA 0.3
#define RARE_OF 10.0 /* a name of one candidate among this few is half as rare as among many */
#define PEOPLE_MOST 2

uint64_t pair_name(const char *name, size_t n) {
        return siphash(0, name, n);
}

static bool pair_has(const uint32_t *terms, size_t n, uint32_t term) {
        size_t from = 0, to = n;

        while (from < to) {
                size_t middle = (from + to) / 2;

                if (terms[middle] < term)
                        from = middle + 1;
                else
                        to = middle;
        }
        return from < n && terms[from] == term;
}

static bool pair_said(const Saying *s, uint32_t term) {
        return term < s->n_in_text && s->in_text[term];
}

/* In all text of the row: payload, aliases, phrases. */
static bool pair_row_has(const EvidenceRow *row, uint32_t term) {
        bool has = pair_has(row->text, row->n_text, term);

        for (size_t i = 0; i < row->n_memory && !has; i++)
                has = pair_has(row->memory[i].words, row->memory[i].n_words, term) ||
                      pair_has(row->memory[i].area, row->memory[i].n_area, term);
        return has;
}

static bool pair_digit(char c) {
        return c >= '0' && c <= '9';
}

/* Terms that differ in their digits alone: 40g and 25g. */
static bool pair_conflict(const Lexicon *l, uint32_t a, uint32_t b) {
        size_t n, m, i = 0, k = 0;
        const char *x = lexicon_term(l, a, &n), *y = lexicon_term(l, b, &m);
        bool digits = false, others = false;

        for (;; i++, k++) {
                for (; i < n && pair_digit(x[i]); i++)
                        digits = true;
                for (; k < m && pair_digit(y[k]); k++)
                        others = true;
                if (i == n || k == m)
                        return i == n && k == m && digits && others;
                if (x[i] != y[k])
                        return false;
        }
}

static size_t pair_common(const uint64_t *a, size_t n, const uint64_t *b, size_t m) {
        size_t both = 0;

        for (size_t i = 0, k = 0; i < n && k < m;)
                if (a[i] == b[k]) {
                        both++;
                        i++;
                        k++;
                } else if (a[i] < b[k])
                        i++;
                else
                        k++;
        return both;
}

static double pair_share(double part, double whole) {
        return whole > 0 ? part / whole : 0;
}

/* A note under comparison. Weights are relative to `most`. */
typedef struct PairNote {
        Lexicon *lexicon;
        const Saying *saying;
        const double *weights;
        double most;
        uint32_t *terms; /* owned: of the text, without its area and words of every note */
        size_t n_terms;
        double all; /* the weight of terms */
} PairNote;

static double pair_weight(const PairNote *x, uint32_t term) {
        return x->weights[term] / x->most;
}

static void pair_compare_areas(const PairNote *x, const Naming *row, double *f) {
        const Naming *asked = &x->saying->reference;
        double of_row = 0, of_note = 0, both = 0;

        if (row->n_area == 0 || asked->n_area == 0)
                return;
        for (size_t i = 0; i < row->n_area; i++) {
                of_row += pair_weight(x, row->area[i]);
                both += pair_has(asked->area, asked->n_area, row->area[i]) ? pair_weight(x, row->area[i]) : 0;
        }
        for (size_t i = 0; i < asked->n_area; i++)
                of_note += pair_weight(x, asked->area[i]);
        f[BINDING_same_area] = row->n_area == asked->n_area &&
                               memcmp(row->area, asked->area, row->n_area * sizeof(*row->area)) == 0;
        f[BINDING_near_area] = f[BINDING_same_area] ? 0 : pair_share(both, MAX(of_row, of_note));
}

/* The words of the row's title in the note's name for the thing, in the rest of the note, or nowhere. */
static void pair_compare_titles(const PairNote *x, const EvidenceRow *row, double *f) {
        const Naming *title = &row->naming, *asked = &x->saying->reference;
        double of_row = 0, of_note = 0;

        for (size_t i = 0; i < title->n_words; i++) {
                double weight = pair_weight(x, title->words[i]);

                of_row += weight;
                if (pair_has(asked->words, asked->n_words, title->words[i]))
                        f[BINDING_words] += weight;
                else if (pair_said(x->saying, title->words[i]))
                        f[BINDING_words_in_body] += weight;
                else
                        f[BINDING_row_apart] += weight;
        }
        for (size_t i = 0; i < asked->n_words; i++) {
                double weight = pair_weight(x, asked->words[i]);

                of_note += weight;
                if (pair_has(title->words, title->n_words, asked->words[i]))
                        continue;
                if (pair_row_has(row, asked->words[i]))
                        f[BINDING_words_in_detail] += weight;
                else
                        f[BINDING_note_apart] += weight;
        }
        f[BINDING_words_of_row] = pair_share(f[BINDING_words], of_row);
        f[BINDING_words_of_note] = pair_share(f[BINDING_words], of_note);
        f[BINDING_told_of_row] = pair_share(f[BINDING_words] + f[BINDING_words_in_body], of_row);
        f[BINDING_share_in_detail] = pair_share(f[BINDING_words_in_detail], of_note);
}

/* Only words without a match on the opposite side. */
static bool pair_differs(const PairNote *x, const EvidenceRow *row) {
        const Naming *title = &row->naming, *asked = &x->saying->reference;

        for (size_t i = 0; i < title->n_words; i++)
                for (size_t k = 0; k < asked->n_words && !pair_said(x->saying, title->words[i]); k++)
                        if (!pair_row_has(row, asked->words[k]) &&
                            pair_conflict(x->lexicon, title->words[i], asked->words[k]))
                                return true;
        return false;
}

/* All words of the note in all text of the row, without areas. */
static void pair_compare_texts(const PairNote *x, const EvidenceRow *row, double *f) {
        const Naming *title = &row->naming, *asked = &x->saying->reference;
        double found = 0, all = x->all;

        for (size_t i = 0; i < x->n_terms; i++) {
                uint32_t term = x->terms[i];
                double weight = pair_weight(x, term);

                if (pair_has(title->area, title->n_area, term)) {
                        all -= weight;
                        continue;
                }
                if (!pair_row_has(row, term))
                        continue;
                found += weight;
                f[BINDING_rarest] = MAX(f[BINDING_rarest], weight);
                f[BINDING_rare] += fmax(0, weight - RARE) / (1 - RARE);
                if (!pair_has(title->words, title->n_words, term) && !pair_has(asked->words, asked->n_words, term))
                        f[BINDING_common] += weight;
        }
        f[BINDING_coverage] = pair_share(found, all);
        f[BINDING_common_by_length] = f[BINDING_common] / sqrt(10 + (double)row->n_text);
        f[BINDING_length] = log1p((double)row->n_text);
        f[BINDING_row_makes] = title->lead == LEAD_MAKES;
        f[BINDING_row_mends] = title->lead == LEAD_MENDS;
}

/* The rarest common name: near 1 for a name of this candidate alone among many, 0 for a name of all: it tells nothing. */
static double pair_rarest_name(const Circumstance *note, const Pair *pairs, size_t n, size_t at, bool files) {
        const uint64_t *asked = files ? note->files : note->people;
        size_t n_asked = files ? note->n_files : note->n_people;
        double rarest = 0;

        for (size_t i = 0; i < n_asked; i++) {
                size_t with = 0;

                if (pair_common(&asked[i], 1, files ? pairs[at].facts.files : pairs[at].facts.people,
                                files ? pairs[at].facts.n_files : pairs[at].facts.n_people) == 0)
                        continue;
                for (size_t k = 0; k < n; k++)
                        with += pair_common(&asked[i], 1, files ? pairs[k].facts.files : pairs[k].facts.people,
                                            files ? pairs[k].facts.n_files : pairs[k].facts.n_people);
                rarest = fmax(rarest, log((double)n / (double)with) / log((double)n + RARE_OF));
        }
        return rarest;
}

/* Ages as ranks among the candidates: a store's pace does not matter. */
static void pair_compare_facts(const Circumstance *note, const Pair *pairs, size_t n, size_t at, double *features) {
        const Circumstance *of = &pairs[at].facts;
        double *f = features + at * BINDING_FEATURES;
        size_t newer = 0, newer_there = 0, files = pair_common(note->files, note->n_files, of->files, of->n_files);

        for (size_t k = 0; k < n; k++)
                if (pairs[k].facts.order > of->order) {
                        newer++;
                        newer_there += features[k * BINDING_FEATURES + BINDING_same_area] > 0;
                }
        f[BINDING_age_rank] = log1p((double)newer);
        f[BINDING_area_rank] = log1p((double)newer_there);
        f[BINDING_same_agent] = note->agent && note->agent == of->agent;
        f[BINDING_people] =
                (double)MIN(pair_common(note->people, note->n_people, of->people, of->n_people), (size_t)PEOPLE_MOST);
        f[BINDING_people_rare] = f[BINDING_people] > 0 ? pair_rarest_name(note, pairs, n, at, false) : 0;
        if (note->n_files == 0 || of->n_files == 0)
                return;
        f[BINDING_files_none] = files == 0;
        f[BINDING_files_any] = files > 0;
        f[BINDING_files_share] = (double)files / (double)note->n_files;
        f[BINDING_files_of_row] = (double)files / (double)of->n_files;
        f[BINDING_files_rare] = files > 0 ? pair_rarest_name(note, pairs, n, at, true) : 0;
}

static int pair_note_init(Lexicon *l, const Saying *s, PairNote *ret) {
        const Naming *asked = &s->reference;
        PairNote x = {.lexicon = l, .saying = s, .most = fmax(lexicon_most(l), 1e-9)};
        int r = 0;

        x.terms = calloc(s->n_in_text + 1, sizeof(*x.terms));
        if (!x.terms)
                return -ENOMEM;
        for (uint32_t t = 0; t < s->n_in_text; t++)
                if (s->in_text[t] && lexicon_tells(l, t) && !pair_has(asked->area, asked->n_area, t))
                        x.terms[x.n_terms++] = t;
        r = lexicon_weigh(l, x.terms, x.n_terms) ?: naming_weigh(l, asked);
        x.weights = lexicon_weights(l);
        for (size_t i = 0; i < x.n_terms && r == 0; i++)
                x.all += pair_weight(&x, x.terms[i]);
        if (r < 0)
                free(x.terms);
        else
                *ret = x;
        return r;
}

/* The outside option: what speaks for none of them, whichever. */
static void pair_look_outside(const PairNote *x, const Circumstance *note, const Pair *pairs, size_t n,
                              const double *features, double outside[static BINDING_OUTSIDE]) {
        double same = 0, near = 0, words = 0;
        bool files = false;

        for (size_t i = 0; i < n; i++) {
                same += features[i * BINDING_FEATURES + BINDING_same_area];
                near += features[i * BINDING_FEATURES + BINDING_near_area] > NEAR_AREA;
                files = files || (note->n_files > 0 && pairs[i].facts.n_files > 0);
        }
        for (size_t i = 0; i < x->saying->reference.n_words; i++)
                words += pair_weight(x, x->saying->reference.words[i]);
        outside[BINDING_NONE_always] = 1;
        outside[BINDING_NONE_same_areas] = log1p(same);
        outside[BINDING_NONE_near_areas] = log1p(near);
        outside[BINDING_NONE_note_words] = words;
        outside[BINDING_NONE_files_known] = files;
}

int pairs_features(Lexicon *l, const ResolveEvidence *e, const Circumstance *note, const Pair *pairs, size_t n,
                   double *ret, double outside[static BINDING_OUTSIDE]) {
        PairNote x;
        int r = pair_note_init(l, &e->saying, &x);

        if (r < 0)
                return r;
        for (size_t i = 0; i < n && r == 0; i++)
                r = naming_weigh(l, &pairs[i].row->naming);
        memset(ret, 0, n * BINDING_FEATURES * sizeof(*ret));
        for (size_t i = 0; i < n && r == 0; i++) {
                ResolveCandidate *c = pairs[i].candidate;
                double *f = ret + i * BINDING_FEATURES;

                f[BINDING_score] = resolve_likeness(c);
                f[BINDING_overlap] = c->overlap;
                f[BINDING_alias] = c->alias;
                f[BINDING_reference] = c->reference;
                pair_compare_areas(&x, &pairs[i].row->naming, f);
                pair_compare_titles(&x, pairs[i].row, f);
                pair_compare_texts(&x, pairs[i].row, f);
                c->differs = pair_differs(&x, pairs[i].row);
        }
        for (size_t i = 0; i < n && r == 0; i++)
                pair_compare_facts(note, pairs, n, i, ret);
        if (r == 0)
                pair_look_outside(&x, note, pairs, n, ret, outside);
        free(x.terms);
        return r;
}

int pairs_weigh(Lexicon *l, const ResolveEvidence *e, const Circumstance *note, const Pair *pairs, size_t n) {
        _cleanup_free_ double *features = calloc(n + 1, BINDING_FEATURES * sizeof(*features));
        _cleanup_free_ unsigned *probability = calloc(n + 1, sizeof(*probability));
        double outside[BINDING_OUTSIDE];
        int r = features && probability ? pairs_features(l, e, note, pairs, n, features, outside) : -ENOMEM;

        if (r < 0)
                return r;
        binding_probabilities(features, n, outside, probability);
        for (size_t i = 0; i < n; i++) {
                pairs[i].candidate->compared = true;
                pairs[i].candidate->probability = probability[i];
        }
        return 0;
}
