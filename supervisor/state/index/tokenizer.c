#include "base/siphash.h"
#include "index/stem.h"
#include "index/tokenizer.h"

#include <errno.h>
#include <string.h>

typedef struct Entry {
        uint32_t at; /* in bytes */
        uint32_t hash;
        uint32_t times;
        uint8_t n, field;
        bool whole;
} Entry;

/* Words come again, and finding a stem takes longer than finding a word. */
#define STEMS 512
#define STEM_BYTES 15
typedef struct KnownStem {
        char word[STEM_BYTES], stem[STEM_BYTES];
        uint8_t n_word, n_stem; /* n_word 0: free */
} KnownStem;

struct Tokenizer {
        Stemmer *stemmer;
        KnownStem *stems; /* by hash of the word, the last one wins; NULL: no bag is kept that long */
        char *bytes;
        size_t n_bytes, room_bytes;
        Entry *entries;
        size_t n, room;
        uint32_t *buckets; /* index of an entry and 1, 0: free; a power of two of them, at most half used */
        size_t n_buckets;
        Term *sorted;
        size_t room_sorted;
        unsigned length[TERMS_FIELDS];
};

int tokenizer_new(Tokenizer **ret) {
        _cleanup_tokenizer_ Tokenizer *b = calloc(1, sizeof(*b));

        if (!b)
                return -ENOMEM;
        b->stemmer = english_UTF_8_create_env();
        if (!b->stemmer)
                return -ENOMEM;
        *ret = TAKE_PTR(b);
        return 0;
}

void tokenizer_free(Tokenizer *b) {
        if (!b)
                return;
        if (b->stemmer)
                english_UTF_8_close_env(b->stemmer);
        free(b->stems);
        free(b->bytes);
        free(b->entries);
        free(b->buckets);
        free(b->sorted);
        free(b);
}

int tokenizer_keep_stems(Tokenizer *b) {
        b->stems = b->stems ?: calloc(STEMS, sizeof(*b->stems));
        return b->stems ? 0 : -ENOMEM;
}

void tokenizer_clear(Tokenizer *b) {
        if (b->n > 0)
                memset(b->buckets, 0, b->n_buckets * sizeof(*b->buckets));
        memset(b->length, 0, sizeof(b->length));
        b->n = b->n_bytes = 0;
}

/* Makes *p hold at least `need` elements. */
static int grow(void *p, size_t *room, size_t need, size_t size) {
        size_t more = MAX(need, 2 * *room + 64);
        void *q;

        if (need <= *room)
                return 0;
        q = realloc(*(void **)p, more * size);
        if (!q)
                return -ENOMEM;
        *(void **)p = q;
        *room = more;
        return 0;
}

static int more_buckets(Tokenizer *b) {
        size_t n = b->n_buckets ? 2 * b->n_buckets : 256;
        uint32_t *p = calloc(n, sizeof(*p));

        if (!p)
                return -ENOMEM;
        free(b->buckets);
        b->buckets = p;
        b->n_buckets = n;
        for (size_t i = 0; i < b->n; i++) {
                size_t k = b->entries[i].hash & (n - 1);

                while (p[k])
                        k = (k + 1) & (n - 1);
                p[k] = (uint32_t)i + 1;
        }
        return 0;
}

static int add(Tokenizer *b, unsigned field, const char *p, size_t n, bool whole) {
        uint32_t h = (uint32_t)siphash(field, p, n);
        size_t k;
        Entry *e;
        int r;

        if (2 * (b->n + 1) > b->n_buckets && (r = more_buckets(b)) < 0)
                return r;
        for (k = h & (b->n_buckets - 1); b->buckets[k]; k = (k + 1) & (b->n_buckets - 1)) {
                e = &b->entries[b->buckets[k] - 1];
                if (e->hash == h && e->field == field && e->n == n && memcmp(b->bytes + e->at, p, n) == 0) {
                        e->times++;
                        e->whole &= whole;
                        return 0;
                }
        }
        r = grow(&b->entries, &b->room, b->n + 1, sizeof(*b->entries));
        if (r == 0)
                r = grow(&b->bytes, &b->room_bytes, b->n_bytes + n, 1);
        if (r < 0)
                return r;
        memcpy(b->bytes + b->n_bytes, p, n);
        b->entries[b->n] = (Entry){.at = (uint32_t)b->n_bytes, .hash = h, .times = 1, .n = (uint8_t)n, .field = (uint8_t)field, .whole = whole};
        b->n_bytes += n;
        b->buckets[k] = (uint32_t)++b->n;
        return 0;
}

typedef struct Stem {
        char p[TERM_BYTES_MAX];
        size_t n;
} Stem;

/* Words that meet here push each other out, which costs no more than to stem them: whoever chooses them gains nothing. */
static size_t stem_place(const char *p, size_t n) {
        uint64_t begin = 0, end = 0;

        memcpy(&begin, p, MIN(n, sizeof(begin)));
        memcpy(&end, p + n - MIN(n, sizeof(end)), MIN(n, sizeof(end)));
        return (size_t)((begin ^ (end << 7 | n)) * UINT64_C(0x9E3779B97F4A7C15) >> 32) % STEMS;
}

/* Of a part, or of a whole of letters and digits: stemmed when it is English letters alone, and without its apostrophes. */
static int stem_of(Tokenizer *b, const char *p, size_t n, Stem *ret) {
        const char *word = p;
        size_t n_word = n;
        bool letters = n > 2;
        KnownStem *known;

        for (size_t i = 0; i < n && letters; i++)
                letters = (p[i] >= 'a' && p[i] <= 'z') || p[i] == '\'';
        known = letters && b->stems && n <= STEM_BYTES ? &b->stems[stem_place(p, n)] : NULL;
        if (known && known->n_word == n && memcmp(known->word, p, n) == 0) {
                ret->n = known->n_stem;
                memcpy(ret->p, known->stem, known->n_stem);
                return 0;
        }
        if (letters) {
                if (SN_set_current(b->stemmer, (int)n, (const unsigned char *)p) < 0 || english_UTF_8_stem(b->stemmer) < 0)
                        return -ENOMEM;
                p = (const char *)b->stemmer->p;
                n = MIN((size_t)b->stemmer->l, sizeof(ret->p));
        }
        ret->n = 0;
        for (size_t i = 0; i < n; i++)
                if (p[i] != '\'')
                        ret->p[ret->n++] = p[i];
        if (known && ret->n <= STEM_BYTES) {
                memcpy(known->word, word, n_word);
                memcpy(known->stem, ret->p, ret->n);
                known->n_word = (uint8_t)n_word;
                known->n_stem = (uint8_t)ret->n;
        }
        return 0;
}

static int add_counted(Tokenizer *b, unsigned field, const char *p, size_t n, bool whole) {
        if (n == 0)
                return 0;
        if (!whole && b->length[field] < TERMS_LENGTH_MAX)
                b->length[field]++;
        return add(b, field, p, n, whole);
}

/* Where the part that begins at i of a piece without _ ends: before a capital that follows something else, and before the last of several when a small
 * letter follows it. */
static size_t part_end(const Word *w, size_t i, size_t end) {
        for (size_t k = i + 1; k < end; k++) {
                bool follows = w->kinds[k - 1] == WORD_UPPER;
                bool plural = k + 2 == end && w->p[k + 1] == 's'; /* "VFs" is more than one VF */

                if (w->kinds[k] != WORD_UPPER || w->kinds[k - 1] == WORD_APOSTROPHE)
                        continue;
                if (!follows || (k + 1 < end && w->kinds[k + 1] == WORD_LOWER && !plural))
                        return k;
        }
        return end;
}

/* The s of "VFs" is not of the name. */
static size_t without_plural(const Word *w, size_t at, size_t end) {
        bool plural = end - at > 2 && w->p[end - 1] == 's' && w->kinds[end - 1] == WORD_LOWER && w->kinds[end - 2] == WORD_UPPER;

        return plural ? end - 1 : end;
}

static bool one_letter(const Word *w, size_t at, size_t end) {
        return end - at == 1 && w->kinds[at] != WORD_DIGIT;
}

/* A piece of a word, without _. composed: it has a whole besides. *ret_parts counts those that were added. What is all of the piece in small letters is
 * always among its terms, so that a phrase finds it however it is written. */
static int add_piece(Tokenizer *b, unsigned field, const Word *w, size_t at, size_t end, bool composed, size_t *ret_parts) {
        bool several = part_end(w, at, end) < end, same = false;
        Stem all, part;
        int r = stem_of(b, w->p + at, end - at, &all);

        for (size_t i = at, stop, last; i < end && r == 0; i = stop) {
                stop = part_end(w, i, end);
                /* A single letter of a composed word says nothing. */
                if ((several || composed) && one_letter(w, i, stop))
                        continue;
                last = without_plural(w, i, stop);
                if (i == at && last == end)
                        part = all;
                else
                        r = stem_of(b, w->p + i, last - i, &part);
                if (r == 0)
                        r = add_counted(b, field, part.p, part.n, false);
                same = part.n == all.n && memcmp(part.p, all.p, all.n) == 0;
                (*ret_parts)++;
        }
        if (r < 0 || same || (!several && composed && one_letter(w, at, end)))
                return r;
        r = add_counted(b, field, all.p, all.n, *ret_parts > 0);
        *ret_parts += *ret_parts == 0;
        return r;
}

static int add_word(Tokenizer *b, unsigned field, const Word *w) {
        size_t first = 0, end = w->n, parts = 0, stop;
        bool composed;
        int r = 0;

        while (w->p[first] == '_')
                first++;
        while (w->p[end - 1] == '_')
                end--;
        composed = memchr(w->p + first, '_', end - first) != NULL;
        for (size_t i = first; i < end && r == 0; i = stop + 1) {
                for (stop = i; stop < end && w->p[stop] != '_';)
                        stop++;
                if (stop > i)
                        r = add_piece(b, field, w, i, stop, composed, &parts);
        }
        if (r < 0 || !composed)
                return r;
        return add_counted(b, field, w->p + first, end - first, parts > 0);
}

/* Words that are joined by single - and . as they are read. */
typedef struct Chain {
        char p[TERM_BYTES_MAX];
        size_t n, words;
        bool digit, cut; /* cut: there is no room for all of it */
} Chain;

static void chain_add(Chain *c, const char *p, size_t n) {
        c->cut |= c->n + n > sizeof(c->p);
        if (c->cut)
                return;
        memcpy(c->p + c->n, p, n);
        c->n += n;
}

static void chain_begin(Chain *c) {
        c->n = c->words = 0;
        c->digit = c->cut = false;
}

static int chain_end(Tokenizer *b, unsigned field, Chain *c) {
        int r = c->words > 1 && c->digit && !c->cut ? add(b, field, c->p, c->n, true) : 0;

        chain_begin(c);
        return r;
}

int tokenizer_add(Tokenizer *b, unsigned field, const char *text, size_t n) {
        size_t at = 0, end = 0;
        Chain chain; /* its bytes are not cleared */
        Word w;
        int r = 0;

        chain_begin(&chain);
        assert(field < TERMS_FIELDS);
        if (n > TERMS_TEXT_MAX)
                return -EFBIG;
        while (r == 0 && word_next(text, n, &at, &w)) {
                if (w.chained && chain.words > 0)
                        chain_add(&chain, text + end, 1);
                else
                        r = chain_end(b, field, &chain);
                chain_add(&chain, w.p, w.n);
                chain.words++;
                chain.digit |= memchr(w.kinds, WORD_DIGIT, w.n) != NULL;
                end = w.end;
                if (r == 0)
                        r = add_word(b, field, &w);
        }
        return r < 0 ? r : chain_end(b, field, &chain);
}

static int compare(const void *a, const void *b) {
        const Term *x = a, *y = b;
        int r;

        if (x->field != y->field)
                return x->field < y->field ? -1 : 1;
        r = memcmp(x->p, y->p, MIN(x->n, y->n));
        return r ? r : (int)x->n - (int)y->n;
}

/* The field and the first seven bytes, in the order of compare(): where they differ, nothing else needs to be looked at. */
static uint64_t rank_of(const Term *t) {
        uint64_t v = t->field;

        for (size_t i = 0; i < 7; i++)
                v = v << 8 | (i < t->n ? (uint8_t)t->p[i] : 0);
        return v;
}

/* A text has few terms. */
#define FEW 48
static void sort_few(Term *terms, size_t n) {
        uint64_t ranks[FEW];

        for (size_t i = 0; i < n; i++) {
                Term one = terms[i];
                uint64_t rank = rank_of(&one);
                size_t k = i;

                for (; k > 0 && (ranks[k - 1] > rank || (ranks[k - 1] == rank && compare(&terms[k - 1], &one) > 0)); k--) {
                        ranks[k] = ranks[k - 1];
                        terms[k] = terms[k - 1];
                }
                ranks[k] = rank;
                terms[k] = one;
        }
}

int tokenizer_take(Tokenizer *b, const Term *t) {
        int r = add(b, t->field, t->p, t->n, t->whole);

        if (r == 0)
                b->entries[b->n - 1].times = t->times;
        return r;
}

void tokenizer_set_length(Tokenizer *b, unsigned field, unsigned length) {
        b->length[field] = length;
}

const Term *tokenizer_sorted(Tokenizer *b, size_t *ret_n) {
        if (grow(&b->sorted, &b->room_sorted, b->n + 1, sizeof(*b->sorted)) < 0)
                return NULL;
        for (size_t i = 0; i < b->n; i++) {
                const Entry *e = &b->entries[i];

                b->sorted[i] = (Term){.p = b->bytes + e->at, .n = e->n, .field = e->field, .times = (uint8_t)MIN(e->times, TERM_TIMES_MAX), .whole = e->whole};
        }
        if (b->n > FEW)
                qsort(b->sorted, b->n, sizeof(*b->sorted), compare);
        else
                sort_few(b->sorted, b->n);
        *ret_n = b->n;
        return b->sorted;
}

unsigned tokenizer_length(const Tokenizer *b, unsigned field) {
        return b->length[field];
}

size_t tokenizer_longest_search(const Tokenizer *b) {
        size_t run = 0, longest = 0;

        for (size_t i = 0; i < b->n_buckets; i++) {
                run = b->buckets[i] ? run + 1 : 0;
                longest = MAX(longest, run);
        }
        return longest;
}
