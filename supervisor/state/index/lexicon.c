#include "index/lexicon.h"

#include "base/hash.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

static const struct {
        Lead lead;
        const char *words;
} leads[] = {
        {LEAD_MAKES, "add support introduce implement enable allow create provide define extend"},
        {LEAD_CHANGES,
         "update rework refactor use improve optimize replace change make move convert set rename unify simplify"},
        {LEAD_MENDS,
         "fix remove revert drop document announce clean cleanup avoid correct disable silence workaround deprecate "
                     "delete resolve close"},
};

/* Words about faults and fixes, and words of every text. */
static const char any_note[] =
        "fix fixed resolve resolved solve close closed done issue bug problem error failure patch commit wrong missing "
        "incorrect invalid possible potential earlier previous former again anymore longer now works "
        "a an and are as at be been being but by can could did do does for from had has have if in into is it its may "
        "might must no not of on or our shall should so some such than that the their them then there these they this "
        "those to was we were what when where which while who will with would you also only";

/* The stems of all listed words, sorted. Computed once: the stemming takes longer than the judgement of a request. */
#define KNOWN_MOST 192
#define KNOWN_BYTES 16
typedef struct KnownWord {
        char term[KNOWN_BYTES];
        uint8_t n;
        uint8_t lead;
        bool any;
} KnownWord;
static KnownWord known[KNOWN_MOST];
static size_t n_known;
static int known_error;
static pthread_once_t known_once = PTHREAD_ONCE_INIT;

static int lexicon_known_compare(const void *a, const void *b) {
        const KnownWord *x = a, *y = b;
        int r = memcmp(x->term, y->term, MIN(x->n, y->n));

        return r ? r : (int)x->n - (int)y->n;
}

static int lexicon_learn(Tokenizer *bag, const char *text, Lead lead) {
        const Term *sorted;
        size_t n;
        int r;

        tokenizer_clear(bag);
        r = tokenizer_add(bag, 0, text, strlen(text));
        sorted = r == 0 ? tokenizer_sorted(bag, &n) : NULL;
        if (!sorted)
                return r < 0 ? r : -ENOMEM;
        for (size_t i = 0; i < n; i++) {
                size_t k = 0;

                while (k < n_known &&
                       (known[k].n != sorted[i].n || memcmp(known[k].term, sorted[i].p, sorted[i].n) != 0))
                        k++;
                assert(k < KNOWN_MOST && sorted[i].n <= KNOWN_BYTES);
                n_known = MAX(n_known, k + 1);
                known[k].n = sorted[i].n;
                memcpy(known[k].term, sorted[i].p, sorted[i].n);
                if (lead == LEAD_NONE)
                        known[k].any = true;
                else
                        known[k].lead = (uint8_t)lead;
        }
        return 0;
}

static void lexicon_learn_all(void) {
        _cleanup_tokenizer_ Tokenizer *bag = NULL;
        int r = tokenizer_new(&bag);

        for (size_t i = 0; r == 0 && i < ARRAY_SIZE(leads); i++)
                r = lexicon_learn(bag, leads[i].words, leads[i].lead);
        if (r == 0)
                r = lexicon_learn(bag, any_note, LEAD_NONE);
        qsort(known, n_known, sizeof(*known), lexicon_known_compare);
        known_error = r;
}

typedef struct LexiconEntry {
        char *term;
        uint8_t n;
        uint8_t lead; /* Lead */
        bool any;     /* a word of every note */
        uint64_t asked; /* round of the last count */
        uint64_t rows;  /* rows with the term, by the last count */
} LexiconEntry;

struct Lexicon {
        LexiconCount count;
        void *userdata;
        Tokenizer *bag; /* own_bag, or lent */
        Tokenizer *own_bag;
        LexiconEntry *entries;
        double *weights;
        uint32_t n;
        uint32_t *buckets; /* number plus 1, 0: free; a power of two, at most half used */
        size_t n_buckets;
        uint64_t rows, round;
};

void lexicon_free(Lexicon *l) {
        if (!l)
                return;
        tokenizer_free(l->own_bag);
        for (uint32_t i = 0; i < l->n; i++)
                free(l->entries[i].term);
        free(l->entries);
        free(l->weights);
        free(l->buckets);
        free(l);
}

static size_t lexicon_bucket(const Lexicon *l, const char *term, size_t n) {
        return siphash(0, term, n) & (l->n_buckets - 1);
}

static int lexicon_more_buckets(Lexicon *l) {
        size_t n = l->n_buckets ? 2 * l->n_buckets : 128;
        uint32_t *p = calloc(n, sizeof(*p));

        if (!p)
                return -ENOMEM;
        free(l->buckets);
        l->buckets = p;
        l->n_buckets = n;
        for (uint32_t i = 0; i < l->n; i++) {
                size_t k = lexicon_bucket(l, l->entries[i].term, l->entries[i].n);

                while (p[k])
                        k = (k + 1) & (n - 1);
                p[k] = i + 1;
        }
        return 0;
}

static int lexicon_number(Lexicon *l, const char *term, size_t n, uint32_t *ret) {
        size_t k;
        char *copy;
        int r;

        if (2 * ((size_t)l->n + 1) > l->n_buckets && (r = lexicon_more_buckets(l)) < 0)
                return r;
        for (k = lexicon_bucket(l, term, n); l->buckets[k]; k = (k + 1) & (l->n_buckets - 1)) {
                const LexiconEntry *e = &l->entries[l->buckets[k] - 1];

                if (e->n == n && memcmp(e->term, term, n) == 0) {
                        *ret = l->buckets[k] - 1;
                        return 0;
                }
        }
        if (!GROW(l->entries, l->n) || !GROW(l->weights, l->n))
                return -ENOMEM;
        copy = malloc(n);
        if (!copy)
                return -ENOMEM;
        memcpy(copy, term, n);
        l->entries[l->n] = (LexiconEntry){.term = copy, .n = (uint8_t)n};
        if (n <= KNOWN_BYTES) {
                KnownWord key = {.n = (uint8_t)n}, *found;

                memcpy(key.term, term, n);
                found = bsearch(&key, known, n_known, sizeof(*known), lexicon_known_compare);
                l->entries[l->n].lead = found ? found->lead : LEAD_NONE;
                l->entries[l->n].any = found && found->any;
        }
        l->weights[l->n] = 0;
        *ret = l->n++;
        l->buckets[k] = l->n;
        return 0;
}

static int lexicon_ascending(const void *a, const void *b) {
        uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

        return x < y ? -1 : x > y;
}

int lexicon_read(Lexicon *l, const char *text, size_t n, LexiconTake take, uint32_t **ret, size_t *ret_n) {
        _cleanup_free_ uint32_t *numbers = NULL;
        const Term *sorted;
        size_t n_terms, kept = 0;
        int r;

        *ret = NULL;
        *ret_n = 0;
        if (n == 0)
                return 0;
        tokenizer_clear(l->bag);
        r = tokenizer_add(l->bag, 0, text, n);
        if (r < 0)
                return r;
        sorted = tokenizer_sorted(l->bag, &n_terms);
        if (!sorted)
                return -ENOMEM;
        numbers = malloc((n_terms + 1) * sizeof(*numbers));
        if (!numbers)
                return -ENOMEM;
        for (size_t i = 0; i < n_terms; i++) {
                if (sorted[i].whole)
                        continue;
                r = lexicon_number(l, sorted[i].p, sorted[i].n, &numbers[kept]);
                if (r < 0)
                        return r;
                kept += take == LEXICON_ALL || !l->entries[numbers[kept]].any;
        }
        if (kept == 0)
                return 0;
        qsort(numbers, kept, sizeof(*numbers), lexicon_ascending);
        *ret = TAKE_PTR(numbers);
        *ret_n = kept;
        return 0;
}

int lexicon_lead(Lexicon *l, const char *word, size_t n, Lead *ret, uint32_t *ret_number) {
        _cleanup_free_ uint32_t *numbers = NULL;
        size_t k;
        int r = lexicon_read(l, word, n, LEXICON_ALL, &numbers, &k);

        *ret = LEAD_NONE;
        if (r < 0 || k != 1)
                return r;
        *ret = (Lead)l->entries[numbers[0]].lead;
        *ret_number = numbers[0];
        return 0;
}

int lexicon_new(LexiconCount count, void *userdata, Tokenizer *lent, Lexicon **ret) {
        _cleanup_lexicon_ Lexicon *l = NULL;
        int r;

        pthread_once(&known_once, lexicon_learn_all);
        l = known_error ? NULL : calloc(1, sizeof(*l));
        if (!l)
                return -ENOMEM;
        l->count = count;
        l->userdata = userdata;
        l->round = 1;
        r = lent ? 0 : tokenizer_new(&l->own_bag);
        if (r < 0)
                return r;
        l->bag = lent ?: l->own_bag;
        *ret = TAKE_PTR(l);
        return 0;
}

void lexicon_rows(Lexicon *l, uint64_t rows) {
        l->rows = rows;
        l->round++;
}

uint32_t lexicon_terms(const Lexicon *l) {
        return l->n;
}

const double *lexicon_weights(const Lexicon *l) {
        return l->weights;
}

uint64_t lexicon_rows_with(const Lexicon *l, uint32_t term) {
        return l->entries[term].rows;
}

bool lexicon_tells(const Lexicon *l, uint32_t term) {
        return !l->entries[term].any;
}

const char *lexicon_term(const Lexicon *l, uint32_t term, size_t *ret_n) {
        *ret_n = l->entries[term].n;
        return l->entries[term].term;
}

int lexicon_compare(const Lexicon *l, uint32_t a, uint32_t b) {
        const LexiconEntry *x = &l->entries[a], *y = &l->entries[b];
        int r = memcmp(x->term, y->term, MIN(x->n, y->n));

        return r ? r : (int)x->n - (int)y->n;
}

/* ln(1 + (rows without the term + 1/2) / (rows with the term + 1/2)): always above 0. */
static double lexicon_weight(uint64_t rows, uint64_t with) {
        double without = rows > with ? (double)(rows - with) : 0;

        return log(1 + (without + 0.5) / ((double)with + 0.5));
}

double lexicon_most(const Lexicon *l) {
        return log(1 + (double)l->rows);
}

int lexicon_weigh(Lexicon *l, const uint32_t *terms, size_t n) {
        for (size_t i = 0; i < n; i++) {
                LexiconEntry *e = &l->entries[terms[i]];
                uint64_t with = 0;
                int r;

                if (e->asked == l->round)
                        continue;
                r = l->count(l->userdata, terms[i], e->term, e->n, &with);
                if (r < 0)
                        return r;
                l->weights[terms[i]] = lexicon_weight(l->rows, with);
                e->rows = with;
                e->asked = l->round;
        }
        return 0;
}
