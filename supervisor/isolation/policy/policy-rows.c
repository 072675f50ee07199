#include "policy/policy.h"

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

static void policy_read_digest_row(Doc *d, const Node *v, Policy *p) {
        const Node *scope = MEMBER(v, "scope");
        DigestPolicy row = {0};

        if (!doc_fields(d, v, WORDS("scope", "archive", "remove")))
                return;
        doc_words(d, MEMBER(v, "archive"), policy_reason_words, 4, &row.archive);
        doc_words(d, MEMBER(v, "remove"), policy_reason_words, 4, &row.remove);
        if (!scope->v)
                doc_fault(d, v, "required", "\"scope\" is required");
        doc_scope(d, scope, &row.scope);
        if (!row.scope)
                return;
        if (policy_digest(p, row.scope)) {
                doc_fault(d, scope, "twice", "scope \"%s\" stands there twice", row.scope);
                free(row.scope);
        } else
                p->digest[p->n_digest++] = row;
}

void policy_read_digest(Doc *d, const Node *v, Policy *p) {
        if (!doc_array(d, v, DIGEST_MAX))
                return;
        p->digest = doc_rows(d, v, sizeof(*p->digest));
        for (size_t i = 0; p->digest && i < json_array_size(v->v); i++)
                policy_read_digest_row(d, ITEM(v, i), p);
}

void policy_sub_skill_deinit(SubSkillPolicy *s) {
        strv_free(s->reads);
        strv_free(s->writes);
        free(s->notes);
        free(s->canon);
        *s = (SubSkillPolicy){0};
}

void policy_read_sub_skill(Doc *d, const Node *v, SubSkillPolicy *ret) {
        if (!doc_fields(d, v, WORDS("reads", "writes", "notes", "canon")))
                return;
        ret->said = true;
        doc_slot_names(d, MEMBER(v, "reads"), &ret->reads);
        doc_slot_names(d, MEMBER(v, "writes"), &ret->writes);
        doc_scope(d, MEMBER(v, "notes"), &ret->notes);
        doc_scope(d, MEMBER(v, "canon"), &ret->canon);
}
