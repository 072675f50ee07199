/* Runs: supervisor, CLI. Children and parents (O-24, O-26..O-28): the answer of a terminated child stands in the
 * memory of the parent in the transaction of the child's end. A parent that is not eligible here (away, forked …) gets
 * the answer after the return: report_gather(). */
#pragma once

#include "object/append.h"

/* After ENTRY_TERMINATED of an object: ENTRY_CHILD in the parent, if the parent is here. Returns 0, -errno. */
int report_to_parent(const Appending *child, Diag *reterr);
/* The missing answers of terminated children here, for the open delegation of the parent; all: for earlier delegations,
 * too. Returns 0, -errno. */
int report_gather(Appending *parent, bool all, Diag *reterr);
/* Both, for an object that has become eligible here: after an import, an adoption, or new trust. Returns 0, -errno. */
int report_arrived(Txn *t, const char *id, const char *who, Diag *reterr);
/* Non-response of each child without answer, after the time of the delegation (O-28). Returns 0, -errno. */
int report_non_responses(Appending *parent, Diag *reterr);
