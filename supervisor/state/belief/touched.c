#include "belief/touched.h"

#include "belief/concern.h"
#include "index/index.h"
#include "index/lexicon.h"
#include "engine/refmem.h"

#include <errno.h>
#include <string.h>

/* Those that share the same words (and those that may, where not all of the index was looked at) are mostly alike: few of them are enough. The shortest, as
 * whatever else they say speaks against the row, and then the oldest. */
#define EACH_MOST 4
typedef struct Group {
        uint64_t terms;
        double most; /* that the row can score for them */
        uint64_t ids[EACH_MOST];
        uint16_t length[EACH_MOST];
        size_t n;
} Group;

#define KNOWN 256

typedef struct Looking {
        Lexicon *lexicon;
        const BucketRow *now, *was; /* was: or NULL */
        uint32_t number[RANK_TERMS_MAX]; /* of each bit, in the lexicon */
        RankTerm terms[RANK_TERMS_MAX];
        size_t n_words, n; /* behind the words: names of the row */
        uint8_t *there;    /* by number: what is not asked for may be there */
        double least;
        bool weighed; /* the lexicon has what all of them weigh */
        Group groups[TOUCHED_SHARING_MOST];
        size_t n_groups;
        struct {
                uint64_t terms;
                double most;
                bool known;
        } known[KNOWN];
} Looking;

static bool is_asked(const Looking *k, uint32_t number) {
        for (size_t i = 0; i < k->n_words; i++)
                if (k->number[i] == number)
                        return true;
        return false;
}

#define WORDS_MOST (RANK_TERMS_MAX - 8)

/* Those that come first are of the title; who has more words than that may have the others, as far as anybody knows. */
static void ask(Looking *k, const uint32_t *numbers, size_t n) {
        for (size_t i = 0; i < n && k->n_words < WORDS_MOST; i++)
                if (!is_asked(k, numbers[i]))
                        k->number[k->n_words++] = numbers[i];
}

static void ask_naming(Looking *k, const Naming *x) {
        ask(k, x->words, x->n_words);
        ask(k, x->area, x->n_area);
}

static void ask_row(Looking *k, const BucketRow *row) {
        if (!row)
                return;
        ask_naming(k, &row->evidence.naming);
        for (size_t i = 0; i < row->evidence.n_memory; i++)
                ask_naming(k, &row->evidence.memory[i]);
}

/* Words by which a text names the row: its id, and its hash as long or as short as people write it. */
static int ask_names(Looking *k, const Bucket *b, const char *id) {
        const char *hash;
        size_t n;
        int r;

        k->n = k->n_words;
        if (strchr(id, '_'))
                k->terms[k->n++] = (RankTerm){.p = id, .n = (uint8_t)strlen(id)};
        if (refmem_hash(id, &hash) == 0)
                return 0;
        r = wait_words(b->txn, b->scope, b->kind, hash, REFMEM_HASH_LEAST, &k->terms[k->n], RANK_TERMS_MAX - k->n, &n);
        k->n += r == 0 ? n : 0;
        return r;
}

static int weigh(Lexicon *l, const Naming *x) {
        int r = lexicon_weigh(l, x->area, x->n_area);

        if (r == 0)
                r = lexicon_weigh(l, x->words, x->n_words);
        return r == 0 && x->lead != LEAD_NONE ? lexicon_weigh(l, &x->lead_word, 1) : r;
}

static int weigh_row(Lexicon *l, const BucketRow *row) {
        int r = row ? weigh(l, &row->evidence.naming) : 0;

        for (size_t i = 0; row && r == 0 && i < row->evidence.n_memory; i++)
                r = weigh(l, &row->evidence.memory[i]);
        return r;
}

static double most_of(const Looking *k, const BucketRow *row) {
        Likeness like;

        if (!row)
                return 0;
        like = likeness_most(k->lexicon, k->there, &row->evidence.naming, row->evidence.memory, row->evidence.n_memory);
        return resolve_score(&(ResolveCandidate){.overlap = like.overlap, .alias = like.alias, .reference = like.reference});
}

static double score_most(Looking *k, uint64_t terms) {
        size_t at = (size_t)((terms * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % KNOWN;
        double most;

        if (k->known[at].known && k->known[at].terms == terms)
                return k->known[at].most;
        for (size_t i = 0; i < k->n_words; i++)
                k->there[k->number[i]] = terms >> i & 1;
        most = k->n > k->n_words && terms >> k->n_words ? 1 : MAX(most_of(k, k->now), most_of(k, k->was));
        k->known[at].known = true;
        k->known[at].terms = terms;
        k->known[at].most = most;
        return most;
}

static bool is_better(double most, uint64_t terms, const Group *g) {
        return most != g->most ? most > g->most : terms < g->terms;
}

static void keep(Group *g, uint64_t id, uint16_t length) {
        size_t at = g->n;

        if (at == EACH_MOST && length >= g->length[at - 1])
                return;
        at -= at == EACH_MOST;
        g->n = at + 1;
        for (; at > 0 && length < g->length[at - 1]; at--) {
                g->ids[at] = g->ids[at - 1];
                g->length[at] = g->length[at - 1];
        }
        g->ids[at] = id;
        g->length[at] = length;
}

/* They come in order of their numbers. */
static int look(void *user, const RankOverlap *o) {
        uint64_t terms = o->terms[INDEX_TEXT] | o->unread;
        Looking *k = user;
        size_t at = 0;
        double most;
        int r = k->weighed ? 0 : weigh_row(k->lexicon, k->now);

        if (r == 0 && !k->weighed)
                r = weigh_row(k->lexicon, k->was);
        if (r < 0)
                return r;
        k->weighed = true;
        while (at < k->n_groups && k->groups[at].terms != terms)
                at++;
        if (at == k->n_groups) {
                most = score_most(k, terms);
                if (most < k->least || (at == TOUCHED_SHARING_MOST && !is_better(most, terms, &k->groups[at - 1])))
                        return 0;
                at -= at == TOUCHED_SHARING_MOST;
                k->n_groups = at + 1;
                for (; at > 0 && is_better(most, terms, &k->groups[at - 1]); at--)
                        k->groups[at] = k->groups[at - 1];
                k->groups[at] = (Group){.terms = terms, .most = most};
        }
        keep(&k->groups[at], o->number, o->length[INDEX_TEXT]);
        return 0;
}

static void add(Touched *ret, uint64_t id, bool had) {
        size_t at = ret->n;

        for (size_t i = 0; i < ret->n; i++)
                if (ret->ids[i] == id)
                        return;
        for (ret->n++; at > 0 && ret->ids[at - 1] > id; at--) {
                ret->ids[at] = ret->ids[at - 1];
                ret->had[at] = ret->had[at - 1];
        }
        ret->ids[at] = id;
        ret->had[at] = had;
}

/* The best groups first. */
static void take(const Looking *k, Touched *ret) {
        size_t left = TOUCHED_SHARING_MOST;

        for (size_t g = 0; g < k->n_groups; g++)
                for (size_t i = 0; i < k->groups[g].n && left > 0; i++, left--)
                        add(ret, k->groups[g].ids[i], false);
}

static int find_sharing(Bucket *b, Lexicon *l, Looking *k, const char *id, Touched *ret) {
        int r;

        ask_row(k, k->now);
        ask_row(k, k->was);
        for (size_t i = 0; i < k->n_words; i++) {
                size_t n;

                k->terms[i].p = lexicon_term(l, k->number[i], &n);
                k->terms[i].n = (uint8_t)n;
        }
        r = ask_names(k, b, id);
        if (r < 0 || k->n == 0)
                return r;
        k->there = malloc(lexicon_terms(l));
        if (!k->there)
                return -ENOMEM;
        memset(k->there, 1, lexicon_terms(l));
        r = wait_sharing(b->txn, b->scope, b->kind, k->terms, k->n, look, k);
        free(k->there);
        take(k, ret);
        return r;
}

int touched_find(Bucket *b, const char *id, const BucketRow *was, const ResolvePolicy *policy, Touched *ret) {
        bool fixed = b->kind == KIND_PLAN || b->kind == KIND_TASK_STATE; /* blocked ones: any word will do */
        Looking k = {.was = was, .least = fixed ? 0 : concern_least(!was, policy)};
        uint64_t having[WAIT_HAVING_MOST];
        size_t n = 0;
        Lexicon *l;
        int r = wait_having(b->txn, b->scope, b->kind, id, having, &n);

        *ret = (Touched){0};
        for (size_t i = 0; r == 0 && i < n; i++)
                add(ret, having[i], true);
        if (r == 0)
                r = bucket_lexicon(b, &l);
        if (r > 0)
                r = bucket_row(b, id, &k.now);
        else
                return r;
        k.lexicon = l;
        if (r == 0)
                r = find_sharing(b, l, &k, id, ret);
        return r == -ENOENT ? -EUCLEAN : r;
}
