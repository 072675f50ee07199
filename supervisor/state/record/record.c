#include "record/record.h"

#include "record/rows.h"

#include <errno.h>
#include <string.h>

#define ROW_MAX (256 * 1024)
#define BODY_MAX (16 * 1024 * 1024)

size_t record_key(const RecordKey *k, uint8_t ret[static RECORD_KEY_MAX]) {
        size_t n = strlen(k->id);

        assert(n < RECORD_ID_MAX);
        be64_put(ret, k->scope);
        ret[8] = (uint8_t)k->kind;
        memcpy(ret + RECORD_KEY_HEAD, k->id, n);
        return RECORD_KEY_HEAD + n;
}

static int record_key_decode(Bytes b, RecordKey *ret) {
        const uint8_t *p = b.p;

        if (b.n <= RECORD_KEY_HEAD || b.n > RECORD_KEY_MAX || !kind_name((Kind)p[8]))
                return -EUCLEAN;
        *ret = (RecordKey){.scope = be64_get(p), .kind = (Kind)p[8]};
        memcpy(ret->id, p + RECORD_KEY_HEAD, b.n - RECORD_KEY_HEAD);
        return record_id_valid(ret->kind, ret->id) ? 0 : -EUCLEAN;
}

int record_key_compare(const RecordKey *a, const RecordKey *b) {
        return a->kind != b->kind ? (a->kind > b->kind) - (a->kind < b->kind) : strcmp(a->id, b->id);
}

RecordKey record_key_of(uint64_t scope, Kind kind, const char *id) {
        RecordKey k = {.scope = scope, .kind = kind};

        assert(strlen(id) < sizeof(k.id));
        strcpy(k.id, id);
        return k;
}

void record_deinit(Record *r) {
        json_decref(r->row);
        *r = RECORD_NULL;
}

static int record_decode(const RecordKey *k, Bytes v, Record *ret) {
        _cleanup_json_ json_t *row = NULL;
        const char *state;
        Record rec = {.key = *k};
        int r = json_row_parse(v, ROW_MAX, &row);

        if (r < 0)
                return r;
        state = json_text(json_object_get(row, "state"));
        if (!state || !(rec.state = record_state_from_name(state)) ||
            json_get_u64(json_object_get(row, "version"), &rec.version) < 0 ||
            json_get_u64(json_object_get(row, "created"), &rec.created) < 0 ||
            json_get_u64(json_object_get(row, "last"), &rec.last) < 0 ||
            json_get_u64(json_object_get(row, "content"), &rec.content) < 0)
                return -EUCLEAN;
        rec.row = TAKE_PTR(row);
        *ret = rec;
        return 0;
}

int record_get(Txn *t, const RecordKey *k, Record *ret) {
        uint8_t key[RECORD_KEY_MAX];
        Bytes v;

        return table_get(t, TABLE_REC, BYTES(key, record_key(k, key)), &v) ?: record_decode(k, v, ret);
}

int record_put(Txn *t, const Record *rec) {
        uint8_t key[RECORD_KEY_MAX];
        int r = json_put(rec->row, "state", json_string_nocheck(record_state_name(rec->state))) |
                json_put(rec->row, "version", json_u64(rec->version)) |
                json_put(rec->row, "created", json_u64(rec->created)) |
                json_put(rec->row, "last", json_u64(rec->last)) | json_put(rec->row, "content", json_u64(rec->content));

        return r ? -ENOMEM : json_row_put(t, TABLE_REC, BYTES(key, record_key(&rec->key, key)), rec->row);
}

int record_del(Txn *t, const RecordKey *k) {
        uint8_t key[RECORD_KEY_MAX];

        return table_del(t, TABLE_REC, BYTES(key, record_key(k, key)));
}

const char *record_type(const Record *r) {
        return json_str(r->row, "type");
}

int record_body(Txn *t, uint64_t seq, json_t **ret) {
        Bytes v;
        int r = body_get(t, seq, NULL, &v);

        if (r < 0)
                return r;
        r = json_row_parse(v, BODY_MAX, ret);
        if (r == 0 && !json_is_object(*ret)) {
                json_decref(*ret);
                *ret = NULL;
                r = -EUCLEAN;
        }
        return r;
}

int record_payload(Txn *t, const Record *rec, json_t **ret) {
        const char *part;
        size_t n;
        Bytes v;
        int r;

        if (rec->content == 0) { /* a kernel before the first patch */
                *ret = json_object();
                return *ret ? 0 : -ENOMEM;
        }
        r = body_get(t, rec->content, NULL, &v);
        if (r < 0)
                return r;
        /* Only the payload is parsed: the rest of the body (the note and its candidates) is longer. */
        if (json_member_own(v.p, v.n, "payload", &part, &n) != 0)
                return -EUCLEAN;
        r = json_parse_own(part, n, BODY_MAX, JSON_DEPTH_DEFAULT - 1, ret);
        return r > 0 ? -EUCLEAN : r;
}

int record_walk(Txn *t, uint64_t scope, Kind kind, RecordWalk *ret) {
        uint8_t prefix[RECORD_KEY_HEAD];
        size_t n = kind ? RECORD_KEY_HEAD : 8;

        be64_put(prefix, scope);
        prefix[8] = (uint8_t)kind;
        return cursor_open_within(t, TABLE_REC, BYTES(prefix, n), n, &ret->cursor);
}

int record_walk_after(Txn *t, const RecordKey *k, RecordWalk *ret) {
        uint8_t from[RECORD_KEY_MAX + 1];
        size_t n = record_key(k, from);

        from[n] = 0; /* an id has no NUL: no key lies between the two */
        return cursor_open_within(t, TABLE_REC, BYTES(from, n + 1), RECORD_KEY_HEAD, &ret->cursor);
}

int record_walk_next(RecordWalk *w, Record *ret) {
        RecordKey key = {0};
        Bytes k, v;
        int r;

        record_deinit(ret);
        r = cursor_next(w->cursor, &k, &v) ?: record_key_decode(k, &key) ?: record_decode(&key, v, ret);
        if (r == -EUCLEAN)
                ret->key = key;
        return r;
}

void record_walk_deinit(RecordWalk *w) {
        cursor_free(w->cursor);
        w->cursor = NULL;
}

/* Key of change: the record's, NUL, seq. */
#define CHANGE_KEY_MAX (RECORD_KEY_MAX + 1 + 8)

int change_put(Txn *t, const RecordKey *k, uint64_t seq, Op op) {
        uint8_t key[CHANGE_KEY_MAX], v = (uint8_t)op;
        size_t n = record_key(k, key);

        key[n] = 0;
        be64_put(key + n + 1, seq);
        return table_put(t, TABLE_CHANGE, BYTES(key, n + 9), BYTES(&v, 1));
}

int change_walk(Txn *t, const RecordKey *k, ChangeWalk *ret) {
        uint8_t prefix[RECORD_KEY_MAX + 1];
        size_t n = record_key(k, prefix);

        prefix[n++] = 0;
        ret->n_prefix = n;
        return cursor_open_within(t, TABLE_CHANGE, BYTES(prefix, n), n, &ret->cursor);
}

int change_walk_next(ChangeWalk *w, uint64_t *ret_seq, Op *ret_op) {
        Bytes k, v;
        int r = cursor_next(w->cursor, &k, &v);

        if (r < 0)
                return r;
        if (k.n != w->n_prefix + 8 || v.n != 1 || !op_name((Op) * (const uint8_t *)v.p))
                return -EUCLEAN;
        *ret_seq = be64_get((const uint8_t *)k.p + w->n_prefix);
        *ret_op = (Op)*(const uint8_t *)v.p;
        return 0;
}

int change_next_record(Txn *t, RecordKey *k) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[RECORD_KEY_MAX + 1];
        size_t n = record_key(k, from);
        const uint8_t *p;
        Bytes key, v;
        int r;

        if (*k->id)
                from[n++] = 1; /* behind the NUL of all changes of the id */
        r = cursor_open_within(t, TABLE_CHANGE, BYTES(from, n), RECORD_KEY_HEAD, &c) ?: cursor_next(c, &key, &v);
        if (r < 0)
                return r;
        p = key.p;
        if (key.n < RECORD_KEY_HEAD + 1 + 9 || key.n > CHANGE_KEY_MAX || p[key.n - 9] != 0)
                return -EUCLEAN;
        n = key.n - 9 - RECORD_KEY_HEAD;
        memcpy(k->id, p + RECORD_KEY_HEAD, n);
        k->id[n] = '\0';
        return record_id_valid(k->kind, k->id) ? 0 : -EUCLEAN;
}

void change_walk_deinit(ChangeWalk *w) {
        cursor_free(w->cursor);
        w->cursor = NULL;
}
