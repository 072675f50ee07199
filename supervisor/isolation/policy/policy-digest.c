/* Runs: supervisor, CLI. "digest": which reasons the operator approves for which scope, ahead. */
#include "policy/policy-private.h"

#include "base/id.h"
#include "schema/limits.h"

#include <string.h>

#define DIGEST_MAX 256

const char *const policy_reason_words[] = {"broken_ref", "superseded_by", "retired_dependency", "unsupported_since", NULL};

const DigestPolicy *policy_digest(const Policy *p, const char *scope) {
        for (size_t i = 0; i < p->n_digest; i++)
                if (strcmp(p->digest[i].scope, scope) == 0)
                        return &p->digest[i];
        return NULL;
}

static void policy_read_reasons(Doc *d, const json_t *v, const char *pointer, unsigned *ret) {
        if (!v || !doc_array(d, v, pointer, 4))
                return;
        for (size_t i = 0; i < json_array_size(v); i++) {
                char at[POINTER_MAX];
                size_t word = 0;

                pointer_item(at, pointer, i);
                if (!doc_word(d, json_array_get(v, i), at, policy_reason_words, &word))
                        continue;
                if (*ret & 1U << word)
                        doc_fault(d, at, "twice", "\"%s\" stands there twice", policy_reason_words[word]);
                *ret |= 1U << word;
        }
}

static void policy_read_digest_row(Doc *d, const json_t *v, const char *pointer, Policy *p) {
        static const char *const known[] = {"scope", "archive", "remove", NULL};
        DigestPolicy row = {0};
        char at[POINTER_MAX];
        const char *scope;

        if (!doc_fields(d, v, pointer, known))
                return;
        policy_read_reasons(d, json_object_get(v, "archive"), pointer_key(at, pointer, "archive"), &row.archive);
        policy_read_reasons(d, json_object_get(v, "remove"), pointer_key(at, pointer, "remove"), &row.remove);
        pointer_key(at, pointer, "scope");
        if (!json_object_get(v, "scope"))
                doc_fault(d, pointer, "required", "\"scope\" is required");
        if (!doc_string(d, json_object_get(v, "scope"), at, 1, SCOPE_NAME_BYTES, &scope))
                return;
        if (!scope_name_valid(scope))
                doc_fault(d, at, "scope-name", "a scope's name has 1 to 64 of a-z 0-9 . _ -, a letter or digit first");
        else if (policy_digest(p, scope))
                doc_fault(d, at, "twice", "scope \"%s\" stands there twice", scope);
        else if (!(row.scope = strdup(scope)))
                d->no_memory = true;
        else
                p->digest[p->n_digest++] = row;
}

void policy_read_digest(Doc *d, const json_t *v, Policy *p) {
        if (!v || !doc_array(d, v, "/digest", DIGEST_MAX))
                return;
        p->digest = calloc(json_array_size(v) + 1, sizeof(*p->digest));
        d->no_memory |= !p->digest;
        for (size_t i = 0; p->digest && i < json_array_size(v); i++) {
                char at[POINTER_MAX];

                policy_read_digest_row(d, json_array_get(v, i), pointer_item(at, "/digest", i), p);
        }
}
