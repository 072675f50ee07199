/* The part of the policy file about what a skill may have that the region above it has not. */
#include "policy/policy-private.h"

#include "base/id.h"
#include "schema/limits.h"

#include <stdlib.h>
#include <string.h>

void policy_sub_skill_deinit(SubSkillPolicy *s) {
        strv_free(s->reads);
        strv_free(s->writes);
        free(s->notes);
        free(s->canon);
        *s = (SubSkillPolicy){0};
}

static void read_scope(Doc *d, const json_t *v, const char *pointer, char **ret) {
        const char *scope;

        if (!v || !doc_string(d, v, pointer, 1, SCOPE_NAME_BYTES, &scope))
                return;
        if (!scope_name_valid(scope))
                doc_fault(d, pointer, "scope-name", "a scope's name has 1 to 64 of a-z 0-9 . _ -, a letter or digit first");
        else if (!(*ret = strdup(scope)))
                d->no_memory = true;
}

void policy_read_sub_skill(Doc *d, const json_t *v, const char *pointer, SubSkillPolicy *ret) {
        static const char *const known[] = {"reads", "writes", "notes", "canon", NULL};
        char at[POINTER_MAX];

        if (!v || !doc_fields(d, v, pointer, known))
                return;
        ret->said = true;
        doc_slot_names(d, json_object_get(v, "reads"), pointer_key(at, pointer, "reads"), &ret->reads);
        doc_slot_names(d, json_object_get(v, "writes"), pointer_key(at, pointer, "writes"), &ret->writes);
        read_scope(d, json_object_get(v, "notes"), pointer_key(at, pointer, "notes"), &ret->notes);
        read_scope(d, json_object_get(v, "canon"), pointer_key(at, pointer, "canon"), &ret->canon);
}
