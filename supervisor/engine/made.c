#include "engine/made.h"

#include "engine/index.h"

#include <errno.h>
#include <string.h>

/* Of kinds in the index: another one than the record's own, in which no search looks. */
static uint8_t removed_kind(Kind k) {
        return (uint8_t)(k | 0x80);
}

int made_put_removed(Txn *t, const Record *rec) {
        _cleanup_terms_ Terms *none = NULL;
        int r = terms_new(&none);

        return r < 0 ? r : index_put(t, rec->key.scope, removed_kind(rec->key.kind), rec->created, rec->key.id, none);
}

int made_del_removed(Txn *t, const Record *rec) {
        int r = index_del(t, rec->key.scope, removed_kind(rec->key.kind), rec->created);

        return r == -ENOENT ? 0 : r;
}

static int step(MadeStream *s) {
        DocReader doc;
        Bytes k, v;
        int r = cursor_next(s->cursor, &k, &v);

        s->number = 0;
        if (r == -ENOENT || (r == 0 && !bytes_begin(k, BYTES(s->prefix, sizeof(s->prefix)))))
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

/* Number 0 of a kind is no document, and no record has a number above any that there can be. */
static int open_stream(MadeWalk *w, uint64_t scope, Kind kind, uint8_t in_index, uint64_t after) {
        MadeStream *s = &w->streams[w->n];
        uint8_t from[DOC_KEY_BYTES];
        int r;

        if (after == UINT64_MAX)
                return 0;
        doc_key(scope, in_index, after + 1, from);
        s->kind = kind;
        memcpy(s->prefix, from, sizeof(s->prefix));
        r = cursor_open(w->txn, TABLE_DOC, BYTES(from, sizeof(from)), &s->cursor);
        if (r < 0)
                return r;
        w->n++;
        return step(s);
}

int made_walk(Txn *t, uint64_t scope, const Kind *of, size_t n, bool removed, uint64_t after, MadeWalk *ret) {
        int r = 0;

        assert(n <= MADE_KINDS_MAX);
        *ret = (MadeWalk){.txn = t};
        for (size_t i = 0; r == 0 && i < n; i++) {
                r = open_stream(ret, scope, of[i], (uint8_t)of[i], after);
                if (r == 0 && removed)
                        r = open_stream(ret, scope, of[i], removed_kind(of[i]), after);
        }
        return r;
}

int made_walk_next(MadeWalk *w, Record *ret) {
        MadeStream *first = NULL;
        RecordKey key;
        int r;

        record_deinit(ret);
        for (size_t i = 0; i < w->n; i++)
                if (w->streams[i].number > 0 && (!first || w->streams[i].number < first->number))
                        first = &w->streams[i];
        if (!first)
                return -ENOENT;
        key = record_key_of(be64_get(first->prefix), first->kind, first->id);
        r = record_get(w->txn, &key, ret);
        if (r == -ENOENT || (r == 0 && ret->created != first->number))
                return -EUCLEAN;
        return r < 0 ? r : step(first);
}

void made_walk_deinit(MadeWalk *w) {
        for (size_t i = 0; i < w->n; i++)
                cursor_free(w->streams[i].cursor);
        *w = (MadeWalk){0};
}
