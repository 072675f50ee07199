/* Runs: supervisor, CLI. The places where a note names a thing by hash ("Fixes: 1bb4a528c41f", as long or as short as
 * people write hashes), or by the whole title in quotes. Pure.
 *
 * A note names many things besides its subject ("similar to commit …", "see …", "since …"). A mention is meant when a
 * verb right before the name says fix, revert, resolve, close, invalidate or supersede, or when a verb right behind the
 * name says that the thing caused or broke something. Other mentions are context: the words of their titles do not
 * count as the note's own words. */
#pragma once

#include "base/util.h"

#define MENTIONS_MAX 16
#define MENTION_HASH_LEAST 7 /* as REFMEM_HASH_LEAST */
#define MENTION_HASH_MOST 40
#define MENTION_TITLE_MOST 256

typedef struct Mention {
        const char *hash;  /* borrowed, hexadecimal, small letters; NULL: by title alone */
        size_t n_hash;
        const char *title; /* borrowed, without the quotes; NULL: no title */
        size_t n_title;
        bool meant;
        size_t from, to;   /* in the text, with the quotes */
} Mention;
/* The first MENTIONS_MAX mentions, in order. Returns the number. A quoted phrase without a hash is found only when
 * meant. */
size_t mentions_find(const char *text, size_t n, Mention ret[static MENTIONS_MAX]);

/* Tells whether the words right before `at` only compare or refer: "similar to", "see also", "unlike" (G-68). */
bool mention_is_aside(const char *text, size_t at);

/* Tells whether the row is the mentioned thing. A hash names ids that end in the same hash, or in a shorter or longer
 * form; a title names rows without regard to case and white space; with both, the hash alone decides. */
bool mention_is(const Mention *m, const char *id, const char *title, size_t n_title);

/* The text with a blank for each byte of a mention. Owned; NULL: out of memory. */
char *mentions_blank(const char *text, size_t n, const Mention *m, size_t n_mentions);
