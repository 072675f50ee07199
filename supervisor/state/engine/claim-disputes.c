#include "engine/claim-table.h"

#include "refs/graph.h"

#include <errno.h>
#include <string.h>

#define CLAIM_STEPS_MAX 64 /* rows of the table that are read for a claim */

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

/* The rows of one tag in the claim's group. A value without opposition is skipped as a whole. */
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

static int disputes_put_of(Txn *t, const Record *rec, const char *rule, json_t *o) {
        Party self = {.key = rec->key};
        Disputes d;
        int r;

        if (!claim_kind(rec->key.kind, record_type(rec)) || !record_state_live(rec->state))
                return 0;
        strcpy(self.rule, rule ?: "");
        r = disputes_of(t, rec, rule, &d) ?: claims_put_settled(t, &self, o);
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
