/* Runs: supervisor, CLI. Which rows are looked at closely: of thousands that share a word with a note, those that share the most. Pure. A list that is too
 * short is not only slower to bind: a row that is missing from it is no competitor, and what is alone seems clear (G-16). */
#pragma once

#include "index/likeness.h"

#define SHORTLIST_TERMS 64 /* of the note: the weightiest that any row has */
#define SHORTLIST_ROWS 128

typedef struct ShortlistTerm {
        uint32_t number; /* of the lexicon */
        double weight;   /* twice for a word of the reference or an alias: the rest of a note speaks of much; most for rows that are mentioned */
} ShortlistTerm;
/* Returns 0 or what the count of a term returned. */
int shortlist_terms(Lexicon *l, const Saying *s, ShortlistTerm ret[static SHORTLIST_TERMS], size_t *ret_n);

typedef struct ShortlistRow {
        uint64_t number;
        double weight; /* sum of the terms that it has */
} ShortlistRow;
typedef struct Shortlist {
        ShortlistRow rows[SHORTLIST_ROWS]; /* heaviest first, equal ones by number */
        size_t n;
} Shortlist;
/* Each row once, in whatever order. */
void shortlist_add(Shortlist *x, uint64_t number, double weight);
bool shortlist_has(const Shortlist *x, uint64_t number);
