#include "index/index.h"

#include "store/hooks.h"

#include <errno.h>
#include <string.h>

typedef struct Doc {
        uint64_t scope, number;
        uint8_t kind;
} Doc;

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

static int stats_put(Txn *t, const Doc *d, const IndexStats *s) {
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

/* What becomes of one row. */
typedef struct Entry {
        Posting posting;
        bool put; /* else it is taken out */
        uint8_t row[CHUNK_BYTES_MAX];
} Entry;

static int change_row(void *user, Bytes was, Bytes *ret) {
        Entry *e = user;
        int r;

        if (was.p ? !chunk_sane(was) : !e->put)
                return -EUCLEAN;
        r = e->put ? chunk_put(was, e->posting, e->row) : chunk_drop(was, e->posting.low, e->row);
        *ret = BYTES(e->row, (size_t)MAX(r, 0));
        return r > 0 ? 1 : r;
}

/* length: NULL: the entry is taken out. */
static int write_entry(Cursor *c, const Doc *d, const Term *term, const uint16_t *length) {
        uint8_t k[TERM_KEY_MAX];
        size_t n = term_key(d->scope, d->kind, term->field, term->p, term->n, k);
        Entry e;

        e.posting = (Posting){.low = (uint8_t)d->number, .times = term->times, .length = length ? *length : 0};
        e.put = length;
        be64_put(k + n, d->number >> 8);
        return cursor_update(c, BYTES(k, n + 8), change_row, &e);
}

typedef struct IdEntry {
        const char *id;
        size_t n; /* 0: it is taken out */
        uint8_t low;
        uint8_t row[IDS_BYTES_MAX];
} IdEntry;

static int change_ids(void *user, Bytes was, Bytes *ret) {
        IdEntry *e = user;
        int r = was.p && was.n == 0 ? -EUCLEAN : ids_change(was, e->low, e->id, e->n, e->row);

        *ret = BYTES(e->row, (size_t)MAX(r, 0));
        return r > 0 ? 1 : r;
}

/* was: the document's row, or empty. id NULL: the document goes. */
static int write_id(Cursor *c, const Doc *d, Bytes was, const char *id) {
        uint8_t k[IDS_KEY_BYTES];
        DocReader old;
        IdEntry e; /* its row is large, and not cleared */
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
        return cursor_update(c, BYTES(k, sizeof(k)), change_ids, &e);
}

static int compare(const Term *a, const Term *b) {
        int r;

        if (a->field != b->field)
                return a->field < b->field ? -1 : 1;
        r = memcmp(a->p, b->p, MIN(a->n, b->n));
        return r ? r : (int)a->n - (int)b->n;
}

/* What is in the sums for a field of a row is taken out of them. */
static int forget_field(IndexStats *s, const DocReader *old) {
        if (s->field[old->field].docs == 0 || s->field[old->field].length < old->length)
                return -EUCLEAN;
        s->field[old->field].docs--;
        s->field[old->field].length -= old->length;
        return 0;
}

/* Walks the sorted terms that were there and those that are to be there, side by side. */
static int write_difference(Cursor *c, const Doc *d, Bytes was, const Term *terms, size_t n, const uint16_t *lengths, IndexStats *s) {
        DocReader old = {0};
        int left = 0, seen = -1, r = 0;
        size_t i = 0;
        Term o;

        if (was.n > 0) {
                r = doc_open(was, &old);
                left = r < 0 ? r : doc_next(&old, &o);
        }
        while (r >= 0 && left >= 0 && (left > 0 || i < n)) {
                int order = left == 0 ? 1 : i == n ? -1 : compare(&o, &terms[i]);

                r = 0;
                if (left > 0 && old.field != seen) {
                        if ((int)old.field < seen)
                                return -EUCLEAN;
                        seen = old.field;
                        r = forget_field(s, &old);
                }
                if (r == 0 && order < 0)
                        r = write_entry(c, d, &o, NULL);
                else if (r == 0 && (order > 0 || o.times != terms[i].times || old.length != lengths[o.field]))
                        r = write_entry(c, d, &terms[i], &lengths[terms[i].field]);
                if (order <= 0)
                        left = doc_next(&old, &o);
                if (order >= 0)
                        i++;
        }
        return r < 0 ? r : left;
}

/* terms: NULL: none, the document goes. */
static int replace(Txn *t, const Doc *d, const char *id, Tokenizer *terms) {
        _cleanup_free_ uint8_t *before = NULL, *row = NULL;
        _cleanup_cursor_ Cursor *c = NULL; /* one for all: their keys are in order */
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
        if (r < 0 && !(r == -ENOENT && terms))
                return r;
        if (r == 0 && was.n == 0)
                return -EUCLEAN;
        if (terms) {
                sorted = tokenizer_sorted(terms, &n);
                r = sorted ? doc_encode(id, sorted, n, terms, &row, &n_row) : -ENOMEM;
                if (r < 0)
                        return r;
                if (was.n == n_row && memcmp(was.p, row, n_row) == 0)
                        return 0;
        }
        if (was.n > 0) {
                /* The next write ends what was borrowed. */
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
        for (unsigned f = 0; terms && f < TERMS_FIELDS; f++)
                lengths[f] = (uint16_t)tokenizer_length(terms, f);
        r = cursor_open(t, TABLE_TERM, BYTES(NULL, 0), &c);
        if (r == 0)
                r = write_difference(c, d, was, sorted, n, lengths, &s);
        if (r == 0)
                r = write_id(c, d, was, id);
        if (r < 0)
                return r;
        for (size_t i = 0; i < n; i++)
                if (i == 0 || sorted[i].field != sorted[i - 1].field) {
                        s.field[sorted[i].field].docs++;
                        s.field[sorted[i].field].length += lengths[sorted[i].field];
                }
        if (was.n > 0 && s.docs == 0)
                return -EUCLEAN;
        s.docs += (terms != NULL) - (was.n > 0);
        r = terms ? table_put(t, TABLE_DOC, BYTES(k, sizeof(k)), BYTES(row, n_row)) : table_del(t, TABLE_DOC, BYTES(k, sizeof(k)));
        return r < 0 || memcmp(&s, &sums, sizeof(s)) == 0 ? r : stats_put(t, d, &s);
}

int index_put(Txn *t, uint64_t scope, uint8_t kind, uint64_t number, const char *id, Tokenizer *terms) {
        return replace(t, &(Doc){.scope = scope, .kind = kind, .number = number}, id, terms);
}

int index_del(Txn *t, uint64_t scope, uint8_t kind, uint64_t number) {
        return replace(t, &(Doc){.scope = scope, .kind = kind, .number = number}, NULL, NULL);
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

static void release_bag(void *bag) {
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
                        txn_keep(t, bag, release_bag);
        }
        *ret = bag;
        return r;
}
