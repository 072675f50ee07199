#include "policy/policy-rows.h"

#include <stdlib.h>
#include <string.h>

#define DIGEST_MAX 256

const char *const policy_reason_words[] = {"broken_ref", "superseded_by", "retired_dependency", "unsupported_since",
                                           NULL};

const DigestPolicy *policy_digest(const Policy *p, const char *scope) {
        for (size_t i = 0; i < p->n_digest; i++)
                if (strcmp(p->digest[i].scope, scope) == 0)
                        return &p->digest[i];
        return NULL;
}

static void policy_read_digest_row(Doc *d, const json_t *v, const char *pointer, Policy *p) {
        static const char *const known[] = {"scope", "archive", "remove", NULL};
        DigestPolicy row = {0};
        char at[POINTER_MAX];

        if (!doc_fields(d, v, pointer, known))
                return;
        doc_words(d, json_object_get(v, "archive"), pointer_key(at, pointer, "archive"), policy_reason_words, 4,
                  &row.archive);
        doc_words(d, json_object_get(v, "remove"), pointer_key(at, pointer, "remove"), policy_reason_words, 4,
                  &row.remove);
        pointer_key(at, pointer, "scope");
        if (!json_object_get(v, "scope"))
                doc_fault(d, pointer, "required", "\"scope\" is required");
        doc_scope(d, json_object_get(v, "scope"), at, &row.scope);
        if (!row.scope)
                return;
        if (policy_digest(p, row.scope)) {
                doc_fault(d, at, "twice", "scope \"%s\" stands there twice", row.scope);
                free(row.scope);
        } else
                p->digest[p->n_digest++] = row;
}

void policy_read_digest(Doc *d, const json_t *v, Policy *p) {
        if (!v || !doc_array(d, v, "/digest", DIGEST_MAX))
                return;
        p->digest = doc_rows(d, v, sizeof(*p->digest));
        for (size_t i = 0; p->digest && i < json_array_size(v); i++) {
                char at[POINTER_MAX];

                policy_read_digest_row(d, json_array_get(v, i), pointer_item(at, "/digest", i), p);
        }
}

void policy_sub_skill_deinit(SubSkillPolicy *s) {
        strv_free(s->reads);
        strv_free(s->writes);
        free(s->notes);
        free(s->canon);
        *s = (SubSkillPolicy){0};
}

void policy_read_sub_skill(Doc *d, const json_t *v, const char *pointer, SubSkillPolicy *ret) {
        static const char *const known[] = {"reads", "writes", "notes", "canon", NULL};
        char at[POINTER_MAX];

        if (!v || !doc_fields(d, v, pointer, known))
                return;
        ret->said = true;
        doc_slot_names(d, json_object_get(v, "reads"), pointer_key(at, pointer, "reads"), &ret->reads);
        doc_slot_names(d, json_object_get(v, "writes"), pointer_key(at, pointer, "writes"), &ret->writes);
        doc_scope(d, json_object_get(v, "notes"), pointer_key(at, pointer, "notes"), &ret->notes);
        doc_scope(d, json_object_get(v, "canon"), pointer_key(at, pointer, "canon"), &ret->canon);
}
