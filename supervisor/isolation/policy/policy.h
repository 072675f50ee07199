/* Runs: supervisor, CLI. The operator's policy file (schema/policy.md, schema/policy.schema.json). */
#pragma once

#include "policy/policy-types.h"

enum {
        POLICY_E_MISSING = 1, /* the named file is missing or cannot be read */
        POLICY_E_BAD,         /* refused: message names file, pointer, value and rule */
};

/* path NULL: LETHE_POLICY, $XDG_CONFIG_HOME/lethe/policy.json (or ~/.config), /etc/lethe/policy.json, else an empty
 * policy. Returns 0, POLICY_E_*, -errno. */
int policy_load(const char *path_or_null, Policy **ret, Diag *reterr);
/* The first existing of these files: an owned path, or NULL in *ret. Returns 0 or -ENOMEM. */
int policy_place(char **ret);
/* Reads the text of a policy file; `path` only for messages. */
int policy_parse(const char *text, size_t n, const char *path, Policy **ret, Diag *reterr);
void policy_free(Policy *p);
static inline void policy_freep(Policy **p) {
        policy_free(*p);
}
#define _cleanup_policy_ _cleanup_(policy_freep)

const SkillPolicy *policy_skill(const Policy *p, const char *name); /* or NULL */
/* The budget limits of a skill; 0: no limit. Skill NULL: the general limits. */
Budget policy_max(const Policy *p, const SkillPolicy *s);
/* Whether the user is a client, and may run the skill (NULL: any skill). */
bool policy_client(const Policy *p, uid_t uid, const char *skill_or_null);
uint64_t policy_concurrency(const Policy *p, const char *name); /* 0: only max_regions applies */

extern const char *const policy_reason_words[]; /* words of schema/memory.md; NULL-terminated */
/* The row of a scope, or NULL. */
const DigestPolicy *policy_digest(const Policy *p, const char *scope);

/* The actions of objects, in the order of state/object/select.h; NULL-terminated. */
extern const char *const policy_action_words[];
/* Whether objects may do the action; false for an unknown word. */
bool policy_object_action(const Policy *p, const char *action);

/* The rows about state (policy-rows.c); faults go to d. "as_sub_skill": rights that the region above does not have. */
void policy_read_sub_skill(Doc *d, const Node *v, SubSkillPolicy *ret);
void policy_read_belief(Doc *d, const Node *v, Limits *l);
void policy_sub_skill_deinit(SubSkillPolicy *s);
/* "digest": reasons that the operator approves ahead, for each scope, and the schedule. "retention". */
void policy_read_digest(Doc *d, const Node *v, Policy *p);
void policy_read_retention(Doc *d, const Node *v, Policy *p);
void policy_check_routines(Doc *d, const Node *v, const Policy *p); /* after policy_read_skills() */
void policy_upkeep_deinit(Policy *p);
#define POLICY_ROUTINE_OWN "digest" /* the routine that comes with Lethe */
extern const char *const policy_bucket_words[];
/* "pending"; the standard values come before, from policy_pending_standard(). */
PendingPolicy policy_pending_standard(void);
void policy_read_pending(Doc *d, const Node *v, PendingPolicy *ret);
/* "objects"; the standard values come before, from policy_objects_standard(). */
ObjectsPolicy policy_objects_standard(void);
void policy_read_objects(Doc *d, const Node *v, ObjectsPolicy *ret);
