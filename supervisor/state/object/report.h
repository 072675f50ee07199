/* Runs: supervisor, CLI. Children and parents (O-24, O-26..O-28): the answer of a terminated child stands in its parent's
 * memory in the transaction of the child's end. A parent that is not eligible here (away, forked …) gets the answer when
 * it is back: report_gather(). */
#pragma once

#include "object/append.h"

/* After ENTRY_TERMINATED of an object: ENTRY_CHILD in the parent, if the object has one here. Returns 0, -errno. */
int report_to_parent(const Appending *child, Diag *reterr);
/* The answers of terminated children that are here and that the open delegation of the parent lacks; all: of earlier
 * delegations, too. Returns 0, -errno. */
int report_gather(Appending *parent, bool all, Diag *reterr);
/* Non-response of each child without answer whose delegation's time is over (O-28). Returns 0, -errno. */
int report_non_responses(Appending *parent, Diag *reterr);
