#include "record/creation-index.h"

#include "index/index.h"
#include "store/hooks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* The kind of a tombstone's document; no search reads this kind. */
static uint8_t creation_removed_kind(Kind k) {
        return (uint8_t)(k | 0x80);
}

int creation_put_removed(Txn *t, const Record *rec) {
        _cleanup_tokenizer_ Tokenizer *none = NULL;
        int r = tokenizer_new(&none);

        return r < 0 ? r
                     : index_put(t, rec->key.scope, creation_removed_kind(rec->key.kind), rec->created, rec->key.id,
                                 none);
}

int creation_del_removed(Txn *t, const Record *rec) {
        int r = index_del(t, rec->key.scope, creation_removed_kind(rec->key.kind), rec->created);

        return r == -ENOENT ? 0 : r;
}

static int stream_step(CreationStream *s) {
        DocReader doc;
        Bytes k, v;
        int r = cursor_next(s->cursor, &k, &v);

        s->number = 0;
        if (r == -ENOENT)
                return 0;
        if (r == 0)
                r = k.n == DOC_KEY_BYTES ? doc_open(v, &doc) : -EUCLEAN;
        if (r == 0 && doc.n_id >= sizeof(s->id))
                r = -EUCLEAN;
        if (r < 0)
                return r;
        memcpy(s->id, doc.id, doc.n_id);
        s->id[doc.n_id] = '\0';
        s->number = be64_get((const uint8_t *)k.p + RECORD_KEY_HEAD);
        return 0;
}

/* Number 0 of a kind holds the sums and is no document. No record has number UINT64_MAX. */
static int stream_open(CreationWalk *w, uint64_t scope, Kind kind, uint8_t in_index, uint64_t after) {
        CreationStream *s = &w->streams[w->n];
        uint8_t from[DOC_KEY_BYTES];
        int r;

        if (after == UINT64_MAX)
                return 0;
        doc_key(scope, in_index, after + 1, from);
        s->kind = kind;
        r = cursor_open_within(w->txn, TABLE_DOC, BYTES(from, sizeof(from)), RECORD_KEY_HEAD, &s->cursor);
        if (r < 0)
                return r;
        w->n++;
        return stream_step(s);
}

static int creation_compare(const void *a, const void *b) {
        const CreationRemoved *x = a, *y = b;

        return x->number < y->number ? -1 : x->number > y->number;
}

static int creation_keep_removed(CreationWalk *w, const Record *rec) {
        if (!GROW(w->removed, w->n_removed))
                return -ENOMEM;
        w->removed[w->n_removed] = (CreationRemoved){.number = rec->created, .kind = rec->key.kind};
        strcpy(w->removed[w->n_removed++].id, rec->key.id);
        return 0;
}

/* For a store of an older version: reads every record. */
static int creation_find_removed(CreationWalk *w, const Kind *of, size_t n, uint64_t after) {
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = 0;

        for (size_t i = 0; r == 0 && i < n; i++) {
                _cleanup_record_walk_ RecordWalk all = {0};

                r = record_walk(w->txn, w->scope, of[i], &all);
                while (r == 0 && (r = record_walk_next(&all, &rec)) == 0)
                        if (rec.state == RECORD_REMOVED && rec.created > after)
                                r = creation_keep_removed(w, &rec);
                r = r == -ENOENT ? 0 : r;
        }
        if (r == 0 && w->n_removed > 1)
                qsort(w->removed, w->n_removed, sizeof(*w->removed), creation_compare);
        return r;
}

int creation_walk(Txn *t, uint64_t scope, const Kind *of, size_t n, bool removed, uint64_t after, CreationWalk *ret) {
        bool newest = true;
        int r;

        assert(n <= CREATION_KINDS_MAX);
        *ret = (CreationWalk){.txn = t, .scope = scope};
        r = removed ? store_is_newest(t, &newest) : 0;
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = stream_open(ret, scope, of[i], (uint8_t)of[i], after);
                if (r == 0 && removed && newest)
                        r = stream_open(ret, scope, of[i], creation_removed_kind(of[i]), after);
        }
        return r == 0 && !newest ? creation_find_removed(ret, of, n, after) : r;
}

int creation_walk_next(CreationWalk *w, Record *ret) {
        CreationStream *first = NULL;
        RecordKey key;
        int r;

        record_deinit(ret);
        for (size_t i = 0; i < w->n; i++)
                if (w->streams[i].number > 0 && (!first || w->streams[i].number < first->number))
                        first = &w->streams[i];
        if (w->at < w->n_removed && (!first || w->removed[w->at].number < first->number)) {
                key = record_key_of(w->scope, w->removed[w->at].kind, w->removed[w->at].id);
                w->at++;
                return record_get(w->txn, &key, ret);
        }
        if (!first)
                return -ENOENT;
        key = record_key_of(w->scope, first->kind, first->id);
        r = record_get(w->txn, &key, ret);
        if (r == -ENOENT || (r == 0 && ret->created != first->number))
                return -EUCLEAN;
        return r < 0 ? r : stream_step(first);
}

void creation_walk_deinit(CreationWalk *w) {
        for (size_t i = 0; i < w->n; i++)
                cursor_free(w->streams[i].cursor);
        free(w->removed);
        *w = (CreationWalk){0};
}
