#include "index/index.h"

#include "store/hooks.h"

#include <errno.h>
#include <string.h>

typedef struct IndexDoc {
        uint64_t scope, number;
        uint8_t kind;
} IndexDoc;

int index_stats(Txn *t, uint64_t scope, uint8_t kind, IndexStats *ret) {
        uint8_t k[DOC_KEY_BYTES];
        Bytes v;
        int r;

        doc_key(scope, kind, 0, k);
        r = table_get(t, TABLE_DOC, BYTES(k, sizeof(k)), &v);
        if (r == -ENOENT) {
                *ret = (IndexStats){0};
                return 0;
        }
        return r < 0 ? r : stats_decode(v, ret);
}

static int index_stats_put(Txn *t, const IndexDoc *d, const IndexStats *s) {
        uint8_t k[DOC_KEY_BYTES], v[STATS_BYTES_MAX];

        doc_key(d->scope, d->kind, 0, k);
        if (s->docs == 0)
                return table_del(t, TABLE_DOC, BYTES(k, sizeof(k)));
        return table_put(t, TABLE_DOC, BYTES(k, sizeof(k)), BYTES(v, stats_encode(s, v)));
}

int index_doc(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, Bytes *ret) {
        uint8_t k[DOC_KEY_BYTES];

        doc_key(scope, kind, number, k);
        return table_get(t, TABLE_DOC, BYTES(k, sizeof(k)), ret);
}

/* The change of a document's posting in a row of a term. */
typedef struct PostingChange {
        Posting posting;
        bool put; /* false: delete */
        uint8_t row[CHUNK_BYTES_MAX];
} PostingChange;

static int posting_change(void *user, Bytes was, Bytes *ret) {
        PostingChange *e = user;
        int r;

        if (was.p ? !chunk_sane(was) : !e->put)
                return -EUCLEAN;
        r = e->put ? chunk_put(was, e->posting, e->row) : chunk_drop(was, e->posting.low, e->row);
        *ret = BYTES(e->row, (size_t)MAX(r, 0));
        return r > 0 ? 1 : r;
}

/* length NULL: deletes the posting. */
static int index_write_posting(Cursor *c, const IndexDoc *d, const Term *term, const uint16_t *length) {
        uint8_t k[TERM_KEY_MAX];
        size_t n = term_key(d->scope, d->kind, term->field, term->p, term->n, k);
        PostingChange e;

        e.posting = (Posting){.low = (uint8_t)d->number, .times = term->times, .length = length ? *length : 0};
        e.put = length;
        be64_put(k + n, d->number >> 8);
        return cursor_update(c, BYTES(k, n + 8), posting_change, &e);
}

typedef struct IdChange {
        const char *id;
        size_t n; /* 0: delete */
        uint8_t low;
        uint8_t row[IDS_BYTES_MAX];
} IdChange;

static int ids_change_row(void *user, Bytes was, Bytes *ret) {
        IdChange *e = user;
        int r = was.p && was.n == 0 ? -EUCLEAN : ids_change(was, e->low, e->id, e->n, e->row);

        *ret = BYTES(e->row, (size_t)MAX(r, 0));
        return r > 0 ? 1 : r;
}

/* was: the document's old row, or empty. id NULL: deletes the id. */
static int index_write_id(Cursor *c, const IndexDoc *d, Bytes was, const char *id) {
        uint8_t k[IDS_KEY_BYTES];
        DocReader old;
        IdChange e; /* the row is large, and not cleared */
        int r = was.n > 0 ? doc_open(was, &old) : 0;

        if (r < 0)
                return r;
        e.id = id;
        e.n = 0;
        e.low = d->number & IDS_LOW;
        if (id) {
                e.n = strlen(id);
                if (was.n > 0 && old.n_id == e.n && memcmp(old.id, id, e.n) == 0)
                        return 0;
        }
        ids_key(d->scope, d->kind, d->number, k);
        return cursor_update(c, BYTES(k, sizeof(k)), ids_change_row, &e);
}

/* Subtracts the old document's field from the sums. */
static int index_forget_field(IndexStats *s, const DocReader *old) {
        if (s->field[old->field].docs == 0 || s->field[old->field].length < old->length)
                return -EUCLEAN;
        s->field[old->field].docs--;
        s->field[old->field].length -= old->length;
        return 0;
}

/* Walks the sorted old and new terms side by side. */
static int index_write_difference(Cursor *c, const IndexDoc *d, Bytes was, const Term *terms, size_t n,
                                  const uint16_t *lengths, IndexStats *s) {
        DocReader old = {0};
        int left = 0, seen = -1, r = 0;
        size_t i = 0;
        Term o;

        if (was.n > 0) {
                r = doc_open(was, &old);
                left = r < 0 ? r : doc_next(&old, &o);
        }
        while (r >= 0 && left >= 0 && (left > 0 || i < n)) {
                int order = left == 0 ? 1 : i == n ? -1 : term_compare(&o, &terms[i]);

                r = 0;
                if (left > 0 && old.field != seen) {
                        if ((int)old.field < seen)
                                return -EUCLEAN;
                        seen = old.field;
                        r = index_forget_field(s, &old);
                }
                if (r == 0 && order < 0)
                        r = index_write_posting(c, d, &o, NULL);
                else if (r == 0 && (order > 0 || o.times != terms[i].times || old.length != lengths[o.field]))
                        r = index_write_posting(c, d, &terms[i], &lengths[terms[i].field]);
                if (order <= 0)
                        left = doc_next(&old, &o);
                if (order >= 0)
                        i++;
        }
        return r < 0 ? r : left;
}

/* bag NULL: deletes the document. */
static int index_replace(Txn *t, const IndexDoc *d, const char *id, Tokenizer *bag) {
        _cleanup_free_ uint8_t *before = NULL, *row = NULL;
        _cleanup_cursor_ Cursor *c = NULL; /* one cursor for all terms: the keys ascend */
        uint16_t lengths[TERMS_FIELDS] = {0};
        uint8_t k[DOC_KEY_BYTES];
        const Term *sorted = NULL;
        size_t n = 0, n_row = 0;
        Bytes was = {0};
        IndexStats s, sums;
        int r;

        assert(d->number > 0);
        doc_key(d->scope, d->kind, d->number, k);
        r = table_get(t, TABLE_DOC, BYTES(k, sizeof(k)), &was);
        if (r < 0 && !(r == -ENOENT && bag))
                return r;
        if (r == 0 && was.n == 0)
                return -EUCLEAN;
        if (bag) {
                sorted = tokenizer_sorted(bag, &n);
                r = sorted ? doc_encode(id, sorted, n, bag, &row, &n_row) : -ENOMEM;
                if (r < 0)
                        return r;
                if (was.n == n_row && memcmp(was.p, row, n_row) == 0)
                        return 0;
        }
        if (was.n > 0) {
                /* The next write invalidates the borrowed row. */
                before = malloc(was.n);
                if (!before)
                        return -ENOMEM;
                memcpy(before, was.p, was.n);
                was.p = before;
        }
        r = index_stats(t, d->scope, d->kind, &sums);
        if (r < 0)
                return r;
        s = sums;
        for (unsigned f = 0; bag && f < TERMS_FIELDS; f++)
                lengths[f] = (uint16_t)tokenizer_length(bag, f);
        r = cursor_open(t, TABLE_TERM, BYTES(NULL, 0), &c)
                ?: index_write_difference(c, d, was, sorted, n, lengths, &s)
                ?: index_write_id(c, d, was, id);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (i == 0 || sorted[i].field != sorted[i - 1].field) {
                        s.field[sorted[i].field].docs++;
                        s.field[sorted[i].field].length += lengths[sorted[i].field];
                }
        if (was.n > 0 && s.docs == 0)
                return -EUCLEAN;
        s.docs += (bag != NULL) - (was.n > 0);
        r = bag ? table_put(t, TABLE_DOC, BYTES(k, sizeof(k)), BYTES(row, n_row))
                : table_del(t, TABLE_DOC, BYTES(k, sizeof(k)));
        return r < 0 || memcmp(&s, &sums, sizeof(s)) == 0 ? r : index_stats_put(t, d, &s);
}

int index_put(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, const char *id, Tokenizer *bag) {
        return index_replace(t, &(IndexDoc){.scope = scope, .kind = kind, .number = number}, id, bag);
}

int index_del(Txn *t, uint64_t scope, uint8_t kind, uint64_t number) {
        return index_replace(t, &(IndexDoc){.scope = scope, .kind = kind, .number = number}, NULL, NULL);
}

int index_df(Txn *t, uint64_t scope, uint8_t kind, uint8_t field, const char *term, size_t n, uint64_t *ret) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t k[TERM_KEY_MAX];
        Bytes prefix = BYTES(k, term_key(scope, kind, field, term, n, k)), key, v;
        uint64_t df = 0;
        int r = cursor_open(t, TABLE_TERM, prefix, &c);

        while (r == 0 && (r = cursor_next(c, &key, &v)) == 0 && bytes_begin(key, prefix)) {
                if (!chunk_sane(v))
                        return -EUCLEAN;
                df += v.n / POSTING_BYTES;
        }
        if (r < 0 && r != -ENOENT)
                return r;
        *ret = df;
        return 0;
}

static void index_release_bag(void *bag) {
        tokenizer_free(bag);
}

int index_bag(Txn *t, Tokenizer **ret) {
        Tokenizer *bag = txn_kept(t);
        int r;

        if (bag) {
                tokenizer_clear(bag);
                r = tokenizer_keep_stems(bag);
        } else {
                r = tokenizer_new(&bag);
                if (r == 0)
                        txn_keep(t, bag, index_release_bag);
        }
        *ret = bag;
        return r;
}
