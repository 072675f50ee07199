#include "index/rank.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#define KINDS_MAX 32

typedef struct Rank {
        Txn *txn;
        const RankQuery *query;
        IndexStats sums;               /* of all kinds */
        double grow[INDEX_FIELDS];     /* of the denominator, for each word */
        uint64_t must;                 /* bits of terms */
        size_t most;                   /* candidates wanted in this round */
        RankHit *hits;                 /* most + 1 */
        RankHit **heap;                /* the worst on top */
        size_t n;
        RankHit *spare;
        const uint8_t *ids, *ids_end;  /* the last row of ids and the position: numbers ascend */
        uint64_t ids_row;              /* 1 + the row's number, 0: none */
} Rank;

/* The sums of one chunk's documents so far. */
typedef struct Sums {
        double score[256];
        uint64_t terms[256];
        uint64_t there[4]; /* bits: documents with a term */
} Sums;

static bool sums_is_first(Sums *s, uint8_t low) {
        uint64_t bit = UINT64_C(1) << (low & 63), *word = &s->there[low >> 6];
        bool first = !(*word & bit);

        *word |= bit;
        return first;
}

static int sums_add_chunk(const Rank *k, const List *l, const Chunk *c, Sums *s) {
        double flat = RANK_K1 * (1 - RANK_B), grow = k->grow[l->field], w = l->weight;
        int before = -1;

        for (uint32_t i = 0; i < c->n; i++) {
                Posting p = posting_at(c->p, i);
                double add = w * p.times / (p.times + flat + grow * p.length);

                if (p.low <= before)
                        return -EUCLEAN;
                before = p.low;
                if (sums_is_first(s, p.low)) {
                        s->score[p.low] = add;
                        s->terms[p.low] = UINT64_C(1) << l->term;
                } else {
                        s->score[p.low] += add;
                        s->terms[p.low] |= UINT64_C(1) << l->term;
                }
        }
        return 0;
}

/* Is a worse than b? */
static bool hit_is_worse(const RankHit *a, const RankHit *b) {
        int r;

        if (a->score != b->score)
                return a->score < b->score;
        r = strcmp(a->id, b->id); /* empty before hit_read(): then by number */
        return r ? r > 0 : a->kind != b->kind ? a->kind > b->kind : a->number > b->number;
}

static void heap_sift_down(RankHit **heap, size_t n, size_t i) {
        for (size_t child; (child = 2 * i + 1) < n; i = child) {
                RankHit *mine = heap[i];

                if (child + 1 < n && hit_is_worse(heap[child + 1], heap[child]))
                        child++;
                if (!hit_is_worse(heap[child], mine))
                        return;
                heap[i] = heap[child];
                heap[child] = mine;
        }
}

static void heap_sift_up(RankHit **heap, size_t i) {
        for (size_t up; i > 0 && hit_is_worse(heap[i], heap[up = (i - 1) / 2]); i = up) {
                RankHit *mine = heap[i];

                heap[i] = heap[up];
                heap[up] = mine;
        }
}

static int hit_read(Rank *k, RankHit *hit) {
        uint64_t row = 1 + (hit->number >> 6);
        Bytes v;
        int r;

        if (k->ids_row != row) {
                uint8_t key[IDS_KEY_BYTES];

                ids_key(k->query->scope, hit->kind, hit->number, key);
                r = table_get(k->txn, TABLE_TERM, BYTES(key, sizeof(key)), &v);
                if (r < 0)
                        return r == -ENOENT ? -EUCLEAN : r;
                k->ids = v.p;
                k->ids_end = k->ids + v.n;
                k->ids_row = row;
        }
        r = ids_seek(&k->ids, k->ids_end, hit->number & IDS_LOW, &v);
        if (r < 0)
                return r;
        memcpy(hit->id, v.p, v.n);
        hit->id[v.n] = '\0';
        return 0;
}

static int rank_offer(Rank *k, uint8_t kind, uint64_t number, double score) {
        RankHit *hit = k->spare;
        int r;

        if (k->n == k->most && score < k->heap[0]->score)
                return 0;
        *hit->id = '\0';
        hit->kind = kind;
        hit->number = number;
        hit->score = score;
        r = hit_read(k, hit);
        if (r < 0)
                return r;
        if (k->n == k->most && hit_is_worse(hit, k->heap[0]))
                return 0;
        if (k->n < k->most) {
                k->heap[k->n] = hit;
                heap_sift_up(k->heap, k->n++);
                k->spare = hit + 1;
        } else {
                k->spare = k->heap[0];
                k->heap[0] = hit;
                heap_sift_down(k->heap, k->n, 0);
        }
        return 0;
}

static int rank_offer_chunk(Rank *k, uint8_t kind, uint64_t chunk, const Sums *s) {
        for (unsigned word = 0; word < 4; word++)
                for (uint64_t left = s->there[word]; left; left &= left - 1) {
                        unsigned low = word * 64 + (unsigned)__builtin_ctzll(left);
                        int r = (s->terms[low] & k->must) == k->must
                                        ? rank_offer(k, kind, chunk << 8 | low, s->score[low])
                                        : 0;

                        if (r < 0)
                                return r;
                }
        return 0;
}

/* The rarest list last: the lists before a list give the most that a document without this and later lists can get. */
static int list_by_weight(const void *a, const void *b) {
        const List *x = a, *y = b;

        if (x->weight != y->weight)
                return x->weight < y->weight ? -1 : 1;
        return x->term != y->term ? (int)x->term - (int)y->term : (int)x->field - (int)y->field;
}

/* The number of sorted lists that cannot bring in a document alone. */
static size_t rank_too_common(const Rank *k, const List *list, size_t n) {
        double sum = 0;
        size_t i = 0;

        if (k->n < k->most)
                return 0;
        /* Sums in another order may differ in the last digits: leave room. */
        while (i < n && (sum += list[i].weight) * (1 + 1e-9) < k->heap[0]->score)
                i++;
        return i;
}

/* The next chunk with a possible hit; `in` gets the chunk or NULL for each list. false: none. */
static bool rank_next_chunk(const Rank *k, Lists *l, size_t skip, uint64_t *at, const Chunk **in) {
        for (uint64_t least = 0; skip < l->n; *at = least + 1) {
                uint64_t has = 0;
                double sum = 0;
                bool any = false;

                for (size_t i = skip; i < l->n; i++) {
                        const Chunk *c = list_seek(&l->list[i], *at);

                        if (c && (!any || c->number < least))
                                least = c->number;
                        any |= c != NULL;
                }
                if (!any)
                        return false;
                for (size_t i = 0; i < l->n; i++) {
                        const Chunk *c = list_seek(&l->list[i], least);

                        in[i] = c && c->number == least ? c : NULL;
                        has |= in[i] ? UINT64_C(1) << l->list[i].term : 0;
                        sum += in[i] ? l->list[i].weight : 0;
                }
                if ((has & k->must) == k->must && (k->n < k->most || sum * (1 + 1e-9) >= k->heap[0]->score)) {
                        *at = least;
                        return true;
                }
        }
        return false;
}

static int rank_kind(Rank *k, uint8_t kind, Lists *l) {
        _cleanup_free_ const Chunk **in = calloc(l->n + 1, sizeof(*in));
        uint64_t at = 0;
        Sums s;
        int r = 0;

        if (!in)
                return -ENOMEM;
        k->ids_row = 0;
        for (size_t i = 0; i < l->n; i++)
                l->list[i].at = 0;
        for (; r == 0 && rank_next_chunk(k, l, rank_too_common(k, l->list, l->n), &at, in); at++) {
                memset(s.there, 0, sizeof(s.there));
                for (size_t i = 0; i < l->n && r == 0; i++)
                        r = in[i] ? sums_add_chunk(k, &l->list[i], in[i], &s) : 0;
                if (r == 0)
                        r = rank_offer_chunk(k, kind, at, &s);
        }
        return r;
}

static int rank_read_sums(Rank *k) {
        k->sums = (IndexStats){0};
        for (size_t i = 0; i < k->query->n_kinds; i++) {
                IndexStats s;
                int r = index_stats(k->txn, k->query->scope, k->query->kinds[i], &s);

                if (r < 0)
                        return r;
                k->sums.docs += s.docs;
                for (unsigned f = 0; f < INDEX_FIELDS; f++) {
                        k->sums.field[f].docs += s.field[f].docs;
                        k->sums.field[f].length += s.field[f].length;
                }
        }
        for (unsigned f = 0; f < INDEX_FIELDS; f++)
                if (k->sums.field[f].length > 0)
                        k->grow[f] = RANK_K1 * RANK_B * (double)k->sums.field[f].docs / (double)k->sums.field[f].length;
        return 0;
}

/* The weight of a term in a field is the same in all kinds. */
static void rank_weigh(const Rank *k, Lists *lists) {
        for (unsigned f = 0; f < INDEX_FIELDS; f++) {
                uint64_t df[RANK_TERMS_MAX] = {0};

                for (size_t i = 0; i < k->query->n_kinds; i++)
                        for (size_t j = 0; j < lists[i].n; j++)
                                if (lists[i].list[j].field == f)
                                        df[lists[i].list[j].term] += lists[i].list[j].df;
                for (size_t i = 0; i < k->query->n_kinds; i++)
                        for (size_t j = 0; j < lists[i].n; j++) {
                                List *l = &lists[i].list[j];
                                double n = (double)MAX(k->sums.docs, df[l->term]), with = (double)df[l->term];

                                if (l->field == f)
                                        l->weight = (RANK_K1 + 1) * log(1 + (n - with + 0.5) / (with + 0.5));
                        }
        }
}

static int hit_best_first(const void *a, const void *b) {
        const RankHit *x = *(RankHit *const *)a, *y = *(RankHit *const *)b;

        return hit_is_worse(x, y) ? 1 : hit_is_worse(y, x) ? -1 : 0;
}

/* Finds the best k->most hits of all kinds, sorted. */
static int rank_all(Rank *k, Lists *lists) {
        const RankQuery *q = k->query;
        int r = 0;

        k->n = 0;
        k->spare = k->hits;
        for (size_t i = 0; i < q->n_kinds && r == 0; i++)
                r = rank_kind(k, q->kinds[i], &lists[i]);
        if (k->n > 1)
                qsort(k->heap, k->n, sizeof(*k->heap), hit_best_first);
        return r;
}

/* Each round has eight times as many candidates as the round before, and begins with the same, judged ones. */
static int rank_accepted(Rank *k, Lists *lists, RankHit *ret, size_t *ret_n) {
        size_t wanted = k->query->most, taken = 0, judged = 0;
        bool enough = false;

        for (k->most = wanted;; k->most = MIN(8 * k->most, (size_t)k->sums.docs)) {
                _cleanup_free_ RankHit *hits = calloc(k->most + 1, sizeof(*hits)),
                                       **heap = calloc(k->most, sizeof(*heap));
                int r;

                if (!hits || !heap)
                        return -ENOMEM;
                k->hits = hits;
                k->heap = heap;
                r = rank_all(k, lists);
                for (; judged < k->n && taken < wanted && r >= 0 && !enough; judged++) {
                        r = k->query->accept ? k->query->accept(k->query->user, heap[judged]->kind,
                                                                heap[judged]->number, heap[judged]->id)
                                             : 1;
                        enough = r == RANK_ENOUGH;
                        if (r == 1)
                                ret[taken++] = *heap[judged];
                }
                if (r < 0)
                        return r;
                if (enough || taken == wanted || k->n < k->most || k->most >= k->sums.docs)
                        break;
        }
        *ret_n = taken;
        return 0;
}

static int rank_lists(Rank *k, Lists *lists, RankHit *ret, size_t *ret_n) {
        const RankQuery *q = k->query;
        int r = rank_read_sums(k);

        for (size_t i = 0; i < q->n_kinds && r == 0; i++) {
                r = lists_read(&lists[i], k->txn, q->scope, q->kinds[i], q->fields, q->terms, q->n_terms, 0);
                lists_complete(&lists[i]);
        }
        if (r < 0)
                return r;
        rank_weigh(k, lists);
        for (size_t i = 0; i < q->n_kinds; i++)
                if (lists[i].n > 1)
                        qsort(lists[i].list, lists[i].n, sizeof(*lists[i].list), list_by_weight);
        r = rank_accepted(k, lists, ret, ret_n);
        /* Read the sums once more, for a reader without LMDB's lock: a writer may have overwritten borrowed rows. */
        return r == 0 ? rank_read_sums(k) : r;
}

int rank_bm25(Txn *t, const RankQuery *q, RankHit *ret, size_t *ret_n) {
        Rank k = {.txn = t, .query = q};
        Lists lists[KINDS_MAX] = {0};
        int r;

        assert(q->n_terms <= RANK_TERMS_MAX && q->n_kinds <= KINDS_MAX && q->most > 0);
        for (size_t i = 0; i < q->n_terms; i++)
                k.must |= q->terms[i].must ? UINT64_C(1) << i : 0;
        r = rank_lists(&k, lists, ret, ret_n);
        for (size_t i = 0; i < q->n_kinds; i++)
                lists_deinit(&lists[i]);
        return r;
}

int prefix_scan(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *begin, size_t n, RankTerm *ret,
                size_t most, size_t *ret_n) {
        uint8_t k[TERM_KEY_MAX];
        size_t head = term_key(scope, kind, field, begin, n, k) - n - 1, found = 0;
        Bytes prefix = BYTES(k, head + n), key, v;
        _cleanup_cursor_ Cursor *c = NULL;
        int r = cursor_open(t, TABLE_TERM, prefix, &c);

        while (r == 0 && found < most && (r = cursor_next(c, &key, &v)) == 0 && bytes_begin(key, prefix)) {
                const char *term = (const char *)key.p + head;
                size_t bytes = key.n < head + 1 + 8 ? 0 : key.n - head - 1 - 8;

                if (bytes < n || bytes > TERM_BYTES_MAX)
                        return -EUCLEAN;
                if (found == 0 || ret[found - 1].n != bytes || memcmp(ret[found - 1].p, term, bytes) != 0)
                        ret[found++] = (RankTerm){.p = term, .n = (uint8_t)bytes};
        }
        *ret_n = found;
        return r == -ENOENT ? 0 : r;
}
