/* Runs: supervisor, CLI. A set of normalised words (atom_word_next()), by their keyed hashes. */
#pragma once

#include "cognition/atom.h"

typedef struct WordSet {
        uint64_t *slots; /* 0: empty; owned */
        size_t room, n;  /* room: a power of two, or 0 */
} WordSet;
#define WORD_SET_NULL ((WordSet){0})

void word_set_deinit(WordSet *s);
#define _cleanup_word_set_ _cleanup_(word_set_deinit)
/* Adds all words of the text. Returns 0, -ENOMEM. */
int word_set_add(WordSet *s, const char *text, size_t n);
/* How many words of the atom's arguments the set has; *ret_all: of how many. */
size_t word_set_count(const WordSet *s, const Atom *a, size_t *ret_all);
/* Has the set all words of the atom's arguments? An atom without a word (of signs alone) is in no set. */
bool word_set_has(const WordSet *s, const Atom *a);
