/* Runs: supervisor, CLI. The likeness of a note and a row: the three measures of the score (G-14, G-15). Pure, but for
 * the lexicon's count of rows.
 *
 * A text with the name of a thing ("net/mlx5: support flow item") has an area, a lead and words. The area stands before
 * the first ": " and is compared as a whole. The lead is a first word about the fate of the thing: added, changed,
 * mended. The words are stemmed terms (tokenizer.h) without words about an end (fixed, issue) and without a, the, of. A
 * rare word weighs more than a frequent word; an area weighs as much as its terms.
 *
 * The part of the lead: a thing has to be made before a fix or a removal. So a note that settles asks for a row about
 * the making, with any verb of its own: "fix flow item" finds "support flow item" before "remove flow item". A row
 * without a lead is compared without this part. */
#pragma once

#include "index/lexicon.h"

#define AREA_MAX 64 /* bytes */

typedef struct Naming {
        uint32_t *area, *words; /* owned, ascending numbers */
        size_t n_area, n_words;
        Lead lead;
        uint32_t lead_word;
} Naming;
#define NAMING_NULL ((Naming){0})
/* Returns 0, -ENOMEM, -EFBIG for more than TERMS_TEXT_MAX bytes. */
int naming_read(Lexicon *l, const char *text, size_t n, Naming *ret);
int naming_weigh(Lexicon *l, const Naming *x); /* lexicon_weigh() for all terms. 0 or -errno */
void naming_deinit(Naming *x);
#define _cleanup_naming_ _cleanup_(naming_deinit)

/* The words of a request and its note. */
typedef struct Saying {
        bool settles;      /* the request resolves or invalidates; false: it would create */
        Naming reference;  /* reference_text, or the note's first clause */
        Naming *aliases;
        size_t n_aliases;
        uint8_t *in_text;  /* by term number: 1 for terms of the note, the reference or an alias */
        uint32_t n_in_text;
        uint32_t *sought; /* owned: further terms for the search of rows; not the note's own */
        size_t n_sought;
} Saying;
#define SAYING_NULL ((Saying){0}) /* the caller sets `settles` */
/* Each function adds its words to the text, too. */
int saying_text(Lexicon *l, Saying *s, const char *text, size_t n);
int saying_reference(Lexicon *l, Saying *s, const char *text, size_t n); /* the last call counts */
int saying_alias(Lexicon *l, Saying *s, const char *text, size_t n);
int saying_seek(Lexicon *l, Saying *s, const char *text, size_t n); /* adds only to `sought` */
void saying_deinit(Saying *s);

/* For a request that would create, each measure is the lesser share of both directions: "fix the build" is contained in
 * "fix the build on Debian 10", and is another thing. For a request that settles: */
typedef struct Likeness {
        double overlap;   /* share of the row's title in the note */
        double alias;     /* share of the note's best name for the thing in the title or in the row's memory */
        double reference; /* how much the reference equals the title or a memory, both ways */
} Likeness;
/* memory: the row's n_memory aliases and phrases (G-41). Returns 0 or the count's error. */
int likeness(Lexicon *l, const Saying *s, const Naming *title, const Naming *memory, size_t n_memory, Likeness *ret);
/* An upper bound, in each measure, for all sayings with no terms of the row (areas and words) except those `there`, by
 * number. All terms of the row have a weight (lexicon_weigh()). */
Likeness likeness_most(const Lexicon *l, const uint8_t *there, const Naming *title, const Naming *memory,
                       size_t n_memory);
