#include "engine/refmem.h"

#include "index/index.h"
#include "record/creation-index.h"
#include "engine/payload.h"

#include <errno.h>
#include <string.h>

bool refmem_remembers(Kind k) {
        return k == KIND_ISSUE || k == KIND_CONSTRAINT || k == KIND_DECISION;
}

/* Lower case ASCII, runs of white space as one space, none at the ends, at most REFMEM_PHRASE_BYTES. */
static json_t *normal(const char *s) {
        char out[REFMEM_PHRASE_BYTES];
        size_t n = 0;

        for (; *s && n < sizeof(out); s++) {
                char c = *s == '\t' || *s == '\n' || *s == '\r' ? ' ' : *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;

                if (c != ' ' || (n > 0 && out[n - 1] != ' '))
                        out[n++] = c;
        }
        if (*s) /* cut: not within a character */
                while (n > 0 && ((unsigned char)*s & 0xc0) == 0x80)
                        s--, n--;
        while (n > 0 && out[n - 1] == ' ')
                n--;
        return json_stringn(out, n);
}

static bool has(const json_t *list, const json_t *text) {
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_equal(json_array_get(list, i), text))
                        return true;
        return false;
}

static int take_in(json_t *list, const json_t *other, const json_t *from) {
        for (size_t i = 0; i < json_array_size(from); i++) {
                const char *s = json_text(json_array_get(from, i));
                _cleanup_json_ json_t *text = s ? normal(s) : NULL;

                if (s && !text)
                        return -ENOMEM;
                if (text && json_string_length(text) > 0 && !has(list, text) && !has(other, text) && json_array_append(list, text) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static json_t *list_of(json_t *row, const char *member) {
        json_t *list = json_object_get(row, member);

        if (list)
                return list;
        return json_object_set_new(row, member, json_array()) < 0 ? NULL : json_object_get(row, member);
}

int refmem_grow(Record *rec, const json_t *body) {
        json_t *aliases, *phrases;
        int r;

        if (!refmem_remembers(rec->key.kind))
                return 0;
        aliases = list_of(rec->row, "aliases");
        phrases = list_of(rec->row, "phrases");
        r = aliases && phrases ? take_in(aliases, NULL, json_object_get(body, "aliases")) : -ENOMEM;
        if (r == 0)
                r = take_in(phrases, aliases, json_object_get(body, "phrases"));
        while (r == 0 && json_array_size(aliases) > REFMEM_PHRASES_MAX)
                json_array_remove(aliases, 0);
        while (r == 0 && json_array_size(phrases) > 0 && json_array_size(aliases) + json_array_size(phrases) > REFMEM_PHRASES_MAX)
                json_array_remove(phrases, 0);
        return r;
}

static int add_list(Tokenizer *terms, unsigned field, const json_t *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *text = json_array_get(list, i);

                r = tokenizer_add(terms, field, json_bytes(text), json_string_length(text));
        }
        return r;
}

size_t refmem_hash(const char *id, const char **ret) {
        size_t n = strlen(id), from = n;

        while (from > 0 && ((id[from - 1] >= '0' && id[from - 1] <= '9') || (id[from - 1] >= 'a' && id[from - 1] <= 'f')))
                from--;
        *ret = id + from;
        return (from == 0 || id[from - 1] == '_') && n - from >= REFMEM_HASH_LEAST ? n - from : 0;
}

static int add_payload(Tokenizer *terms, const json_t *payload) {
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = payload_text(payload, &text, &n);

        return r < 0 ? r : tokenizer_add(terms, INDEX_TEXT, text, n);
}

/* What a row says is in the index already when only its state changes. -ENOENT: it is not. */
static int add_indexed(Txn *t, const Record *rec, Tokenizer *terms) {
        DocReader doc;
        Bytes row;
        Term term;
        int r = index_doc(t, rec->key.scope, (uint8_t)rec->key.kind, rec->created, &row);

        if (r == 0)
                r = doc_open(row, &doc);
        while (r >= 0 && (r = doc_next(&doc, &term)) > 0 && term.field == INDEX_TEXT) {
                r = tokenizer_take(terms, &term);
                tokenizer_set_length(terms, INDEX_TEXT, doc.length);
        }
        return MIN(r, 0);
}

int refmem_index(Txn *t, const Record *rec, Op op, const json_t *body) {
        bool canon = kind_class(rec->key.kind) == CLASS_CANON;
        const json_t *payload = json_object_get(body, "payload");
        const char *hash;
        Tokenizer *terms;
        int r;

        if (op == OP_REMOVE || op == OP_DELETE) {
                r = index_del(t, rec->key.scope, (uint8_t)rec->key.kind, rec->created);
                if (r < 0 && r != -ENOENT) /* a fold, in which it was erased from the beginning */
                        return r;
                return op == OP_REMOVE ? creation_put_removed(t, rec) : creation_del_removed(t, rec);
        }
        if (kind_class(rec->key.kind) == CLASS_KERNEL || (!canon && op != OP_SAVE))
                return 0;
        r = index_bag(t, &terms);
        if (r < 0)
                return r;
        r = op == OP_RESOLVE || op == OP_INVALIDATE ? add_indexed(t, rec, terms) : payload ? add_payload(terms, payload) : -ENOENT;
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = add_list(terms, INDEX_ALIAS, json_object_get(rec->row, "aliases"));
        /* As much of it as any form has. */
        if (r == 0 && refmem_remembers(rec->key.kind) && refmem_hash(rec->key.id, &hash) > 0)
                r = tokenizer_add(terms, INDEX_ALIAS, hash, REFMEM_HASH_LEAST);
        if (r == 0)
                r = add_list(terms, INDEX_PHRASE, json_object_get(rec->row, "phrases"));
        if (r == 0 && refmem_remembers(rec->key.kind) && record_state_live(rec->state))
                r = tokenizer_add(terms, INDEX_LIVE, INDEX_LIVE_TERM, sizeof(INDEX_LIVE_TERM) - 1);
        return r < 0 ? r : index_put(t, rec->key.scope, (uint8_t)rec->key.kind, rec->created, rec->key.id, terms);
}
