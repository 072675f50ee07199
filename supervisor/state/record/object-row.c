#include "record/object-row.h"

#include "record/rows.h"

#include <errno.h>
#include <string.h>

Bytes object_row_key(const char *id, const char *name, uint8_t key[static 64]) {
        size_t n_id = strlen(id) + 1, n = strlen(name);

        assert(n_id + n <= 64);
        memcpy(key, id, n_id);
        memcpy(key + n_id, name, n);
        return BYTES(key, n_id + n);
}

size_t object_entry_key(const char *id, uint64_t n, uint8_t ret[static OBJECT_ROW_KEY_MAX]) {
        memcpy(ret, id, REGION_ID_MAX);
        be64_put(ret + REGION_ID_MAX, n);
        return REGION_ID_MAX + 8;
}

static int object_row_read(Txn *t, Bytes key, json_t **ret) {
        _cleanup_json_ json_t *row = NULL;
        Bytes v;
        int r = table_get(t, TABLE_OBJECT, key, &v) ?: json_row_parse(v, OBJECT_ROW_MAX, &row);

        if (r == 0 && !json_is_object(row))
                r = -EUCLEAN;
        if (r == 0)
                *ret = TAKE_PTR(row);
        return r;
}

int object_row_get(Txn *t, const char *id, json_t **ret) {
        uint8_t key[64];

        return region_id_valid(id) ? object_row_read(t, object_row_key(id, "row", key), ret) : -ENOENT;
}

int object_row_bytes(Txn *t, const char *id, Bytes *ret) {
        uint8_t key[64];

        return region_id_valid(id) ? table_get(t, TABLE_OBJECT, object_row_key(id, "row", key), ret) : -ENOENT;
}

int object_trust_get(Txn *t, const char *keyid, json_t **ret) {
        uint8_t key[64];

        return strlen(keyid) == 8 ? object_row_read(t, object_row_key(OBJECT_TRUST, keyid, key), ret) : -ENOENT;
}

int object_entry_seq(Txn *t, const char *id, uint64_t n, uint64_t *ret) {
        uint8_t key[OBJECT_ROW_KEY_MAX];
        Bytes v;
        int r = table_get(t, TABLE_OBJECT, BYTES(key, object_entry_key(id, n, key)), &v);

        if (r == 0 && v.n != 8)
                r = -EUCLEAN;
        if (r == 0)
                *ret = be64_get(v.p);
        return r;
}

int object_row_next(Txn *t, const char *after, char ret[static REGION_ID_MAX]) {
        _cleanup_cursor_ Cursor *c = NULL;
        char from[REGION_ID_MAX] = "", id[REGION_ID_MAX] = "";
        size_t n = after ? strlen(after) : 0;
        Bytes k, v;
        int r;

        assert(n < sizeof(from));
        if (n > 0)
                memcpy(from, after, n);
        if (n > 0)
                from[n] = 1; /* behind all keys of the object: a NUL stands there */
        r = cursor_open(t, TABLE_OBJECT, BYTES(from, n > 0 ? n + 1 : 0), &c) ?: cursor_next(c, &k, &v);
        if (r < 0)
                return r;
        if (k.n <= REGION_ID_LEN || ((const char *)k.p)[REGION_ID_LEN] != '\0')
                return -ENOENT; /* the rows of keys stand behind all objects */
        memcpy(id, k.p, REGION_ID_LEN);
        if (!region_id_valid(id))
                return -ENOENT;
        strcpy(ret, id);
        return 0;
}

int object_row_in_state(Txn *t, const char *state, uint64_t *ret) {
        uint8_t key[64];
        Bytes v;
        int r = table_get(t, TABLE_OBJECT, object_row_key("state", state, key), &v);

        if (r == 0 && v.n != 8)
                r = -EUCLEAN;
        if (r == 0 || r == -ENOENT)
                *ret = r == 0 ? be64_get(v.p) : 0;
        return r == -ENOENT ? 0 : r;
}

int object_row_alive(Txn *t, uint64_t *ret) {
        static const char prefix[] = "state"; /* with its NUL */
        static const char ended[] = "terminated";
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_OBJECT, BYTES(prefix, sizeof(prefix)), sizeof(prefix), &c);

        *ret = 0;
        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0)
                if (k.n - sizeof(prefix) != strlen(ended) ||
                    memcmp((const char *)k.p + sizeof(prefix), ended, strlen(ended)) != 0)
                        *ret += v.n == 8 ? be64_get(v.p) : 0;
        return r == -ENOENT ? 0 : r;
}

int object_row_next_execution(Txn *t, const char *after, char ret[static REGION_ID_MAX]) {
        static const char prefix[] = "run"; /* with its NUL */
        char from[sizeof(prefix) + REGION_ID_LEN + 1] = "run";
        size_t n = sizeof(prefix) + strlen(after ?: "");
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r;

        assert(n < sizeof(from));
        memcpy(from + sizeof(prefix), after ?: "", strlen(after ?: ""));
        if (after && *after)
                from[n++] = 0; /* the next possible key */
        r = cursor_open_within(t, TABLE_OBJECT, BYTES(from, n), sizeof(prefix), &c) ?: cursor_next(c, &k, &v);
        if (r < 0)
                return r;
        if (k.n != sizeof(prefix) + REGION_ID_LEN)
                return -EUCLEAN;
        memcpy(ret, (const char *)k.p + sizeof(prefix), REGION_ID_LEN);
        ret[REGION_ID_LEN] = '\0';
        return region_id_valid(ret) ? 0 : -EUCLEAN;
}
