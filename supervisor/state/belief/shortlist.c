#include "belief/shortlist.h"
#include "index/lexicon.h"

#define NAMED_TIMES 2
#define SOUGHT_TIMES 8

static bool shortlist_has_term(const uint32_t *terms, size_t n, uint32_t term) {
        for (size_t i = 0; i < n; i++)
                if (terms[i] == term)
                        return true;
        return false;
}

static bool shortlist_in_naming(const Naming *x, uint32_t term) {
        return shortlist_has_term(x->words, x->n_words, term) || shortlist_has_term(x->area, x->n_area, term);
}

static bool shortlist_in_names(const Saying *s, uint32_t term) {
        bool found = shortlist_in_naming(&s->reference, term);

        for (size_t i = 0; i < s->n_aliases && !found; i++)
                found = shortlist_in_naming(&s->aliases[i], term);
        return found;
}

static bool shortlist_before(const ShortlistRow *x, const ShortlistRow *y) {
        return x->weight != y->weight ? x->weight > y->weight : x->number < y->number;
}

/* Equal weights are ordered by the terms' bytes: numbers depend on earlier reading. */
static bool shortlist_term_before(const Lexicon *l, const ShortlistTerm *x, const ShortlistTerm *y) {
        return x->weight != y->weight ? x->weight > y->weight : lexicon_compare(l, x->number, y->number) < 0;
}

/* Inserts the term, heaviest first. The lightest term leaves a full list. */
static void shortlist_keep_term(const Lexicon *l, ShortlistTerm *list, size_t *n, ShortlistTerm x) {
        size_t i = *n;

        if (i == SHORTLIST_TERMS && !shortlist_term_before(l, &x, &list[i - 1]))
                return;
        i -= i == SHORTLIST_TERMS;
        *n = i + 1;
        for (; i > 0 && shortlist_term_before(l, &x, &list[i - 1]); i--)
                list[i] = list[i - 1];
        list[i] = x;
}

static int shortlist_consider(Lexicon *l, uint32_t term, double times, ShortlistTerm *list, size_t *n) {
        int r = lexicon_weigh(l, &term, 1);

        if (r < 0 || lexicon_rows_with(l, term) == 0)
                return r;
        shortlist_keep_term(l, list, n, (ShortlistTerm){term, lexicon_weights(l)[term] * times});
        return 0;
}

int shortlist_terms(Lexicon *l, const Saying *s, ShortlistTerm ret[static SHORTLIST_TERMS], size_t *ret_n) {
        int r = 0;

        *ret_n = 0;
        for (size_t i = 0; i < s->n_sought && r == 0; i++)
                if (!shortlist_has_term(s->sought, i, s->sought[i]))
                        r = shortlist_consider(l, s->sought[i], SOUGHT_TIMES, ret, ret_n);
        for (uint32_t t = 0; t < s->n_in_text && r == 0; t++)
                if (s->in_text[t] && !shortlist_has_term(s->sought, s->n_sought, t))
                        r = shortlist_consider(l, t, shortlist_in_names(s, t) ? NAMED_TIMES : 1, ret, ret_n);
        return r;
}

void shortlist_add(Shortlist *x, uint64_t number, double weight) {
        const ShortlistRow row = {number, weight};
        size_t i = x->n;

        if (i == SHORTLIST_ROWS && !shortlist_before(&row, &x->rows[i - 1]))
                return;
        i -= i == SHORTLIST_ROWS;
        x->n = i + 1;
        for (; i > 0 && shortlist_before(&row, &x->rows[i - 1]); i--)
                x->rows[i] = x->rows[i - 1];
        x->rows[i] = row;
}

bool shortlist_has(const Shortlist *x, uint64_t number) {
        for (size_t i = 0; i < x->n; i++)
                if (x->rows[i].number == number)
                        return true;
        return false;
}
