/* Runs: supervisor, CLI. A skill that is refused before it has a region. */
#pragma once

#include "policy/grant.h"
#include "store/store.h"

/* Records region.refused: the policy's ranges, or the skill's own bound, keep the skill from running. store NULL: the one at store_path. g: name and digest
 * of the skill, and the name that was given. Returns 0 when the record is durable, STORE_E_* with a message, -errno. */
int refusal_record(Store *store, const char *store_path, const Grant *g, const char *message, Diag *reterr);
