#include "cognition/word-set.h"

#include "base/hash.h"

#include <errno.h>

void word_set_deinit(WordSet *s) {
        free(s->slots);
        *s = WORD_SET_NULL;
}

/* The slot that has the hash, or the empty one where the hash belongs. */
static size_t word_set_slot(const WordSet *s, uint64_t hash) {
        size_t i = hash & (s->room - 1);

        while (s->slots[i] != 0 && s->slots[i] != hash)
                i = (i + 1) & (s->room - 1);
        return i;
}

static uint64_t word_set_hash(const AtomWord *w) {
        return siphash(0, w->p, w->n) ?: 1;
}

static int word_set_grow(WordSet *s) {
        WordSet more = {.room = s->room > 0 ? 2 * s->room : 512, .n = s->n};

        if (2 * (s->n + 1) <= s->room)
                return 0;
        more.slots = calloc(more.room, sizeof(*more.slots));
        if (!more.slots)
                return -ENOMEM;
        for (size_t i = 0; i < s->room; i++)
                if (s->slots[i] != 0)
                        more.slots[word_set_slot(&more, s->slots[i])] = s->slots[i];
        free(s->slots);
        *s = more;
        return 0;
}

int word_set_add(WordSet *s, const char *text, size_t n) {
        size_t at = 0;
        AtomWord w;

        while (atom_word_next(text, n, &at, &w)) {
                uint64_t hash = word_set_hash(&w);
                size_t slot;

                if (word_set_grow(s) < 0)
                        return -ENOMEM;
                slot = word_set_slot(s, hash);
                s->n += s->slots[slot] == 0;
                s->slots[slot] = hash;
        }
        return 0;
}

size_t word_set_count(const WordSet *s, const Atom *a, size_t *ret_all) {
        AtomWord words[ATOM_MAX / 2];
        size_t n = atom_words(a, words), there = 0;

        for (size_t i = 0; i < n && s->room > 0; i++)
                there += s->slots[word_set_slot(s, word_set_hash(&words[i]))] != 0;
        if (ret_all)
                *ret_all = n;
        return there;
}

bool word_set_has(const WordSet *s, const Atom *a) {
        size_t n;

        return word_set_count(s, a, &n) == n && n > 0;
}
