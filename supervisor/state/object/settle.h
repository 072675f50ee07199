/* Runs: supervisor, CLI. The outcome of an execution, by its performer or by a later cycle (O-14, O-38). */
#pragma once

#include "object/append.h"

/* For an object in state execution: looks for the region of the open execution in t. A region that ended with kept
 * changes: the outcome is a success, with "recovered". A region that ended without, or no region and `died` (the
 * performer is dead): the outcome is `interrupted`. Else the execution is running. *ret_settled: the outcome is
 * appended. Returns 0, -errno. */
int settle_execution(Appending *a, bool died, bool *ret_settled, Diag *reterr);
