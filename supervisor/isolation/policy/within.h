/* Runs: supervisor. Inside of grant_within(): what a region may have that another one starts. Pure. */
#pragma once

#include "policy/grant.h"

#define WITHIN_RULE "the region that started it does not have it, and no row of the policy grants it to this skill"

/* Each returns 0 or -ENOMEM: something that was cut, and something that it has beyond the region above it. */
int within_reduce(Grant *g, const char *field, const char *asked, const char *granted, const char *rule);
int within_beyond(Grant *g, const char *fmt, ...) _printf_(2, 3);

/* Slots, memory, notes and belief. row: the policy's, for this very skill, or NULL. Returns 0, GRANT_E_GATE, -ENOMEM. */
int within_state(Grant *g, const Grant *above, const SkillPolicy *row, Diag *reterr);
