#include "index/lists.h"

#include <errno.h>
#include <string.h>

void lists_deinit(Lists *l) {
        cursor_free(l->cursor);
        if (!l->lent || l->list != l->lent->list)
                free(l->list);
        if (!l->lent || l->all != l->lent->all)
                free(l->all);
        *l = (Lists){0};
}

/* Gives *p room for `need` elements; uses `lent` while this has room. */
static int lists_grow(void *p, size_t *room, size_t need, size_t size, void *lent, size_t n_lent) {
        void *was = *(void **)p, *now = lent;
        size_t n = n_lent;

        if (!lent || need > n_lent) {
                n = MAX(need, 2 * *room + 15);
                now = reallocarray(was == lent ? NULL : was, n, size);
                if (!now)
                        return -ENOMEM;
                if (was && was == lent)
                        memcpy(now, lent, *room * size);
        }
        *(void **)p = now;
        *room = n;
        return 0;
}

static int lists_add_chunk(Lists *l, uint64_t number, Bytes v) {
        if (!chunk_sane(v))
                return -EUCLEAN;
        if (l->n_all == l->room_all && lists_grow(&l->all, &l->room_all, l->n_all + 1, sizeof(*l->all),
                                                  l->lent ? l->lent->all : NULL, ARRAY_SIZE(l->lent->all)) < 0)
                return -ENOMEM;
        l->all[l->n_all++] = (Chunk){.number = number, .p = v.p, .n = (uint32_t)(v.n / POSTING_BYTES)};
        return 0;
}

static int lists_read_one(Lists *l, Txn *t, Bytes prefix, unsigned term, unsigned field, size_t rows_most) {
        size_t first = l->n_all;
        uint64_t df = 0;
        Bytes key, v;
        int r = 0;

        if (l->cursor)
                cursor_seek(l->cursor, prefix);
        else
                r = cursor_open(t, TABLE_TERM, prefix, &l->cursor);
        while (r == 0 && l->n_all - first < rows_most && (r = cursor_next(l->cursor, &key, &v)) == 0 &&
               bytes_begin(key, prefix)) {
                if (key.n != prefix.n + 8)
                        return -EUCLEAN;
                r = lists_add_chunk(l, be64_get((const uint8_t *)key.p + prefix.n), v);
                df += v.n / POSTING_BYTES;
        }
        if ((r < 0 && r != -ENOENT) || l->n_all == first)
                return r == -ENOENT ? 0 : r;
        l->list[l->n++] = (List){.first = first, .n = l->n_all - first, .df = df, .term = term, .field = field,
                                 .cut = l->n_all - first == rows_most};
        return 0;
}

static int lists_make_room(Lists *l, size_t n) {
        if (l->n + n <= l->room)
                return 0;
        return lists_grow(&l->list, &l->room, l->n + n, sizeof(*l->list), l->lent ? l->lent->list : NULL,
                          ARRAY_SIZE(l->lent->list));
}

int lists_read(Lists *l, Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *terms, size_t n,
               size_t rows_most) {
        uint8_t k[TERM_KEY_MAX];
        int r = lists_make_room(l, n * INDEX_FIELDS);

        for (unsigned f = 0; f < INDEX_FIELDS && r == 0; f++)
                for (size_t i = 0; i < n && fields >> f & 1 && r == 0; i++)
                        r = lists_read_one(l, t, BYTES(k, term_key(scope, kind, (uint8_t)f, terms[i].p, terms[i].n, k)),
                                           (unsigned)i, f, rows_most ?: SIZE_MAX);
        return r;
}

int lists_count(Lists *l, Txn *t, uint64_t scope, uint8_t kind, unsigned fields, const RankTerm *term, unsigned as,
                uint64_t *ret) {
        size_t first = l->n;
        int r = lists_read(l, t, scope, kind, fields, term, 1, 0);

        *ret = 0;
        for (size_t i = first; i < l->n; i++) {
                l->list[i].term = as;
                *ret = MAX(*ret, l->list[i].df);
        }
        return r;
}

bool lists_have(const Lists *l, unsigned term) {
        for (size_t i = 0; i < l->n; i++)
                if (l->list[i].term == term)
                        return true;
        return false;
}

int lists_take(Lists *l, const Lists *from, unsigned as, unsigned term) {
        int found = 0, r = lists_make_room(l, INDEX_FIELDS);

        for (size_t i = 0; r == 0 && i < from->n; i++)
                if (from->list[i].term == as) {
                        assert(found < INDEX_FIELDS);
                        l->list[l->n] = from->list[i];
                        l->list[l->n].term = term;
                        l->list[l->n++].chunks = from->all + from->list[i].first;
                        found++;
                }
        return r < 0 ? r : found;
}

void lists_complete(Lists *l) {
        for (size_t i = 0; i < l->n; i++)
                l->list[i].chunks = l->all + l->list[i].first;
}

const Chunk *list_seek(List *l, uint64_t number) {
        while (l->at < l->n && l->chunks[l->at].number < number)
                l->at++;
        return l->at < l->n ? &l->chunks[l->at] : NULL;
}
