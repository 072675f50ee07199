/* Runs: supervisor, CLI. What is done by schedule: passes of the digest, and the erasure of what is beyond its stay. */
#include "policy/policy.h"

#include "schema/limits.h"

#include <string.h>

#define DIGEST_MAX 256
#define ROUTINES_MAX 8
#define RETENTION_MAX 256
#define SECOND UINT64_C(1000000)
#define HOUR (3600 * SECOND)

static const DurationRule upkeep_every = {60 * SECOND, 8760 * HOUR, "every", "60s to 8760h"},
                          upkeep_stay = {SECOND, 87600 * HOUR, "stay", "1s to 87600h"};

const char *const policy_bucket_words[] = {"plan", "constraints", "issues", "decisions", "results", "task_state",
                                           "learnings", NULL};

static void upkeep_digest_deinit(DigestPolicy *row) {
        free(row->scope);
        strv_free(row->routines);
}

static void upkeep_retention_deinit(RetentionPolicy *row) {
        free(row->scope);
        free(row->bucket);
        free(row->slots);
        free(row->stay);
}

void policy_upkeep_deinit(Policy *p) {
        for (size_t i = 0; i < p->n_digest; i++)
                upkeep_digest_deinit(&p->digest[i]);
        free(p->digest);
        for (size_t i = 0; i < p->n_retention; i++)
                upkeep_retention_deinit(&p->retention[i]);
        free(p->retention);
}

static void upkeep_read_digest(Doc *d, const Node *v, Policy *p) {
        static const NameRule routine = {skill_name_valid, 64, "routine", "a routine is named like its skill"};
        const Node *scope = MEMBER(v, "scope");
        DigestPolicy row = {0};

        if (!doc_fields(d, v, WORDS("scope", "archive", "remove", "every", "stay", "routines")))
                return;
        doc_words(d, MEMBER(v, "archive"), policy_reason_words, 5, &row.archive);
        doc_words(d, MEMBER(v, "remove"), policy_reason_words, 5, &row.remove);
        doc_duration(d, MEMBER(v, "every"), &upkeep_every, &row.every_usec);
        doc_duration(d, MEMBER(v, "stay"), &upkeep_stay, &row.stay_usec);
        doc_names(d, MEMBER(v, "routines"), ROUTINES_MAX, &routine, &row.routines);
        if (!scope->v)
                doc_fault(d, v, "required", "\"scope\" is required");
        doc_scope(d, scope, &row.scope);
        if (row.scope && policy_digest(p, row.scope))
                doc_fault(d, scope, "twice", "scope \"%s\" stands there twice", row.scope);
        else if (row.scope) {
                p->digest[p->n_digest++] = row;
                return;
        }
        upkeep_digest_deinit(&row);
}

void policy_read_digest(Doc *d, const Node *v, Policy *p) {
        if (!doc_array(d, v, DIGEST_MAX))
                return;
        p->digest = doc_rows(d, v, sizeof(*p->digest));
        for (size_t i = 0; p->digest && i < json_array_size(v->v); i++)
                upkeep_read_digest(d, ITEM(v, i), p);
}

/* Any author can write any name into SKILL.md: a routine needs its skill's digest. */
void policy_check_routines(Doc *d, const Node *v, const Policy *p) {
        for (size_t i = 0; i < p->n_digest; i++)
                for (char **name = p->digest[i].routines; name && *name; name++) {
                        const SkillPolicy *skill = policy_skill(p, *name);

                        if (strcmp(*name, POLICY_ROUTINE_OWN) != 0 && (!skill || !skill->digest))
                                doc_fault(d, v, "digest-required",
                                          "routine %s needs \"digest\" in its row of \"skills\", because any folder "
                                          "can claim a name", *name);
                }
}

static void upkeep_read_retention(Doc *d, const Node *v, Policy *p) {
        const Node *bucket = MEMBER(v, "bucket"), *slots = MEMBER(v, "slots"), *stay = MEMBER(v, "stay");
        const char *prefix = NULL, *text = NULL;
        RetentionPolicy row = {0};
        size_t word = 0;

        if (!doc_fields(d, v, WORDS("scope", "bucket", "slots", "stay")))
                return;
        if (!bucket->v == !slots->v || (slots->v && MEMBER(v, "scope")->v))
                doc_fault(d, v, "retention", "a row has \"bucket\", with or without \"scope\", or \"slots\"");
        if (!stay->v)
                doc_fault(d, v, "required", "\"stay\" is required");
        doc_scope(d, MEMBER(v, "scope"), &row.scope);
        if (bucket->v && doc_word(d, bucket, policy_bucket_words, &word))
                row.bucket = strdup(policy_bucket_words[word]);
        if (slots->v && doc_string(d, slots, 1, SLOT_NAME_MAX, &prefix)) {
                if (!slot_name_valid(prefix))
                        doc_fault(d, slots, "slot-name", "must be the beginning of a slot's name: [a-z][a-z0-9._/-]*");
                row.slots = strdup(prefix);
        }
        if (doc_duration(d, stay, &upkeep_stay, &row.stay_usec) && doc_string(d, stay, 1, 32, &text))
                row.stay = strdup(text);
        if ((row.bucket || row.slots) && row.stay && (!bucket->v || row.scope || (row.scope = strdup("default")))) {
                p->retention[p->n_retention++] = row;
                return;
        }
        upkeep_retention_deinit(&row);
}

void policy_read_retention(Doc *d, const Node *v, Policy *p) {
        if (!doc_array(d, v, RETENTION_MAX))
                return;
        p->retention = doc_rows(d, v, sizeof(*p->retention));
        for (size_t i = 0; p->retention && i < json_array_size(v->v); i++)
                upkeep_read_retention(d, ITEM(v, i), p);
}
