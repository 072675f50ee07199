/* Runs: supervisor, CLI. Shared by the files of the cognitive state. */
#pragma once

#include "cognition/ccs.h"

/* Adds a copy of a canonical atom at the end, whatever the list has. Returns 0, -ENOMEM, CCS_E_COUNT. */
int ccs_push(Ccs *c, CcsField f, const Atom *a, Diag *reterr);
/* Do the two name the same entity, or the same artifact? The case of letters does not matter for an entity. An id that
 * begins with a letter stands once in the field; a value (3 pm, $500) stands once for each type. */
bool ccs_same_id(CcsField f, const Atom *a, const Atom *b);
