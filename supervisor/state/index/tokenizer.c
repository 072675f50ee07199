#include "index/tokenizer.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

/* Snowball's English stemmer, without the other languages. The entry of libstemmer.h uses a table of all languages, and
 * each start of `lethe` would relocate the table: 0.13 ms, a tenth of an invocation's limit. So the archive's functions
 * of the English stemmer are called directly. Only the beginning of the struct is used, equal in all of Snowball's C.
 * tests/state/engine/test-terms.c compares the results with libstemmer.h. */
typedef struct SN_env {
        unsigned char *p; /* the word, and after english_UTF_8_stem() the stem */
        int c;
        int l;            /* length */
} Stemmer;

Stemmer *english_UTF_8_create_env(void);
void english_UTF_8_close_env(Stemmer *z);
int english_UTF_8_stem(Stemmer *z);                                       /* below 0: no memory */
int SN_set_current(Stemmer *z, int size, const unsigned char *word);      /* -1: no memory */

typedef struct BagEntry {
        uint32_t at; /* in bytes */
        uint32_t hash;
        uint32_t times;
        uint8_t n, field;
        bool whole;
} BagEntry;

/* Words repeat, and a search here is faster than the stemmer. */
#define STEMS 512
#define STEM_BYTES 15
typedef struct KnownStem {
        char word[STEM_BYTES], stem[STEM_BYTES];
        uint8_t n_word, n_stem; /* n_word 0: free */
} KnownStem;

struct Tokenizer {
        Stemmer *stemmer;
        KnownStem *stems; /* by hash of the word, the last word wins; NULL: no tokenizer_keep_stems() */
        char *bytes;
        size_t n_bytes, room_bytes;
        BagEntry *entries;
        size_t n, room;
        uint32_t *buckets; /* index of an entry plus 1, 0: free; a power of two, at most half used */
        size_t n_buckets;
        Term *sorted;
        size_t room_sorted;
        unsigned length[TERMS_FIELDS];
};

int tokenizer_new(Tokenizer **ret) {
        _cleanup_tokenizer_ Tokenizer *bag = calloc(1, sizeof(*bag));

        if (!bag)
                return -ENOMEM;
        bag->stemmer = english_UTF_8_create_env();
        if (!bag->stemmer)
                return -ENOMEM;
        *ret = TAKE_PTR(bag);
        return 0;
}

void tokenizer_free(Tokenizer *bag) {
        if (!bag)
                return;
        if (bag->stemmer)
                english_UTF_8_close_env(bag->stemmer);
        free(bag->stems);
        free(bag->bytes);
        free(bag->entries);
        free(bag->buckets);
        free(bag->sorted);
        free(bag);
}

int tokenizer_keep_stems(Tokenizer *bag) {
        bag->stems = bag->stems ?: calloc(STEMS, sizeof(*bag->stems));
        return bag->stems ? 0 : -ENOMEM;
}

void tokenizer_clear(Tokenizer *bag) {
        if (bag->n > 0)
                memset(bag->buckets, 0, bag->n_buckets * sizeof(*bag->buckets));
        memset(bag->length, 0, sizeof(bag->length));
        bag->n = bag->n_bytes = 0;
}

/* Gives *p room for at least `need` elements. */
static int bag_grow(void *p, size_t *room, size_t need, size_t size) {
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

static int bag_more_buckets(Tokenizer *bag) {
        size_t n = bag->n_buckets ? 2 * bag->n_buckets : 256;
        uint32_t *p = calloc(n, sizeof(*p));

        if (!p)
                return -ENOMEM;
        free(bag->buckets);
        bag->buckets = p;
        bag->n_buckets = n;
        for (size_t i = 0; i < bag->n; i++) {
                size_t k = bag->entries[i].hash & (n - 1);

                while (p[k])
                        k = (k + 1) & (n - 1);
                p[k] = (uint32_t)i + 1;
        }
        return 0;
}

static int bag_add(Tokenizer *bag, unsigned field, const char *p, size_t n, bool whole) {
        uint32_t h = (uint32_t)siphash(field, p, n);
        size_t k;
        BagEntry *e;
        int r;

        if (2 * (bag->n + 1) > bag->n_buckets && (r = bag_more_buckets(bag)) < 0)
                return r;
        for (k = h & (bag->n_buckets - 1); bag->buckets[k]; k = (k + 1) & (bag->n_buckets - 1)) {
                e = &bag->entries[bag->buckets[k] - 1];
                if (e->hash == h && e->field == field && e->n == n && memcmp(bag->bytes + e->at, p, n) == 0) {
                        e->times++;
                        e->whole &= whole;
                        return 0;
                }
        }
        r = bag_grow(&bag->entries, &bag->room, bag->n + 1, sizeof(*bag->entries))
                ?: bag_grow(&bag->bytes, &bag->room_bytes, bag->n_bytes + n, 1);
        if (r < 0)
                return r;
        memcpy(bag->bytes + bag->n_bytes, p, n);
        bag->entries[bag->n] = (BagEntry){.at = (uint32_t)bag->n_bytes, .hash = h, .times = 1, .n = (uint8_t)n,
                                          .field = (uint8_t)field, .whole = whole};
        bag->n_bytes += n;
        bag->buckets[k] = (uint32_t)++bag->n;
        return 0;
}

typedef struct Stem {
        char p[TERM_BYTES_MAX];
        size_t n;
} Stem;

/* Colliding words push each other out, at no more than the cost of the stemming: an attacker gains nothing by chosen
 * words. */
static size_t stem_slot(const char *p, size_t n) {
        uint64_t begin = 0, end = 0;

        memcpy(&begin, p, MIN(n, sizeof(begin)));
        memcpy(&end, p + n - MIN(n, sizeof(end)), MIN(n, sizeof(end)));
        return (size_t)((begin ^ (end << 7 | n)) * UINT64_C(0x9E3779B97F4A7C15) >> 32) % STEMS;
}

/* The stem of a part, or of a whole of letters and digits: English letters alone are stemmed, and apostrophes are
 * dropped. */
static int stem_of(Tokenizer *bag, const char *p, size_t n, Stem *ret) {
        const char *word = p;
        size_t n_word = n;
        bool letters = n > 2;
        KnownStem *known;

        for (size_t i = 0; i < n && letters; i++)
                letters = (p[i] >= 'a' && p[i] <= 'z') || p[i] == '\'';
        known = letters && bag->stems && n <= STEM_BYTES ? &bag->stems[stem_slot(p, n)] : NULL;
        if (known && known->n_word == n && memcmp(known->word, p, n) == 0) {
                ret->n = known->n_stem;
                memcpy(ret->p, known->stem, known->n_stem);
                return 0;
        }
        if (letters) {
                if (SN_set_current(bag->stemmer, (int)n, (const unsigned char *)p) < 0 ||
                    english_UTF_8_stem(bag->stemmer) < 0)
                        return -ENOMEM;
                p = (const char *)bag->stemmer->p;
                n = MIN((size_t)bag->stemmer->l, sizeof(ret->p));
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

int tokenizer_stem(Tokenizer *bag, const char *word, size_t n, char ret[static TERM_BYTES_MAX + 1]) {
        Stem stem;
        int r = stem_of(bag, word, MIN(n, (size_t)TERM_BYTES_MAX), &stem);

        if (r == 0) {
                memcpy(ret, stem.p, stem.n);
                ret[stem.n] = 0;
        }
        return r;
}

static int bag_add_counted(Tokenizer *bag, unsigned field, const char *p, size_t n, bool whole) {
        if (n == 0)
                return 0;
        if (!whole && bag->length[field] < TERMS_LENGTH_MAX)
                bag->length[field]++;
        return bag_add(bag, field, p, n, whole);
}

/* The end of the part at i, in a piece without _: before a capital after another character, and before the last of
 * several capitals if a small letter follows. */
static size_t piece_part_end(const Word *w, size_t i, size_t end) {
        for (size_t k = i + 1; k < end; k++) {
                bool follows = w->kinds[k - 1] == WORD_UPPER;
                bool plural = k + 2 == end && w->p[k + 1] == 's'; /* "VFs" is the plural of VF */

                if (w->kinds[k] != WORD_UPPER || w->kinds[k - 1] == WORD_APOSTROPHE)
                        continue;
                if (!follows || (k + 1 < end && w->kinds[k + 1] == WORD_LOWER && !plural))
                        return k;
        }
        return end;
}

/* The end without a plural s ("VFs"). */
static size_t piece_without_plural(const Word *w, size_t at, size_t end) {
        bool plural = end - at > 2 && w->p[end - 1] == 's' && w->kinds[end - 1] == WORD_LOWER &&
                      w->kinds[end - 2] == WORD_UPPER;

        return plural ? end - 1 : end;
}

static bool piece_is_letter(const Word *w, size_t at, size_t end) {
        return end - at == 1 && w->kinds[at] != WORD_DIGIT;
}

/* Adds a piece of a word, without _. composed: the word has a whole, too. *ret_parts counts the added parts. The whole
 * piece in small letters is always among the terms, so a phrase finds the piece in any spelling. */
static int bag_add_piece(Tokenizer *bag, unsigned field, const Word *w, size_t at, size_t end, bool composed,
                         size_t *ret_parts) {
        bool several = piece_part_end(w, at, end) < end, same = false;
        Stem all, part;
        int r = stem_of(bag, w->p + at, end - at, &all);

        for (size_t i = at, stop, last; i < end && r == 0; i = stop) {
                stop = piece_part_end(w, i, end);
                /* A single letter of a composed word says nothing. */
                if ((several || composed) && piece_is_letter(w, i, stop))
                        continue;
                last = piece_without_plural(w, i, stop);
                if (i == at && last == end)
                        part = all;
                else
                        r = stem_of(bag, w->p + i, last - i, &part);
                if (r == 0)
                        r = bag_add_counted(bag, field, part.p, part.n, false);
                same = part.n == all.n && memcmp(part.p, all.p, all.n) == 0;
                (*ret_parts)++;
        }
        if (r < 0 || same || (!several && composed && piece_is_letter(w, at, end)))
                return r;
        r = bag_add_counted(bag, field, all.p, all.n, *ret_parts > 0);
        *ret_parts += *ret_parts == 0;
        return r;
}

static int bag_add_word(Tokenizer *bag, unsigned field, const Word *w) {
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
                        r = bag_add_piece(bag, field, w, i, stop, composed, &parts);
        }
        if (r < 0 || !composed)
                return r;
        return bag_add_counted(bag, field, w->p + first, end - first, parts > 0);
}

/* Words joined by single - and . */
typedef struct Chain {
        char p[TERM_BYTES_MAX];
        size_t n, words;
        bool digit, cut; /* cut: longer than p */
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

static int chain_end(Tokenizer *bag, unsigned field, Chain *c) {
        int r = c->words > 1 && c->digit && !c->cut ? bag_add(bag, field, c->p, c->n, true) : 0;

        chain_begin(c);
        return r;
}

int tokenizer_add(Tokenizer *bag, unsigned field, const char *text, size_t n) {
        size_t at = 0, end = 0;
        Chain chain; /* the bytes are not cleared */
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
                        r = chain_end(bag, field, &chain);
                chain_add(&chain, w.p, w.n);
                chain.words++;
                chain.digit |= memchr(w.kinds, WORD_DIGIT, w.n) != NULL;
                end = w.end;
                if (r == 0)
                        r = bag_add_word(bag, field, &w);
        }
        return r < 0 ? r : chain_end(bag, field, &chain);
}

int term_compare(const void *a, const void *b) {
        const Term *x = a, *y = b;
        int r;

        if (x->field != y->field)
                return x->field < y->field ? -1 : 1;
        r = memcmp(x->p, y->p, MIN(x->n, y->n));
        return r ? r : (int)x->n - (int)y->n;
}

/* The field and the first seven bytes, in the order of term_compare(): a difference here decides. */
static uint64_t bag_term_rank(const Term *t) {
        uint64_t v = t->field;

        for (size_t i = 0; i < 7; i++)
                v = v << 8 | (i < t->n ? (uint8_t)t->p[i] : 0);
        return v;
}

/* Most texts have few terms: insertion sort. */
#define FEW 48
static void bag_sort_few(Term *terms, size_t n) {
        uint64_t ranks[FEW];

        for (size_t i = 0; i < n; i++) {
                Term one = terms[i];
                uint64_t rank = bag_term_rank(&one);
                size_t k = i;

                for (;
                     k > 0 && (ranks[k - 1] > rank || (ranks[k - 1] == rank && term_compare(&terms[k - 1], &one) > 0));
                     k--) {
                        ranks[k] = ranks[k - 1];
                        terms[k] = terms[k - 1];
                }
                ranks[k] = rank;
                terms[k] = one;
        }
}

int tokenizer_take(Tokenizer *bag, const Term *t) {
        int r = bag_add(bag, t->field, t->p, t->n, t->whole);

        if (r == 0)
                bag->entries[bag->n - 1].times = t->times;
        return r;
}

void tokenizer_set_length(Tokenizer *bag, unsigned field, unsigned length) {
        bag->length[field] = length;
}

const Term *tokenizer_sorted(Tokenizer *bag, size_t *ret_n) {
        if (bag_grow(&bag->sorted, &bag->room_sorted, bag->n + 1, sizeof(*bag->sorted)) < 0)
                return NULL;
        for (size_t i = 0; i < bag->n; i++) {
                const BagEntry *e = &bag->entries[i];

                bag->sorted[i] = (Term){.p = bag->bytes + e->at, .n = e->n, .field = e->field,
                                        .times = (uint8_t)MIN(e->times, TERM_TIMES_MAX), .whole = e->whole};
        }
        if (bag->n > FEW)
                qsort(bag->sorted, bag->n, sizeof(*bag->sorted), term_compare);
        else
                bag_sort_few(bag->sorted, bag->n);
        *ret_n = bag->n;
        return bag->sorted;
}

unsigned tokenizer_length(const Tokenizer *bag, unsigned field) {
        return bag->length[field];
}

size_t tokenizer_longest_search(const Tokenizer *bag) {
        size_t run = 0, longest = 0;

        for (size_t i = 0; i < bag->n_buckets; i++) {
                run = bag->buckets[i] ? run + 1 : 0;
                longest = MAX(longest, run);
        }
        return longest;
}
