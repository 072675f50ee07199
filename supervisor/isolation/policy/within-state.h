/* Runs: supervisor. The parts of grant_within() about state: slots, typed memory, notes and shared belief. Pure. */
#pragma once

#include "policy/grant-types.h"

#define WITHIN_RULE "the region above lacks the right, and no row of the policy grants the right to this skill"

/* Record a cut, and a right that the region above does not have. Each returns 0 or -ENOMEM. */
int within_reduce(Grant *g, const char *field, const char *asked, const char *granted, const char *rule);
int within_beyond(Grant *g, const char *fmt, ...) _printf_(2, 3);

/* Slots, memory, notes and belief. row: the policy's row for this skill, or NULL. Returns 0, GRANT_E_GATE, -ENOMEM. */
int within_state(Grant *g, const Grant *above, const SkillPolicy *row, Diag *reterr);
