/* Runs: supervisor, CLI. Where a note says of which thing it speaks by more than a name: a hash ("Fixes: 1bb4a528c41f", as long or as short as people
 * write them), or the whole title in quotes. Pure.
 *
 * A note names many things that it is not about ("similar to commit …", "see …", "since …"). It is about the one that it says to fix, revert, resolve,
 * close, invalidate or supersede right before the name, or that it says right behind it to have caused or broken something; such a mention is meant.
 * What a note only mentions is context: the words of that title are not taken as the note's own. */
#pragma once

#include "base/util.h"

#define MENTIONS_MAX 16
#define MENTION_HASH_LEAST 7 /* as REFMEM_HASH_LEAST */
#define MENTION_HASH_MOST 40
#define MENTION_TITLE_MOST 256

typedef struct Mention {
        const char *hash;  /* lent, hexadecimal, small letters; NULL: by title alone */
        size_t n_hash;
        const char *title; /* lent, without its quotes; NULL: none */
        size_t n_title;
        bool meant;
        size_t from, to;   /* in the text, with its quotes */
} Mention;
/* At most MENTIONS_MAX, in their order; further ones are not looked at. Returns how many. A quoted phrase without a hash is a mention only when it is meant. */
size_t mentions_find(const char *text, size_t n, Mention ret[static MENTIONS_MAX]);

/* Is the row the one that is mentioned? A hash names ids that end in the same one, or in a shorter or longer form of it; a title names rows without case and
 * white space counting; with both, the hash decides alone. */
bool mention_is(const Mention *m, const char *id, const char *title, size_t n_title);

/* The text with a blank for each byte of a mention. Owned; NULL: no memory. */
char *mentions_blank(const char *text, size_t n, const Mention *m, size_t n_mentions);
