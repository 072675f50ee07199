/* Runs: supervisor, CLI. The rows for a close comparison: of thousands with a common word, the rows that share the most
 * with a note. Pure. A missing row costs more than speed: without the competitor, another row seems clear (G-16). */
#pragma once

#include "index/likeness.h"

#define SHORTLIST_TERMS 64 /* of the note: the heaviest terms that any row has */
#define SHORTLIST_ROWS 128

typedef struct ShortlistTerm {
        uint32_t number; /* in the lexicon */
        /* doubled for words of the reference or an alias, highest for mentioned rows: the rest of a note is long */
        double weight;
} ShortlistTerm;
/* Returns 0 or the error of a term's count. */
int shortlist_terms(Lexicon *l, const Saying *s, ShortlistTerm ret[static SHORTLIST_TERMS], size_t *ret_n);

typedef struct ShortlistRow {
        uint64_t number;
        double weight; /* sum over the row's terms */
} ShortlistRow;
typedef struct Shortlist {
        ShortlistRow rows[SHORTLIST_ROWS]; /* heaviest first, equal weights by number */
        size_t n;
} Shortlist;
/* Each row once, in any order. */
void shortlist_add(Shortlist *x, uint64_t number, double weight);
bool shortlist_has(const Shortlist *x, uint64_t number);
