#include "engine/known-names.h"

#include "index/index.h"
#include "record/creation-index.h"
#include "engine/payload.h"

#include <errno.h>
#include <string.h>

#define EVIDENCE_INDEXED 4096 /* bytes */

bool refmem_remembers(Kind k) {
        return k == KIND_ISSUE || k == KIND_CONSTRAINT || k == KIND_DECISION;
}

/* Lower case ASCII, runs of white space as one space, none at the ends, at most REFMEM_PHRASE_BYTES. */
static json_t *refmem_normal(const char *s) {
        char out[REFMEM_PHRASE_BYTES];
        size_t n = 0;

        for (; *s && n < sizeof(out); s++) {
                char c = *s == '\t' || *s == '\n' || *s == '\r' ? ' ' : *s >= 'A' && *s <= 'Z' ? (char)(*s + 32) : *s;

                if (c != ' ' || (n > 0 && out[n - 1] != ' '))
                        out[n++] = c;
        }
        if (*s) /* cut before a character */
                while (n > 0 && ((unsigned char)*s & 0xc0) == 0x80)
                        s--, n--;
        while (n > 0 && out[n - 1] == ' ')
                n--;
        return json_stringn(out, n);
}

static bool refmem_has(const json_t *list, const json_t *text) {
        for (size_t i = 0; i < json_array_size(list); i++)
                if (json_equal(json_array_get(list, i), text))
                        return true;
        return false;
}

static int refmem_add(json_t *list, const json_t *other, const json_t *from) {
        for (size_t i = 0; i < json_array_size(from); i++) {
                const char *s = json_text(json_array_get(from, i));
                _cleanup_json_ json_t *text = s ? refmem_normal(s) : NULL;

                if (s && !text)
                        return -ENOMEM;
                if (text && json_string_length(text) > 0 && !refmem_has(list, text) && !refmem_has(other, text) &&
                    json_array_append(list, text) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static json_t *refmem_list(json_t *row, const char *member) {
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
        aliases = refmem_list(rec->row, "aliases");
        phrases = refmem_list(rec->row, "phrases");
        r = aliases && phrases ? refmem_add(aliases, NULL, json_object_get(body, "aliases")) : -ENOMEM;
        if (r == 0)
                r = refmem_add(phrases, aliases, json_object_get(body, "phrases"));
        while (r == 0 && json_array_size(aliases) > REFMEM_PHRASES_MAX)
                json_array_remove(aliases, 0);
        while (r == 0 && json_array_size(phrases) > 0 &&
               json_array_size(aliases) + json_array_size(phrases) > REFMEM_PHRASES_MAX)
                json_array_remove(phrases, 0);
        return r;
}

static int refmem_index_list(Tokenizer *bag, unsigned field, const json_t *list) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < json_array_size(list); i++) {
                const json_t *text = json_array_get(list, i);

                r = tokenizer_add(bag, field, json_bytes(text), json_string_length(text));
        }
        return r;
}

size_t refmem_hash(const char *id, const char **ret) {
        size_t n = strlen(id), from = n;

        while (from > 0 &&
               ((id[from - 1] >= '0' && id[from - 1] <= '9') || (id[from - 1] >= 'a' && id[from - 1] <= 'f')))
                from--;
        *ret = id + from;
        return (from == 0 || id[from - 1] == '_') && n - from >= REFMEM_HASH_LEAST ? n - from : 0;
}

/* Evidence with a reason against it is in a field of its own: such text has no influence on the others (C-25). The
 * beginning of a long text is enough: each term is a row. */
static int refmem_index_payload(Tokenizer *bag, Kind kind, const json_t *body) {
        bool evidence = kind == KIND_EVIDENCE;
        unsigned field = evidence && json_object_get(body, "refused") ? INDEX_REFUSED : INDEX_TEXT;
        _cleanup_free_ char *text = NULL;
        size_t n;
        int r = payload_text(json_object_get(body, "payload"), &text, &n);

        return r ?: tokenizer_add(bag, field, text, evidence ? MIN(n, (size_t)EVIDENCE_INDEXED) : n);
}

/* A change of state alone: takes the text's terms from the index. -ENOENT: not in the index. */
static int refmem_index_again(Txn *t, const Record *rec, Tokenizer *bag) {
        DocReader doc;
        Bytes row;
        Term term;
        int r = index_doc(t, rec->key.scope, (uint8_t)rec->key.kind, rec->created, &row) ?: doc_open(row, &doc);

        while (r >= 0 && (r = doc_next(&doc, &term)) > 0 && term.field == INDEX_TEXT) {
                r = tokenizer_take(bag, &term);
                tokenizer_set_length(bag, INDEX_TEXT, doc.length);
        }
        return MIN(r, 0);
}

int refmem_index(Txn *t, const Record *rec, Op op, const json_t *body) {
        bool canon = kind_class(rec->key.kind) == CLASS_CANON;
        const json_t *payload = json_object_get(body, "payload");
        const char *hash;
        Tokenizer *bag;
        int r;

        if (op == OP_REMOVE || op == OP_DELETE) {
                r = index_del(t, rec->key.scope, (uint8_t)rec->key.kind, rec->created);
                if (r < 0 && r != -ENOENT) /* -ENOENT: a fold, after the erasure of the payload */
                        return r;
                return op == OP_REMOVE ? creation_put_removed(t, rec) : creation_del_removed(t, rec);
        }
        if (kind_class(rec->key.kind) == CLASS_KERNEL || rec->key.kind == KIND_CCS || (!canon && op != OP_SAVE))
                return 0;
        r = index_bag(t, &bag);
        if (r < 0)
                return r;
        r = op_ends(op) ? refmem_index_again(t, rec, bag)
            : payload   ? refmem_index_payload(bag, rec->key.kind, body)
                        : -ENOENT;
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        r = refmem_index_list(bag, INDEX_ALIAS, json_object_get(rec->row, "aliases"));
        /* The part of the hash common to all forms. */
        if (r == 0 && refmem_remembers(rec->key.kind) && refmem_hash(rec->key.id, &hash) > 0)
                r = tokenizer_add(bag, INDEX_ALIAS, hash, REFMEM_HASH_LEAST);
        if (r == 0)
                r = refmem_index_list(bag, INDEX_PHRASE, json_object_get(rec->row, "phrases"));
        if (r == 0 && refmem_remembers(rec->key.kind) && record_state_live(rec->state))
                r = tokenizer_add(bag, INDEX_LIVE, INDEX_LIVE_TERM, sizeof(INDEX_LIVE_TERM) - 1);
        return r < 0 ? r : index_put(t, rec->key.scope, (uint8_t)rec->key.kind, rec->created, rec->key.id, bag);
}
