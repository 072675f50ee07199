#include "record/rows.h"

#include <errno.h>
#include <string.h>

#define SLOT_ROW_BYTES (6 * 8 + REGION_ID_LEN)

int json_row_put(Txn *t, Table table, Bytes key, const json_t *row) {
        _cleanup_free_ char *text = NULL;
        size_t n;

        return json_canonical(row, &text, &n) ?: table_put(t, table, key, BYTES(text, n));
}

int json_row_parse(Bytes v, size_t most, json_t **ret) {
        int r = json_parse_own(v.p, v.n, most, JSON_DEPTH_DEFAULT, ret);

        return r > 0 ? -EUCLEAN : r;
}

int json_row_keep(json_t *o, const json_t *from, const char *const *members, size_t n) {
        for (size_t i = 0; i < n; i++) {
                json_t *v = json_object_get(from, members[i]);

                if (v && json_object_set(o, members[i], v) < 0)
                        return -ENOMEM;
        }
        return 0;
}

int json_row_number(const json_t *row, const char *member, uint64_t *ret) {
        const json_t *v = json_object_get(row, member);

        *ret = 0;
        return v && json_get_u64(v, ret) < 0 ? -EUCLEAN : 0;
}

int slot_row_decode(Bytes v, SlotRow *ret) {
        const uint8_t *p = v.p;

        /* A rule adds one byte to the row. Stores from before the rules have only rows without this byte. */
        if (v.n != SLOT_ROW_BYTES && !(v.n == SLOT_ROW_BYTES + 1 && p[SLOT_ROW_BYTES] == 1))
                return -EUCLEAN;
        *ret = (SlotRow){
                be64_get(p), be64_get(p + 8), be64_get(p + 16), be64_get(p + 24), be64_get(p + 32), be64_get(p + 40),
                "", v.n > SLOT_ROW_BYTES};
        memcpy(ret->held_by, p + 48, REGION_ID_LEN);
        return 0;
}

int slot_row_get(Txn *t, const char *name, SlotRow *ret) {
        Bytes v;

        return table_get(t, TABLE_SLOT, BYTES_STR(name), &v) ?: slot_row_decode(v, ret);
}

int slot_row_put(Txn *t, const char *name, const SlotRow *row) {
        uint8_t v[SLOT_ROW_BYTES + 1] = {0};

        be64_put(v, row->defined);
        be64_put(v + 8, row->version);
        be64_put(v + 16, row->written);
        be64_put(v + 24, row->body);
        if (row->held_version) {
                be64_put(v + 32, row->held_version);
                be64_put(v + 40, row->held_seq);
                memcpy(v + 48, row->held_by, REGION_ID_LEN);
        }
        v[SLOT_ROW_BYTES] = 1;
        return table_put(t, TABLE_SLOT, BYTES_STR(name), BYTES(v, SLOT_ROW_BYTES + row->arbitrated));
}

size_t slot_seq_key(const char *name, uint64_t seq, uint8_t ret[static HIST_KEY_MAX]) {
        size_t n = strlen(name) + 1;

        assert(n <= SLOT_NAME_MAX + 1);
        memcpy(ret, name, n);
        be64_put(ret + n, seq);
        return n + 8;
}

int hist_row_put(Txn *t, const char *name, uint64_t version, uint64_t written, uint64_t body) {
        uint8_t k[HIST_KEY_MAX], v[16];
        size_t n = slot_seq_key(name, version, k);

        be64_put(v, written);
        be64_put(v + 8, body);
        return table_add(t, TABLE_HIST, BYTES(k, n), BYTES(v, sizeof(v)));
}

int hist_row_erase(Txn *t, const char *name, uint64_t version, bool *ret_newly) {
        uint64_t written, body;
        uint8_t k[HIST_KEY_MAX], v[16];
        int r = hist_row_get(t, name, version, &written, &body);

        if (r < 0)
                return r;
        be64_put(v, written);
        be64_put(v + 8, 0);
        *ret_newly = body != 0;
        return body == 0 ? 0 : table_put(t, TABLE_HIST, BYTES(k, slot_seq_key(name, version, k)), BYTES(v, sizeof(v)));
}

int hist_row_decode(Bytes v, uint64_t *ret_written, uint64_t *ret_body) {
        if (v.n != 16)
                return -EUCLEAN;
        *ret_written = be64_get(v.p);
        *ret_body = be64_get((const uint8_t *)v.p + 8);
        return 0;
}

int hist_row_get(Txn *t, const char *name, uint64_t version, uint64_t *ret_written, uint64_t *ret_body) {
        uint8_t k[HIST_KEY_MAX];
        Bytes v;

        return table_get(t, TABLE_HIST, BYTES(k, slot_seq_key(name, version, k)), &v)
                ?: hist_row_decode(v, ret_written, ret_body);
}

void held_key(const char *region, uint64_t seq, uint8_t ret[static HELD_KEY_BYTES]) {
        memcpy(ret, region, REGION_ID_LEN);
        be64_put(ret + REGION_ID_LEN, seq);
}

int held_row_put(Txn *t, const HeldRow *row) {
        uint8_t k[HELD_KEY_BYTES], v[8 + SLOT_NAME_MAX];
        size_t n = strlen(row->name);

        held_key(row->region, row->seq, k);
        be64_put(v, row->version);
        memcpy(v + 8, row->name, n);
        return table_add(t, TABLE_HELD, BYTES(k, sizeof(k)), BYTES(v, 8 + n));
}

int held_row_decode(Bytes k, Bytes v, HeldRow *ret) {
        if (k.n != HELD_KEY_BYTES || v.n < 9 || v.n > 8 + SLOT_NAME_MAX)
                return -EUCLEAN;
        *ret = (HeldRow){.seq = be64_get((const uint8_t *)k.p + REGION_ID_LEN), .version = be64_get(v.p)};
        memcpy(ret->region, k.p, REGION_ID_LEN);
        memcpy(ret->name, (const uint8_t *)v.p + 8, v.n - 8);
        return 0;
}

#define QUORUM_ROW_BYTES (8 + 2 * REGION_ID_LEN)

int gather_row_put(Txn *t, const char *name, const QuorumRow *row) {
        uint8_t k[HIST_KEY_MAX], v[QUORUM_ROW_BYTES];
        size_t n = slot_seq_key(name, row->seq, k);

        be64_put(v, row->gathered);
        memcpy(v + 8, row->region, REGION_ID_LEN);
        memcpy(v + 8 + REGION_ID_LEN, row->tree, REGION_ID_LEN);
        return table_add(t, TABLE_GATHER, BYTES(k, n), BYTES(v, sizeof(v)));
}

int gather_rows(Txn *t, const char *name, QuorumRow *ret, size_t room) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[HIST_KEY_MAX];
        size_t n_from = slot_seq_key(name, 0, from), n = 0;
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_GATHER, BYTES(from, n_from), n_from - 8, &c);

        while (r == 0 && (r = cursor_next(c, &k, &v)) == 0) {
                const uint8_t *p = v.p;

                if (k.n != n_from || v.n != QUORUM_ROW_BYTES || n == room)
                        return -EUCLEAN;
                ret[n] = (QuorumRow){.seq = be64_get((const uint8_t *)k.p + k.n - 8), .gathered = be64_get(p)};
                memcpy(ret[n].region, p + 8, REGION_ID_LEN);
                memcpy(ret[n++].tree, p + 8 + REGION_ID_LEN, REGION_ID_LEN);
        }
        return r == -ENOENT ? (int)n : r;
}

int verdict_row_put(Txn *t, const char *name, uint64_t seq, uint64_t winner) {
        uint8_t k[HIST_KEY_MAX], v[8];

        return table_add(t, TABLE_VERDICT, BYTES(k, slot_seq_key(name, seq, k)), seq_key(winner, v));
}

int verdict_row_next(Txn *t, const char *name, uint64_t seq, uint64_t *ret_seq, uint64_t *ret_winner) {
        _cleanup_cursor_ Cursor *c = NULL;
        uint8_t from[HIST_KEY_MAX];
        size_t n = slot_seq_key(name, seq, from);
        Bytes k, v;
        int r = cursor_open_within(t, TABLE_VERDICT, BYTES(from, n), n - 8, &c) ?: cursor_next(c, &k, &v);

        if (r < 0)
                return r;
        if (k.n != n || v.n != 8)
                return -EUCLEAN;
        *ret_seq = be64_get((const uint8_t *)k.p + k.n - 8);
        *ret_winner = be64_get(v.p);
        return 0;
}

int body_get(Txn *t, uint64_t seq, Bytes *ret_nonce, Bytes *ret_payload) {
        uint8_t key[8];
        Bytes v;
        int r = table_get(t, TABLE_BODY, seq_key(seq, key), &v);

        if (r < 0)
                return r;
        if (v.n < BODY_NONCE_BYTES)
                return -EUCLEAN;
        if (ret_nonce)
                *ret_nonce = BYTES(v.p, BODY_NONCE_BYTES);
        *ret_payload = BYTES((const uint8_t *)v.p + BODY_NONCE_BYTES, v.n - BODY_NONCE_BYTES);
        return 0;
}

int body_del(Txn *t, uint64_t seq) {
        uint8_t key[8];
        int r = table_del(t, TABLE_BODY, seq_key(seq, key));

        return r == -ENOENT ? 0 : r;
}
