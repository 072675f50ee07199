#include "belief/touched.h"

#include "belief/concern.h"
#include "index/index.h"
#include "index/lexicon.h"
#include "engine/known-names.h"

#include <errno.h>
#include <string.h>

/* Items that share the same terms with the row. Such items are mostly alike, so a few are enough: first the shortest,
 * because every further word speaks against the row, then the oldest. Unread terms of the index count as shared. */
#define EACH_MOST 4
typedef struct TouchedGroup {
        uint64_t terms;
        double most; /* the row's highest possible score for an item with these terms */
        uint64_t ids[EACH_MOST];
        uint16_t length[EACH_MOST];
        size_t n;
} TouchedGroup;

#define KNOWN 256

typedef struct TouchedSearch {
        Lexicon *lexicon;
        const BucketRow *now, *was; /* was: may be NULL */
        uint32_t number[RANK_TERMS_MAX]; /* of each bit, in the lexicon */
        RankTerm terms[RANK_TERMS_MAX];
        size_t n_words, n; /* n_words words, then names of the row */
        uint8_t *there;    /* by number: 0 for asked terms that the item lacks */
        double least;
        bool weighed; /* the lexicon has weights for all terms of the row */
        TouchedGroup groups[TOUCHED_SHARING_MOST];
        size_t n_groups;
        Touched *found; /* borrowed: the items that have the row as a candidate, to be completed */
        size_t n_looked; /* items of `found` that lie behind the walk */
        struct {
                uint64_t terms;
                double most;
                bool known;
        } known[KNOWN];
} TouchedSearch;

static bool touched_is_asked(const TouchedSearch *k, uint32_t number) {
        for (size_t i = 0; i < k->n_words; i++)
                if (k->number[i] == number)
                        return true;
        return false;
}

#define WORDS_MOST (RANK_TERMS_MAX - 8)

/* The title's words come first. Words beyond the limit count as shared. */
static void touched_ask(TouchedSearch *k, const uint32_t *numbers, size_t n) {
        for (size_t i = 0; i < n && k->n_words < WORDS_MOST; i++)
                if (!touched_is_asked(k, numbers[i]))
                        k->number[k->n_words++] = numbers[i];
}

static void touched_ask_naming(TouchedSearch *k, const Naming *x) {
        touched_ask(k, x->words, x->n_words);
        touched_ask(k, x->area, x->n_area);
}

static void touched_ask_row(TouchedSearch *k, const BucketRow *row) {
        if (!row)
                return;
        touched_ask_naming(k, &row->evidence.naming);
        for (size_t i = 0; i < row->evidence.n_memory; i++)
                touched_ask_naming(k, &row->evidence.memory[i]);
}

/* Adds the names of the row in a text: its id, and its hash in any length that a person may write. */
static int touched_ask_names(TouchedSearch *k, const Bucket *b, const char *id) {
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

static int touched_weigh_row(Lexicon *l, const BucketRow *row) {
        int r = row ? naming_weigh(l, &row->evidence.naming) : 0;

        for (size_t i = 0; row && r == 0 && i < row->evidence.n_memory; i++)
                r = naming_weigh(l, &row->evidence.memory[i]);
        return r;
}

static double touched_row_score(const TouchedSearch *k, const BucketRow *row) {
        Likeness like;

        if (!row)
                return 0;
        like = likeness_most(k->lexicon, k->there, &row->evidence.naming, row->evidence.memory, row->evidence.n_memory);
        return resolve_score(
                &(ResolveCandidate){.overlap = like.overlap, .alias = like.alias, .reference = like.reference});
}

static double touched_best_score(TouchedSearch *k, uint64_t terms) {
        size_t at = (size_t)((terms * UINT64_C(0x9e3779b97f4a7c15)) >> 56) % KNOWN;
        double most;

        if (k->known[at].known && k->known[at].terms == terms)
                return k->known[at].most;
        for (size_t i = 0; i < k->n_words; i++)
                k->there[k->number[i]] = terms >> i & 1;
        most = MAX(touched_row_score(k, k->now), touched_row_score(k, k->was));
        if (k->n > k->n_words && terms >> k->n_words) /* a name of the row */
                most = 1;
        k->known[at].known = true;
        k->known[at].terms = terms;
        k->known[at].most = most;
        return most;
}

static bool touched_is_better(double most, uint64_t terms, const TouchedGroup *g) {
        return most != g->most ? most > g->most : terms < g->terms;
}

static void touched_keep(TouchedGroup *g, uint64_t id, uint16_t length) {
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

static void touched_note_terms(TouchedSearch *k, uint64_t id, uint64_t terms) {
        Touched *t = k->found;

        while (k->n_looked < t->n && t->ids[k->n_looked] < id)
                k->n_looked++;
        if (k->n_looked < t->n && t->ids[k->n_looked] == id)
                t->terms[k->n_looked] = terms;
}

/* The items come in the order of their numbers. */
static int touched_look(void *user, const RankOverlap *o) {
        uint64_t terms = o->terms[INDEX_TEXT] | o->unread;
        TouchedSearch *k = user;
        size_t at = 0;
        double most;
        int r = k->weighed ? 0 : touched_weigh_row(k->lexicon, k->now);

        if (r == 0 && !k->weighed)
                r = touched_weigh_row(k->lexicon, k->was);
        if (r < 0)
                return r;
        k->weighed = true;
        touched_note_terms(k, o->number, terms);
        while (at < k->n_groups && k->groups[at].terms != terms)
                at++;
        if (at == k->n_groups) {
                most = touched_best_score(k, terms);
                if (most < k->least ||
                    (at == TOUCHED_SHARING_MOST && !touched_is_better(most, terms, &k->groups[at - 1])))
                        return 0;
                at -= at == TOUCHED_SHARING_MOST;
                k->n_groups = at + 1;
                for (; at > 0 && touched_is_better(most, terms, &k->groups[at - 1]); at--)
                        k->groups[at] = k->groups[at - 1];
                k->groups[at] = (TouchedGroup){.terms = terms, .most = most};
        }
        touched_keep(&k->groups[at], o->number, o->length[INDEX_TEXT]);
        return 0;
}

static void touched_add(Touched *ret, uint64_t id, bool had, uint64_t terms) {
        size_t at = ret->n;

        for (size_t i = 0; i < ret->n; i++)
                if (ret->ids[i] == id)
                        return;
        for (ret->n++; at > 0 && ret->ids[at - 1] > id; at--) {
                ret->ids[at] = ret->ids[at - 1];
                ret->had[at] = ret->had[at - 1];
                ret->terms[at] = ret->terms[at - 1];
        }
        ret->ids[at] = id;
        ret->had[at] = had;
        ret->terms[at] = terms;
}

/* Takes the items of the best groups first. */
static void touched_take(const TouchedSearch *k, Touched *ret) {
        size_t left = TOUCHED_SHARING_MOST;

        for (size_t g = 0; g < k->n_groups; g++)
                for (size_t i = 0; i < k->groups[g].n && left > 0; i++, left--)
                        touched_add(ret, k->groups[g].ids[i], false, k->groups[g].terms);
}

static int touched_find_sharing(Bucket *b, Lexicon *l, TouchedSearch *k, const char *id, Touched *ret) {
        int r;

        touched_ask_row(k, k->now);
        touched_ask_row(k, k->was);
        for (size_t i = 0; i < k->n_words; i++) {
                size_t n;

                k->terms[i].p = lexicon_term(l, k->number[i], &n);
                k->terms[i].n = (uint8_t)n;
        }
        r = touched_ask_names(k, b, id);
        if (r < 0 || k->n == 0)
                return r;
        k->found = ret;
        k->there = malloc(lexicon_terms(l));
        if (!k->there)
                return -ENOMEM;
        memset(k->there, 1, lexicon_terms(l));
        r = wait_sharing(b->txn, b->scope, b->kind, k->terms, k->n, touched_look, k);
        free(k->there);
        touched_take(k, ret);
        return r;
}

int touched_find(Bucket *b, const char *id, const BucketRow *was, const ResolvePolicy *policy, Touched *ret) {
        /* these items are blocked: any shared word is enough */
        bool fixed = b->kind == KIND_PLAN || b->kind == KIND_TASK_STATE;
        TouchedSearch k = {.was = was, .least = fixed ? 0 : concern_least(!was, policy)};
        uint64_t having[WAIT_HAVING_MOST];
        size_t n = 0;
        Lexicon *l;
        int r = wait_having(b->txn, b->scope, b->kind, id, having, &n);

        *ret = (Touched){0};
        for (size_t i = 0; r == 0 && i < n; i++)
                touched_add(ret, having[i], true, 0);
        if (r == 0)
                r = bucket_lexicon(b, &l);
        if (r > 0)
                r = bucket_row(b, id, &k.now);
        else
                return r;
        k.lexicon = l;
        if (r == 0)
                r = touched_find_sharing(b, l, &k, id, ret);
        return r == -ENOENT ? -EUCLEAN : r;
}
