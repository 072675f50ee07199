#include "engine/claim-table.h"

#include "index/index.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define CLAIM_RULES_MAX 1024

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

bool claim_kind(Kind k, const char *type) {
        return k == KIND_CONSTRAINT || k == KIND_DECISION || kind_class(k) == CLASS_KERNEL ||
               (k == KIND_MEMORY && type && strcmp(type, "semantic") == 0);
}

void record_claims_deinit(RecordClaims *l) {
        free(l->v);
        *l = (RecordClaims){0};
}

int claim_compare(const void *a, const void *b) {
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

int claims_of_payload(Txn *t, Kind kind, const char *type, const json_t *payload, RecordClaims *ret) {
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
