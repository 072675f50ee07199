#include "policy/policy.h"

#include "schema/limits.h"

#include <string.h>

#define OBJECTS_MOST 100000000
#define OBJECTS_STANDARD 1000000
#define OBJECTS_DEPTH_MOST 16
#define OBJECTS_DEPTH_STANDARD 8
#define OBJECTS_FANOUT_MOST 1024
#define OBJECTS_FANOUT_STANDARD 64
#define OBJECTS_ACTIONS 6
#define HOUR_USEC UINT64_C(3600000000)
#define PENDING_AGE_STANDARD (720 * HOUR_USEC)
#define PENDING_COMMITS_MOST 1000000000
#define PENDING_COMMITS_STANDARD 1000

const char *const policy_reason_words[] = {"broken_ref", "superseded_by", "retired_dependency", "unsupported_since",
                                           "disputed_by", NULL};

const DigestPolicy *policy_digest(const Policy *p, const char *scope) {
        for (size_t i = 0; i < p->n_digest; i++)
                if (strcmp(p->digest[i].scope, scope) == 0)
                        return &p->digest[i];
        return NULL;
}

void policy_sub_skill_deinit(SubSkillPolicy *s) {
        strv_free(s->reads);
        strv_free(s->writes);
        free(s->notes);
        free(s->canon);
        free(s->kernels);
        *s = (SubSkillPolicy){0};
}

void policy_read_sub_skill(Doc *d, const Node *v, SubSkillPolicy *ret) {
        if (!doc_fields(d, v, WORDS("reads", "writes", "notes", "canon", "kernels")))
                return;
        ret->said = true;
        doc_slot_names(d, MEMBER(v, "reads"), &ret->reads);
        doc_slot_names(d, MEMBER(v, "writes"), &ret->writes);
        doc_scope(d, MEMBER(v, "notes"), &ret->notes);
        doc_scope(d, MEMBER(v, "canon"), &ret->canon);
        doc_scope(d, MEMBER(v, "kernels"), &ret->kernels);
}

const char *const policy_action_words[] = {"execution", "mutation", "delegation", "dormancy", "reentry", "termination",
                                           NULL};

bool policy_object_action(const Policy *p, const char *action) {
        const size_t i = name_index(policy_action_words, OBJECTS_ACTIONS, action);

        return i < OBJECTS_ACTIONS && p->objects.actions & 1U << i;
}

PendingPolicy policy_pending_standard(void) {
        return (PendingPolicy){.age_usec = PENDING_AGE_STANDARD, .commits = PENDING_COMMITS_STANDARD};
}

void policy_read_pending(Doc *d, const Node *v, PendingPolicy *ret) {
        static const DurationRule age = {HOUR_USEC, 87600 * HOUR_USEC, "pending-age", "1h to 87600h"};

        const Node *least = MEMBER(v, "least");

        if (!doc_fields(d, v, WORDS("age", "commits", "least")))
                return;
        doc_duration(d, MEMBER(v, "age"), &age, &ret->age_usec);
        doc_count(d, MEMBER(v, "commits"), 1, PENDING_COMMITS_MOST, &ret->commits);
        if (!doc_fields(d, least, policy_bucket_words))
                return;
        for (size_t i = 0; i < POLICY_BUCKETS; i++)
                doc_count(d, MEMBER(least, policy_bucket_words[i]), 1, 1000, &ret->least[i]);
}

ObjectsPolicy policy_objects_standard(void) {
        return (ObjectsPolicy){.max = OBJECTS_STANDARD,
                               .depth = OBJECTS_DEPTH_STANDARD,
                               .fanout = OBJECTS_FANOUT_STANDARD,
                               .actions = (1U << OBJECTS_ACTIONS) - 1};
}

void policy_read_objects(Doc *d, const Node *v, ObjectsPolicy *ret) {
        const Node *actions = MEMBER(v, "actions");
        size_t terminates = 0;

        if (!doc_fields(d, v, WORDS("max", "depth", "fanout", "actions", "on_denied")))
                return;
        doc_count(d, MEMBER(v, "max"), 1, OBJECTS_MOST, &ret->max);
        doc_count(d, MEMBER(v, "depth"), 0, OBJECTS_DEPTH_MOST, &ret->depth);
        doc_count(d, MEMBER(v, "fanout"), 0, OBJECTS_FANOUT_MOST, &ret->fanout);
        if (actions->v) {
                ret->actions = 0; /* the list is complete, and may be empty */
                doc_words(d, actions, policy_action_words, OBJECTS_ACTIONS, &ret->actions);
        }
        if (doc_word(d, MEMBER(v, "on_denied"), WORDS("dormant", "terminate"), &terminates))
                ret->terminates = terminates == 1;
}

/* A list that is said is complete, and may be empty. */
static void policy_read_scopes(Doc *d, const Node *v, char ***ret) {
        static const NameRule rule = {scope_name_valid, SCOPE_NAME_BYTES, "scope-name",
                                      "a scope's name has 1 to 64 of a-z 0-9 . _ -, a letter or digit first"};

        if (!v->v)
                return;
        doc_names(d, v, SLOT_LIST_MAX, &rule, ret);
        if (!*ret && !(*ret = calloc(1, sizeof(**ret))))
                d->no_memory = true;
}

void policy_read_belief(Doc *d, const Node *v, Limits *l) {
        bool own = true;

        if (!doc_fields(d, v, WORDS("notes", "canon", "kernels", "own_notes")))
                return;
        l->belief_said = true;
        policy_read_scopes(d, MEMBER(v, "notes"), &l->notes);
        policy_read_scopes(d, MEMBER(v, "canon"), &l->canon);
        policy_read_scopes(d, MEMBER(v, "kernels"), &l->kernels);
        doc_bool(d, MEMBER(v, "own_notes"), &own);
        l->no_own_notes = !own;
}
