/* Runs: supervisor, CLI. Inside of policy_parse(). */
#pragma once

#include "manifest/doc.h"
#include "policy/policy.h"

/* Faults go to d. v may be NULL. */
void policy_read_sub_skill(Doc *d, const json_t *v, const char *pointer, SubSkillPolicy *ret);
void policy_sub_skill_deinit(SubSkillPolicy *s);
void policy_read_bounds(Doc *d, const json_t *v, const char *pointer, Bound ret[static BOUND_KINDS]);
void policy_read_digest(Doc *d, const json_t *v, Policy *p);
