#include "index/rank.h"

#include <errno.h>
#include <string.h>

typedef struct Overlaps {
        RankOverlap doc[256];
        uint64_t there[4]; /* bits: documents with a term */
        uint64_t asked[4]; /* bits: documents to report */
} Overlaps;

static int overlap_ask_chunk(const Chunk *c, Overlaps *o) {
        int before = -1;

        memset(o->asked, 0, sizeof(o->asked));
        for (uint32_t i = 0; i < c->n; i++) {
                uint8_t low = posting_at(c->p, i).low;

                if (low <= before)
                        return -EUCLEAN;
                before = low;
                o->asked[low >> 6] |= UINT64_C(1) << (low & 63);
        }
        return 0;
}

static int overlap_add_chunk(const List *l, const Chunk *c, double weight, uint64_t unread, Overlaps *o) {
        int before = -1;

        for (uint32_t i = 0; i < c->n; i++) {
                Posting p = posting_at(c->p, i);
                uint8_t low = p.low;
                uint64_t bit = UINT64_C(1) << (low & 63);
                RankOverlap *doc = &o->doc[low];

                if (low <= before)
                        return -EUCLEAN;
                before = low;
                if (!(o->asked[low >> 6] & bit))
                        continue;
                if (!(o->there[low >> 6] & bit))
                        *doc = (RankOverlap){.number = c->number << 8 | low, .unread = unread};
                o->there[low >> 6] |= bit;
                doc->field[l->field] += weight;
                doc->length[l->field] = p.length;
                doc->terms[l->field] |= UINT64_C(1) << l->term;
        }
        return 0;
}

static int overlap_tell(const Overlaps *o, int (*each)(void *user, const RankOverlap *o), void *user) {
        int r = 0;

        for (unsigned word = 0; word < 4 && r == 0; word++)
                for (uint64_t left = o->there[word]; left && r == 0; left &= left - 1)
                        r = each(user, &o->doc[word * 64 + (unsigned)__builtin_ctzll(left)]);
        return r;
}

/* The next chunk with a document, UINT64_MAX: none. *ret_unread: terms with chunks beyond the found ones. */
static uint64_t overlap_next_chunk(const Lists *l, uint64_t *ret_unread) {
        uint64_t least = UINT64_MAX;

        *ret_unread = 0;
        for (size_t i = 0; i < l->n; i++)
                if (l->list[i].at < l->list[i].n)
                        least = MIN(least, l->list[i].chunks[l->list[i].at].number);
                else if (l->list[i].cut)
                        *ret_unread |= UINT64_C(1) << l->list[i].term;
        return least;
}

static int overlap_run(Lists *l, Lists *live, const double *weight, Overlaps *o,
                       int (*each)(void *user, const RankOverlap *o), void *user) {
        uint64_t at, unread;
        int r = 0;

        memset(o->asked, 0xff, sizeof(o->asked));
        while (r == 0 && (at = overlap_next_chunk(l, &unread)) != UINT64_MAX) {
                if (live) {
                        const Chunk *c = live->n > 0 ? list_seek(&live->list[0], at) : NULL;

                        if (!c)
                                return 0;
                        at = c->number;
                        r = overlap_ask_chunk(c, o);
                }
                memset(o->there, 0, sizeof(o->there));
                for (size_t i = 0; i < l->n && r == 0; i++) {
                        const Chunk *c = list_seek(&l->list[i], at);

                        if (!c || c->number != at)
                                continue;
                        r = overlap_add_chunk(&l->list[i], c, weight[l->list[i].term], unread, o);
                        l->list[i].at++;
                }
                if (r == 0)
                        r = overlap_tell(o, each, user);
        }
        return r;
}

static int overlap_run_live(Txn *t, uint64_t scope, uint8_t kind, Lists *l, const double *weight, bool live,
                            int (*each)(void *user, const RankOverlap *o), void *user) {
        const RankTerm on = {.p = INDEX_LIVE_TERM, .n = sizeof(INDEX_LIVE_TERM) - 1};
        ListsRoom room;
        _cleanup_lists_ Lists of_live = {.lent = &room};
        Overlaps o; /* 40 KB, and not cleared: the heap consolidates all freed memory for a piece of this size */
        int r = live ? lists_read(&of_live, t, scope, kind, 1U << INDEX_LIVE, &on, 1, 0) : 0;

        lists_complete(&of_live);
        if (r < 0 || (live && of_live.n == 0))
                return r;
        return overlap_run(l, live ? &of_live : NULL, weight, &o, each, user);
}

int rank_overlap(Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *terms, const double *weight,
                 size_t n, size_t rows_most, bool live, int (*each)(void *user, const RankOverlap *o), void *user) {
        ListsRoom room;
        _cleanup_lists_ Lists l = {.lent = &room};
        int r;

        assert(n <= RANK_TERMS_MAX);
        r = lists_read(&l, t, scope, kind, fields, terms, n, rows_most);
        lists_complete(&l);
        return r < 0 ? r : overlap_run_live(t, scope, kind, &l, weight, live, each, user);
}

int rank_overlap_counted(Txn *t, uint64_t scope, uint8_t kind, const Lists *counted, const unsigned *as,
                         const double *weight, size_t n, bool live, int (*each)(void *user, const RankOverlap *o),
                         void *user) {
        ListsRoom room;
        _cleanup_lists_ Lists l = {.lent = &room};
        int r = 0;

        assert(n <= RANK_TERMS_MAX);
        for (unsigned i = 0; r >= 0 && i < n; i++)
                r = lists_take(&l, counted, as[i], i);
        return r < 0 ? r : overlap_run_live(t, scope, kind, &l, weight, live, each, user);
}
