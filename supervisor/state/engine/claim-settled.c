#include "engine/claim-table.h"

#include "base/hash.h"

#include <errno.h>
#include <string.h>

#define CLAIM_SAID_BYTES 8

/* The claim of a rule, for a settled pair. */
static void claims_digest(const RecordClaims *l, const char *rule, uint8_t ret[static CLAIM_SAID_BYTES]) {
        uint8_t hash[HASH_BYTES] = {0};

        for (size_t i = 0; i < l->n; i++)
                if (strcmp(l->v[i].rule, rule) == 0) {
                        const Claim *c = &l->v[i].claim;
                        uint8_t part[HASH_BYTES + CLAIM_GROUP_BYTES + 1 + CLAIM_VALUE_MAX];
                        size_t n = HASH_BYTES;

                        memcpy(part, hash, HASH_BYTES);
                        memcpy(part + n, c->group, CLAIM_GROUP_BYTES);
                        n += CLAIM_GROUP_BYTES;
                        part[n++] = (uint8_t)c->tag;
                        memcpy(part + n, c->value, c->n_value);
                        hash_bytes(part, n + c->n_value, hash);
                }
        memcpy(ret, hash, CLAIM_SAID_BYTES);
}

static size_t claim_key_settled(const Party *a, const Party *b, uint8_t *key) {
        size_t n = claim_key_head(a->key.scope, LETTER_SETTLED, key);

        n += claim_key_party(a->key.kind, a->key.id, a->rule, key + n);
        key[n++] = 0;
        return n + claim_key_party(b->key.kind, b->key.id, b->rule, key + n);
}

/* A record's word changes with the event of the payload, for the payload may have been erased since. A rule has no
 * own event. -ENOENT: no such record. */
static int claims_said(Txn *t, const Party *p, uint8_t ret[static CLAIM_SAID_BYTES]) {
        _cleanup_claims_ RecordClaims l = {0};
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = *p->rule ? claims_read(t, &p->key, &l) : record_get(t, &p->key, &rec);

        if (r == 0 && *p->rule)
                claims_digest(&l, p->rule, ret);
        else if (r == 0)
                be64_put(ret, rec.content);
        return r;
}

int claims_project_settled(Txn *t, uint64_t seq, const Party *a, const Party *b) {
        uint8_t v[8 + 2 * CLAIM_SAID_BYTES], back[8 + 2 * CLAIM_SAID_BYTES], key[CLAIM_KEY_MAX];
        int r = claims_said(t, a, v + 8) ?: claims_said(t, b, v + 8 + CLAIM_SAID_BYTES);

        be64_put(v, seq);
        memcpy(back, v, 8);
        memcpy(back + 8, v + 8 + CLAIM_SAID_BYTES, CLAIM_SAID_BYTES);
        memcpy(back + 8 + CLAIM_SAID_BYTES, v + 8, CLAIM_SAID_BYTES);
        if (r == 0)
                r = table_put(t, TABLE_CLAIM, BYTES(key, claim_key_settled(a, b, key)), BYTES(v, sizeof(v)));
        if (r == 0)
                r = table_put(t, TABLE_CLAIM, BYTES(key, claim_key_settled(b, a, key)), BYTES(back, sizeof(back)));
        return r;
}

int claims_settled(Txn *t, const Party *a, const Party *b) {
        uint8_t key[CLAIM_KEY_MAX], said[2 * CLAIM_SAID_BYTES], now[2 * CLAIM_SAID_BYTES];
        Bytes v;
        int r = table_get(t, TABLE_CLAIM, BYTES(key, claim_key_settled(a, b, key)), &v);

        if (r == 0 && v.n != 8 + sizeof(said))
                return -EUCLEAN;
        if (r == 0)
                memcpy(said, (const uint8_t *)v.p + 8, sizeof(said));
        r = r ?: claims_said(t, a, now) ?: claims_said(t, b, now + CLAIM_SAID_BYTES);
        return r == -ENOENT ? 0 : r ?: memcmp(said, now, sizeof(said)) == 0;
}

int claims_forget_settled(Txn *t, const RecordKey *k) {
        uint8_t prefix[CLAIM_KEY_MAX], key[CLAIM_KEY_MAX], back[CLAIM_KEY_MAX];
        size_t n = claim_key_head(k->scope, LETTER_SETTLED, prefix), id = strlen(k->id);
        int r = 0;

        prefix[n] = (uint8_t)k->kind;
        memcpy(prefix + n + 1, k->id, id + 1);
        n += id + 2;
        while (r == 0) {
                _cleanup_cursor_ Cursor *c = NULL;
                size_t n_key, mine;
                Bytes row, v;

                r = cursor_open_within(t, TABLE_CLAIM, BYTES(prefix, n), n, &c) ?: cursor_next(c, &row, &v);
                if (r < 0)
                        break;
                if (row.n > sizeof(key))
                        return -EUCLEAN;
                n_key = row.n;
                memcpy(key, row.p, n_key);
                mine = n - HEAD_BYTES + strnlen((const char *)key + n, n_key - n); /* kind, id, NUL, rule */
                if (HEAD_BYTES + mine + 1 >= n_key)
                        return -EUCLEAN;
                memcpy(back, key, HEAD_BYTES);
                memcpy(back + HEAD_BYTES, key + HEAD_BYTES + mine + 1, n_key - HEAD_BYTES - mine - 1);
                back[n_key - mine - 1] = 0;
                memcpy(back + n_key - mine, key + HEAD_BYTES, mine);
                r = table_del(t, TABLE_CLAIM, BYTES(key, n_key));
                if (r == 0)
                        r = table_del(t, TABLE_CLAIM, BYTES(back, n_key));
                r = r == -ENOENT ? 0 : r;
        }
        return r == -ENOENT ? 0 : r;
}

int claims_put_settled(Txn *t, const Party *p, json_t *o) {
        uint8_t key[CLAIM_KEY_MAX];
        size_t n = claim_key_head(p->key.scope, LETTER_SETTLED, key);
        _cleanup_json_ json_t *list = json_array();
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r = list ? 0 : -ENOMEM;

        n += claim_key_party(p->key.kind, p->key.id, p->rule, key + n);
        key[n++] = 0;
        if (r == 0)
                r = cursor_open_within(t, TABLE_CLAIM, BYTES(key, n), n, &c);
        while (r == 0 && json_array_size(list) < DISPUTES_MAX && (r = cursor_next(c, &k, &v)) == 0) {
                Party other;

                r = claim_party_read(p->key.scope, (const uint8_t *)k.p + n, k.n - n, &other);
                if (r == 0)
                        r = claims_settled(t, p, &other);
                if (r > 0)
                        r = json_array_append_new(list,
                                                  json_pack("{s:s, s:s, s:s*, s:o}", "kind", kind_name(other.key.kind),
                                                            "id", other.key.id, "rule", *other.rule ? other.rule : NULL,
                                                            "seq", json_u64(be64_get(v.p)))) < 0
                                    ? -ENOMEM
                                    : 0;
        }
        if (r == 0 || r == -ENOENT)
                r = json_array_size(list) > 0 && json_object_set(o, "settled", list) < 0 ? -ENOMEM : 0;
        return r;
}
