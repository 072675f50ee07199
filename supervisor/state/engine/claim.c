#include "engine/claim.h"

#include "base/hash.h"
#include "engine/engine.h"
#include "index/index.h"
#include "refs/graph.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_STEPS_MAX 64 /* rows of the table that are read for a claim */
#define CLAIM_RULES_MAX 1024
#define CLAIM_SAID_BYTES 8

/* Keys of TABLE_CLAIM begin with the scope's number and a letter:
 * 'c' group, tag, hash of the value, kind, id, NUL, rule -> value: the claims of live records;
 * 'r' kind, id -> the same claims, whether live or not (RecordClaim);
 * 's' kind, id, NUL, rule, NUL, kind, id, NUL, rule -> seq, what either said: a settled pair, once from each side. */
enum { LETTER_CLAIM = 'c', LETTER_RECORD = 'r', LETTER_SETTLED = 's' };
#define HEAD_BYTES (8 + 1)
#define GROUP_BYTES (HEAD_BYTES + CLAIM_GROUP_BYTES)
#define HASH_AT (GROUP_BYTES + 1)
#define PARTY_AT (HASH_AT + 8)
#define PARTY_BYTES (1 + 2 * RECORD_ID_MAX)
#define CLAIM_KEY_MAX (PARTY_AT + 2 * PARTY_BYTES)

const char *party_name(const Party *p, char ret[static PARTY_NAME_MAX]) {
        snprintf(ret, PARTY_NAME_MAX, "%s/%s", kind_name(p->key.kind), *p->rule ? p->rule : p->key.id);
        return ret;
}

int party_parse(uint64_t scope, const char *name, Party *ret) {
        const char *slash = strchr(name, '/');
        char kind[32];
        bool kernel;
        Kind k;

        if (!slash || (size_t)(slash - name) >= sizeof(kind))
                return -EINVAL;
        snprintf(kind, sizeof(kind), "%.*s", (int)(slash - name), name);
        k = kind_from_name(kind);
        kernel = kind_class(k) == CLASS_KERNEL;
        if (!k || !record_id_valid(k, slash + 1))
                return -EINVAL;
        *ret = (Party){.key = record_key_of(scope, k, kernel ? "kernel" : slash + 1)};
        if (kernel)
                strcpy(ret->rule, slash + 1);
        return 0;
}

static bool claim_kind(Kind k, const char *type) {
        return k == KIND_CONSTRAINT || k == KIND_DECISION || kind_class(k) == CLASS_KERNEL ||
               (k == KIND_MEMORY && type && strcmp(type, "semantic") == 0);
}

/* A claim of a record, as the table has it. */
typedef struct RecordClaim {
        Claim claim;
        char rule[RECORD_ID_MAX];
} RecordClaim;

typedef struct RecordClaims {
        RecordClaim *v; /* owned, in the order of claim_compare() */
        size_t n, room;
} RecordClaims;

static void record_claims_deinit(RecordClaims *l) {
        free(l->v);
        *l = (RecordClaims){0};
}
#define _cleanup_claims_ _cleanup_(record_claims_deinit)

static int claim_compare(const void *a, const void *b) {
        const RecordClaim *x = a, *y = b;
        int c = strcmp(x->rule, y->rule) ?: memcmp(x->claim.group, y->claim.group, CLAIM_GROUP_BYTES);

        if (c == 0)
                c = (x->claim.tag > y->claim.tag) - (x->claim.tag < y->claim.tag);
        if (c == 0)
                c = (x->claim.n_value > y->claim.n_value) - (x->claim.n_value < y->claim.n_value);
        return c ?: memcmp(x->claim.value, y->claim.value, x->claim.n_value);
}

static int record_claims_add(RecordClaims *l, const ClaimList *said, const char *rule) {
        if (l->n + said->n > l->room) {
                size_t room = MAX(2 * l->room, l->n + said->n);
                RecordClaim *v = reallocarray(l->v, room, sizeof(*v));

                if (!v)
                        return -ENOMEM;
                l->v = v;
                l->room = room;
        }
        for (size_t i = 0; i < said->n; i++) {
                RecordClaim *c = &l->v[l->n++];

                memset(c, 0, sizeof(*c));
                c->claim = said->v[i];
                strcpy(c->rule, rule);
        }
        return 0;
}

static int claims_of_text(Tokenizer *bag, const char *text, const char *rule, RecordClaims *ret) {
        ClaimList said;
        int r = text ? statement_claims(bag, text, strlen(text), &said) : -ENOENT;

        return r == -ENOENT ? 0 : r ?: record_claims_add(ret, &said, rule);
}

static int claims_of_triple(Tokenizer *bag, const json_t *o, const char *rule, RecordClaims *ret) {
        const char *subject = json_text(json_object_get(o, "subject")),
                   *predicate = json_text(json_object_get(o, "predicate")),
                   *object = json_text(json_object_get(o, "object"));
        ClaimList said;
        int r;

        if (!subject || !predicate || !object)
                return -ENOENT;
        r = statement_triple(bag, subject, predicate, object, &said);
        return r ?: record_claims_add(ret, &said, rule);
}

/* A rule is a statement, or a triple. */
static int claims_of_rules(Tokenizer *bag, const json_t *rules, RecordClaims *ret) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < MIN(json_array_size(rules), (size_t)CLAIM_RULES_MAX); i++) {
                const json_t *rule = json_array_get(rules, i);
                const char *id = json_text(json_object_get(rule, "id"));

                if (!id || strlen(id) >= RECORD_ID_MAX || !json_text_is(json_object_get(rule, "lifecycle"), "active"))
                        continue;
                r = claims_of_triple(bag, rule, id, ret);
                if (r == -ENOENT)
                        r = claims_of_text(bag, json_text(json_object_get(rule, "statement")), id, ret);
        }
        return r;
}

static int claims_of_payload(Txn *t, Kind kind, const char *type, const json_t *payload, RecordClaims *ret) {
        Tokenizer *bag;
        int r;

        if (!payload || !claim_kind(kind, type))
                return 0;
        r = index_bag(t, &bag);
        if (r == 0)
                r = kind_class(kind) == CLASS_KERNEL ? claims_of_rules(bag, json_object_get(payload, "rules"), ret)
                    : kind == KIND_MEMORY            ? claims_of_triple(bag, payload, "", ret)
                    : kind == KIND_CONSTRAINT
                            ? claims_of_text(bag, json_text(json_object_get(payload, "statement")), "", ret)
                            : claims_of_text(bag, json_text(json_object_get(payload, "decision")), "", ret);
        if (r == 0 && ret->n > 0)
                qsort(ret->v, ret->n, sizeof(*ret->v), claim_compare);
        return r == -ENOENT ? 0 : r;
}

static size_t claim_key_head(uint64_t scope, char letter, uint8_t *key) {
        be64_put(key, scope);
        key[8] = (uint8_t)letter;
        return HEAD_BYTES;
}

static size_t claim_key_party(Kind kind, const char *id, const char *rule, uint8_t *key) {
        size_t n = strlen(id), k = strlen(rule);

        key[0] = (uint8_t)kind;
        memcpy(key + 1, id, n + 1);
        memcpy(key + n + 2, rule, k);
        return n + 2 + k;
}

/* Key of a claim until its hash; by_value: with the hash. */
static size_t claim_key_value(uint64_t scope, const Claim *c, uint8_t *key) {
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

/* A claim in the row of its record: group, tag, length and bytes of the value, length and bytes of the rule. */
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

/* The bytes that it took; 0: broken. */
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

/* The claims of the record in the table; none: *ret is empty. */
static int claims_read(Txn *t, const RecordKey *k, RecordClaims *ret) {
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

/* Both lists are sorted. A claim that stays keeps its row. */
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

/* The opposite of claim_key_party(). */
static int claim_party_read(uint64_t scope, const uint8_t *p, size_t n, Party *ret) {
        const char *id = (const char *)p + 1;
        size_t n_id = n > 1 ? strnlen(id, n - 1) : 0, rest = n - 1 - n_id;

        if (n_id == 0 || n_id >= RECORD_ID_MAX || rest == 0 || rest > RECORD_ID_MAX)
                return -EUCLEAN;
        *ret = (Party){.key = {.scope = scope, .kind = (Kind)*p}};
        memcpy(ret->key.id, id, n_id);
        memcpy(ret->rule, id + n_id + 1, rest - 1);
        return 0;
}

static size_t claim_key_settled(const Party *a, const Party *b, uint8_t *key) {
        size_t n = claim_key_head(a->key.scope, LETTER_SETTLED, key);

        n += claim_key_party(a->key.kind, a->key.id, a->rule, key + n);
        key[n++] = 0;
        return n + claim_key_party(b->key.kind, b->key.id, b->rule, key + n);
}

/* A record's word changes with the event of its payload: the payload itself may have been erased since. A rule has no
 * event of its own. -ENOENT: no such record. */
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

/* Returns 1, 0, -errno. */
static int claims_settled(Txn *t, const Party *a, const Party *b) {
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

/* Drops the settled pairs of a record that is gone, from both sides. */
static int claims_forget_settled(Txn *t, const RecordKey *k) {
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

/* A look for opposed records. */
typedef struct Looking {
        Txn *t;
        const RecordKey *of;
        const RecordClaims *own;
        const json_t *refs; /* the record's references to be */
        bool to_be;         /* the record's new payload and references are not in the tables yet */
        Disputes *ret;
} Looking;

static int looking_supersedes(Txn *t, const RecordKey *source, const RecordKey *target) {
        _cleanup_ref_walk_ RefWalk w = {0};
        Ref ref;
        int r = source->kind == KIND_MEMORY && target->kind == KIND_MEMORY ? ref_walk(t, source, false, &w) : -ENOENT;

        while (r == 0 && (r = ref_walk_next(&w, &ref)) == 0)
                if (record_key_compare(&ref.target, target) == 0 && strcmp(ref.role, REF_ROLE_SUPERSEDES) == 0)
                        return graph_supersedes(t, &ref);
        return r == -ENOENT ? 0 : r;
}

static int looking_superseded(const Looking *l, const RecordKey *other) {
        for (size_t i = 0; i < json_array_size(l->refs); i++) {
                const json_t *ref = json_array_get(l->refs, i);

                if (json_text_is(json_object_get(ref, "role"), REF_ROLE_SUPERSEDES) &&
                    json_text_is(json_object_get(ref, "kind"), kind_name(other->kind)) &&
                    json_text_is(json_object_get(ref, "id"), other->id))
                        return 1;
        }
        return (l->to_be ? 0 : looking_supersedes(l->t, l->of, other)) ?: looking_supersedes(l->t, other, l->of);
}

static int looking_add(const Looking *l, const RecordClaim *own, const Party *other) {
        Party self = {.key = *l->of};
        Disputes *d = l->ret;
        int r;

        strcpy(self.rule, own->rule);
        for (size_t i = 0; i < d->n; i++)
                if (record_key_compare(&d->v[i].key, &other->key) == 0 && strcmp(d->v[i].rule, other->rule) == 0 &&
                    strcmp(d->of[i], own->rule) == 0)
                        return 0;
        r = (l->to_be ? 0 : claims_settled(l->t, &self, other)) ?: looking_superseded(l, &other->key);
        if (r != 0)
                return MIN(r, 0);
        if (d->n == DISPUTES_MAX) {
                d->more = true;
                return 0;
        }
        strcpy(d->of[d->n], own->rule);
        d->v[d->n++] = *other;
        return 0;
}

/* The rows of one tag in the claim's group. A value that does not oppose is skipped as a whole. */
static int looking_at_tag(const Looking *l, const RecordClaim *own, ClaimTag tag) {
        uint8_t from[CLAIM_KEY_MAX];
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;
        int r;

        claim_key_value(l->of->scope, &own->claim, from);
        from[GROUP_BYTES] = (uint8_t)tag;
        r = cursor_open_within(l->t, TABLE_CLAIM, BYTES(from, HASH_AT), HASH_AT, &c);
        for (unsigned steps = 0;
             r == 0 && steps < CLAIM_STEPS_MAX && !l->ret->more && (r = cursor_next(c, &k, &v)) == 0; steps++) {
                Claim other = {.tag = tag};
                Party party;

                if (k.n < PARTY_AT + 2 || v.n > CLAIM_VALUE_MAX)
                        return -EUCLEAN;
                memcpy(other.value, v.p, v.n);
                other.n_value = (uint8_t)v.n;
                if (claim_opposed(&own->claim, &other)) {
                        r = claim_party_read(l->of->scope, (const uint8_t *)k.p + PARTY_AT, k.n - PARTY_AT, &party);
                        if (r == 0 && (record_key_compare(&party.key, l->of) != 0 ||
                                       (!l->to_be && strcmp(party.rule, own->rule) != 0)))
                                r = looking_add(l, own, &party);
                        continue;
                }
                memcpy(from, k.p, PARTY_AT);
                from[PARTY_AT] = 0xff; /* behind all of this value: no kind has this number */
                cursor_free(TAKE_PTR(c));
                r = cursor_open_within(l->t, TABLE_CLAIM, BYTES(from, PARTY_AT + 1), HASH_AT, &c);
        }
        return r == -ENOENT ? 0 : r;
}

static int looking(const Looking *l, const char *rule) {
        int r = 0;

        for (size_t i = 0; r == 0 && i < l->own->n && !l->ret->more; i++)
                for (ClaimTag tag = CLAIM_REQUIRED; r == 0 && tag < CLAIM_TAG_COUNT_; tag++)
                        if (claim_tags_opposed(l->own->v[i].claim.tag, tag) &&
                            (!rule || strcmp(l->own->v[i].rule, rule) == 0))
                                r = looking_at_tag(l, &l->own->v[i], tag);
        return r;
}

int disputes_of(Txn *t, const Record *rec, const char *rule, Disputes *ret) {
        _cleanup_claims_ RecordClaims own = {0};
        bool may = record_state_live(rec->state) && claim_kind(rec->key.kind, record_type(rec));
        int r = may ? claims_read(t, &rec->key, &own) : 0;

        ret->n = 0;
        ret->more = false;
        return r ?: looking(&(Looking){.t = t, .of = &rec->key, .own = &own, .ret = ret}, rule);
}

int disputes_to_be(Txn *t, const RecordKey *k, const char *type, const json_t *payload, const json_t *refs,
                   Disputes *ret) {
        _cleanup_claims_ RecordClaims own = {0};
        int r = claims_of_payload(t, k->kind, type, payload, &own);

        ret->n = 0;
        ret->more = false;
        return r ?: looking(&(Looking){.t = t, .of = k, .own = &own, .refs = refs, .to_be = true, .ret = ret}, NULL);
}

json_t *disputes_json(const Disputes *d) {
        _cleanup_json_ json_t *a = json_array();

        for (size_t i = 0; a && i < d->n; i++)
                if (json_array_append_new(a,
                                          json_pack("{s:s, s:s, s:s*, s:s*}", "kind", kind_name(d->v[i].key.kind), "id",
                                                    d->v[i].key.id, "rule", *d->v[i].rule ? d->v[i].rule : NULL, "of",
                                                    *d->of[i] ? d->of[i] : NULL)) < 0)
                        return NULL;
        return TAKE_PTR(a);
}

/* The pairs of the party that are settled, and still as they were then. */
static int disputes_put_settled(Txn *t, const Party *p, json_t *o) {
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

static int disputes_put_of(Txn *t, const Record *rec, const char *rule, json_t *o) {
        Party self = {.key = rec->key};
        Disputes d;
        int r;

        if (!claim_kind(rec->key.kind, record_type(rec)) || !record_state_live(rec->state))
                return 0;
        strcpy(self.rule, rule ?: "");
        r = disputes_of(t, rec, rule, &d) ?: disputes_put_settled(t, &self, o);
        if (r < 0 || d.n == 0)
                return r;
        r = json_put(o, "disputed", disputes_json(&d));
        if (d.more)
                r |= json_put(o, "disputed_more", json_true());
        return r ? -ENOMEM : 0;
}

int disputes_put(Txn *t, const Record *rec, json_t *o) {
        return disputes_put_of(t, rec, NULL, o);
}

int disputes_put_rule(Txn *t, const RecordKey *k, const char *rule, json_t *o) {
        return disputes_put_of(t, &(Record){.key = *k, .state = RECORD_ACTIVE}, rule, o);
}

int disputes_keep(json_t *row, unsigned classes) {
        static const char *const lists[] = {"disputed", "settled"};
        bool more = false;

        for (size_t k = 0; k < ARRAY_SIZE(lists); k++) {
                json_t *list = json_object_get(row, lists[k]);

                for (size_t i = json_array_size(list); i > 0; i--)
                        if (!(classes &
                              1U << kind_class(kind_from_name(json_str(json_array_get(list, i - 1), "kind"))))) {
                                json_array_remove(list, i - 1);
                                more |= k == 0;
                        }
        }
        return more && json_put(row, "disputed_more", json_true()) < 0 ? -ENOMEM : 0;
}
