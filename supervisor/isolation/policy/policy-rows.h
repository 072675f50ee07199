/* Runs: supervisor, CLI. Rows of the policy file about state: "digest" (the reasons that the operator approves ahead,
 * for each scope) and "as_sub_skill" (rights that the region above does not have). */
#pragma once

#include "policy/policy-types.h"

/* Faults go to d. */
void policy_read_sub_skill(Doc *d, const Node *v, SubSkillPolicy *ret);
void policy_sub_skill_deinit(SubSkillPolicy *s);
void policy_read_digest(Doc *d, const Node *v, Policy *p);

extern const char *const policy_reason_words[]; /* words of schema/memory.md; NULL-terminated */
/* The row of a scope, or NULL. */
const DigestPolicy *policy_digest(const Policy *p, const char *scope);
