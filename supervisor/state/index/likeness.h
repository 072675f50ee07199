/* Runs: supervisor, CLI. How like what a note says is to what a row says: the three measures of the score (G-14, G-15). Pure, but for the count of rows
 * that have a term, which the caller looks up.
 *
 * A text that names a thing ("net/mlx5: support flow item") is an area, a lead and words. The area is what stands before the first ": ", and counts as
 * one: the same area or another one. The lead is a first word that tells what became of the thing (it was added, changed, mended). Words are stemmed
 * terms (terms.h) without those that say that something is over (fixed, issue), and without a, the, of. A word weighs the more the fewer rows have
 * it; an area what its terms weigh.
 *
 * The lead's part: what is fixed or withdrawn was once made. A note that settles something asks for a row that made it, whatever its own verb is, so that
 * "fix flow item" finds "support flow item" before "remove flow item". A row that begins with no such word is not asked. */
#pragma once

#include "index/tokenizer.h"

/* Numbers for terms, and what they weigh. */
typedef struct Lexicon Lexicon;
/* How many of the rows have the term; it is asked once a term until lexicon_rows(). 0 or -errno. */
typedef int (*LexiconCount)(void *userdata, uint32_t number, const char *term, size_t n, uint64_t *ret);
/* lent: what texts are taken apart with, filled anew by each; NULL: one of its own. Returns 0, -ENOMEM. */
int lexicon_new(LexiconCount count, void *userdata, Tokenizer *lent, Lexicon **ret);
void lexicon_free(Lexicon *l);
static inline void lexicon_freep(Lexicon **l) {
        lexicon_free(*l);
}
#define _cleanup_lexicon_ _cleanup_(lexicon_freep)
/* From here on there are so many rows, and counts are asked again. At first there are none. */
void lexicon_rows(Lexicon *l, uint64_t rows);
/* Numbers given so far: 0 to this, less one. */
uint32_t lexicon_terms(const Lexicon *l);

typedef enum Lead {
        LEAD_NONE,
        LEAD_MAKES,   /* add, support … */
        LEAD_CHANGES, /* update, use … */
        LEAD_MENDS,   /* fix, remove … */
} Lead;

typedef struct Naming {
        uint32_t *area, *words; /* owned, numbers in ascending order */
        size_t n_area, n_words;
        Lead lead;
        uint32_t lead_word;
} Naming;
#define NAMING_NULL ((Naming){0})
/* Returns 0, -ENOMEM, -EFBIG for more than TERMS_TEXT_MAX. */
int naming_read(Lexicon *l, const char *text, size_t n, Naming *ret);
void naming_deinit(Naming *x);
#define _cleanup_naming_ _cleanup_(naming_deinit)

/* What a request and its note say. */
typedef struct Saying {
        bool settles;      /* it resolves or invalidates; else it would create */
        Naming reference;  /* reference_text, or the note's first clause */
        Naming *aliases;
        size_t n_aliases;
        uint8_t *in_text;  /* by term: it is in the note, the reference or an alias */
        uint32_t n_in_text;
        uint32_t *sought; /* owned: terms by which rows are looked for that the text mentions; none of the note's own words */
        size_t n_sought;
} Saying;
#define SAYING_NULL ((Saying){0}) /* and then set `settles` */
/* Each adds its words to the text, too. */
int saying_text(Lexicon *l, Saying *s, const char *text, size_t n);
int saying_reference(Lexicon *l, Saying *s, const char *text, size_t n); /* the last one counts */
int saying_alias(Lexicon *l, Saying *s, const char *text, size_t n);
int saying_seek(Lexicon *l, Saying *s, const char *text, size_t n); /* adds to `sought` alone */
void saying_deinit(Saying *s);
#define _cleanup_saying_ _cleanup_(saying_deinit)

/* What would create is as like a row as either has of the other, the lesser of the two, in each measure: "fix the build" is in "fix the build on Debian 10", and is
 * another thing. For what settles: */
typedef struct Likeness {
        double overlap;   /* how much of the row's own text is in the note */
        double alias;     /* how much of what the note calls the thing is in the row's text or in what it was called before; the best of the names */
        double reference; /* how much the reference and one of these are the same, both ways */
} Likeness;
/* memory: aliases and phrases that the row was known by (G-41), n of them. Returns 0 or what the count of a term returned. */
int likeness(Lexicon *l, const Saying *s, const Naming *title, const Naming *memory, size_t n_memory, Likeness *ret);
/* No saying that has of the row's terms (areas and words) only those that are `there`, by number, is more like it than this in any measure. All of the
 * row's terms have a weight (lexicon_weigh). */
Likeness likeness_most(const Lexicon *l, const uint8_t *there, const Naming *title, const Naming *memory, size_t n_memory);
