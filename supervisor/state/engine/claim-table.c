#include "engine/claim-table.h"

#include "base/hash.h"
#include "engine/engine.h"

#include <errno.h>
#include <string.h>

size_t claim_key_head(uint64_t scope, char letter, uint8_t *key) {
        be64_put(key, scope);
        key[8] = (uint8_t)letter;
        return HEAD_BYTES;
}

size_t claim_key_party(Kind kind, const char *id, const char *rule, uint8_t *key) {
        size_t n = strlen(id), k = strlen(rule);

        key[0] = (uint8_t)kind;
        memcpy(key + 1, id, n + 1);
        memcpy(key + n + 2, rule, k);
        return n + 2 + k;
}

size_t claim_key_value(uint64_t scope, const Claim *c, uint8_t *key) {
        uint8_t hash[HASH_BYTES];

        claim_key_head(scope, LETTER_CLAIM, key);
        memcpy(key + HEAD_BYTES, c->group, CLAIM_GROUP_BYTES);
        key[GROUP_BYTES] = (uint8_t)c->tag;
        hash_bytes(c->value, c->n_value, hash);
        memcpy(key + HASH_AT, hash, 8);
        return PARTY_AT;
}

static size_t claim_key(const RecordKey *k, const RecordClaim *c, uint8_t *key) {
        return claim_key_value(k->scope, &c->claim, key) + claim_key_party(k->kind, k->id, c->rule, key + PARTY_AT);
}

static size_t claim_key_record(const RecordKey *k, uint8_t *key) {
        size_t n = strlen(k->id);

        claim_key_head(k->scope, LETTER_RECORD, key);
        key[HEAD_BYTES] = (uint8_t)k->kind;
        memcpy(key + HEAD_BYTES + 1, k->id, n);
        return HEAD_BYTES + 1 + n;
}

int claim_party_read(uint64_t scope, const uint8_t *p, size_t n, Party *ret) {
        const char *id = (const char *)p + 1;
        size_t n_id = n > 1 ? strnlen(id, n - 1) : 0, rest = n - 1 - n_id;

        if (n_id == 0 || n_id >= RECORD_ID_MAX || rest == 0 || rest > RECORD_ID_MAX)
                return -EUCLEAN;
        *ret = (Party){.key = {.scope = scope, .kind = (Kind)*p}};
        memcpy(ret->key.id, id, n_id);
        memcpy(ret->rule, id + n_id + 1, rest - 1);
        return 0;
}

/* A claim in the record's row: group, tag, length and bytes of the value, length and bytes of the rule. */
#define RECORD_CLAIM_LEAST (CLAIM_GROUP_BYTES + 3)

static size_t record_claim_put(const RecordClaim *c, uint8_t *p) {
        size_t n = strlen(c->rule), at = CLAIM_GROUP_BYTES;

        memcpy(p, c->claim.group, CLAIM_GROUP_BYTES);
        p[at++] = (uint8_t)c->claim.tag;
        p[at++] = c->claim.n_value;
        memcpy(p + at, c->claim.value, c->claim.n_value);
        at += c->claim.n_value;
        p[at++] = (uint8_t)n;
        memcpy(p + at, c->rule, n);
        return at + n;
}

/* Returns the number of read bytes; 0: broken. */
static size_t record_claim_get(const uint8_t *p, size_t n, RecordClaim *ret) {
        size_t at = CLAIM_GROUP_BYTES + 2, k;

        memset(ret, 0, sizeof(*ret));
        if (n < RECORD_CLAIM_LEAST)
                return 0;
        memcpy(ret->claim.group, p, CLAIM_GROUP_BYTES);
        ret->claim.tag = p[at - 2];
        ret->claim.n_value = p[at - 1];
        if (ret->claim.n_value > CLAIM_VALUE_MAX || ret->claim.tag >= CLAIM_TAG_COUNT_ ||
            n < at + ret->claim.n_value + 1)
                return 0;
        memcpy(ret->claim.value, p + at, ret->claim.n_value);
        at += ret->claim.n_value;
        k = p[at++];
        if (k >= RECORD_ID_MAX || n < at + k)
                return 0;
        memcpy(ret->rule, p + at, k);
        return at + k;
}

int claims_read(Txn *t, const RecordKey *k, RecordClaims *ret) {
        uint8_t key[CLAIM_KEY_MAX];
        Bytes v;
        int r = table_get(t, TABLE_CLAIM, BYTES(key, claim_key_record(k, key)), &v);

        *ret = (RecordClaims){0};
        if (r < 0)
                return r == -ENOENT ? 0 : r;
        ret->room = v.n / RECORD_CLAIM_LEAST + 1;
        ret->v = calloc(ret->room, sizeof(*ret->v));
        if (!ret->v)
                return -ENOMEM;
        for (size_t at = 0, n; at < v.n; at += n) {
                n = record_claim_get((const uint8_t *)v.p + at, v.n - at, &ret->v[ret->n]);
                if (n == 0)
                        return -EUCLEAN;
                ret->n++;
        }
        return 0;
}

static int claims_write(Txn *t, const RecordKey *k, const RecordClaims *l) {
        _cleanup_free_ uint8_t *p = malloc(l->n * (RECORD_CLAIM_LEAST + CLAIM_VALUE_MAX + RECORD_ID_MAX) + 1);
        uint8_t key[CLAIM_KEY_MAX];
        Bytes at = BYTES(key, claim_key_record(k, key));
        size_t n = 0;
        int r;

        if (!p)
                return -ENOMEM;
        for (size_t i = 0; i < l->n; i++)
                n += record_claim_put(&l->v[i], p + n);
        if (n > 0)
                return table_put(t, TABLE_CLAIM, at, BYTES(p, n));
        r = table_del(t, TABLE_CLAIM, at);
        return r == -ENOENT ? 0 : r;
}

static int claim_row(Txn *t, const RecordKey *k, const RecordClaim *c, bool live) {
        uint8_t key[CLAIM_KEY_MAX];
        Bytes at = BYTES(key, claim_key(k, c, key));
        int r;

        if (live)
                return table_put(t, TABLE_CLAIM, at, BYTES(c->claim.value, c->claim.n_value));
        r = table_del(t, TABLE_CLAIM, at);
        return r == -ENOENT ? 0 : r;
}

/* Both lists are sorted. A kept claim keeps the row. */
static int claims_replace(Txn *t, const RecordKey *k, const RecordClaims *old, RecordClaims *now, bool live) {
        int r = 0;

        for (size_t i = 0, j = 0; r == 0 && (i < old->n || j < now->n);) {
                int c = i == old->n ? 1 : j == now->n ? -1 : claim_compare(&old->v[i], &now->v[j]);

                if (c < 0)
                        r = claim_row(t, k, &old->v[i], false);
                else
                        r = claim_row(t, k, &now->v[j], live);
                i += c <= 0;
                j += c >= 0;
        }
        return r ?: claims_write(t, k, now);
}

int claims_project(Txn *t, const Record *rec, Op op, const json_t *body) {
        bool live = record_state_live(rec->state) && op != OP_DELETE,
             gone = op == OP_DELETE || rec->state == RECORD_REMOVED,
             said = op_creates(op) || op == OP_SAVE || op == OP_PATCH;
        _cleanup_claims_ RecordClaims old = {0}, now = {0};
        int r = claim_kind(rec->key.kind, record_type(rec)) ? claims_read(t, &rec->key, &old) : -ENOENT;

        if (r == -ENOENT)
                return 0;
        if (r == 0 && said)
                r = claims_of_payload(t, rec->key.kind, record_type(rec), json_object_get(body, "payload"), &now);
        if (r == 0 && !said && !gone) { /* the text stays; the claims count or do not */
                for (size_t i = 0; r == 0 && i < old.n; i++)
                        r = claim_row(t, &rec->key, &old.v[i], live);
                return r;
        }
        if (r == 0 && (old.n > 0 || now.n > 0))
                r = claims_replace(t, &rec->key, &old, &now, live);
        return r == 0 && gone ? claims_forget_settled(t, &rec->key) : r;
}
