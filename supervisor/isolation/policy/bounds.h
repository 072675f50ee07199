/* Runs: supervisor, CLI. The policy's ranges: the least and the most of each kind, for all skills or a single skill
 * (I-73). */
#pragma once

#include "manifest/manifest.h"
#include "policy/policy-types.h"

typedef struct BoundRow {
        const char *name, *field; /* in the policy, and in lethe.json */
        const char *const *words; /* of the values, in their order; NULL: no plain words */
} BoundRow;
extern const BoundRow bound_rows[BOUND_KINDS];

#define BOUND_TEXT_MAX 48
const char *bound_text(BoundKind k, uint64_t v, char out[static BOUND_TEXT_MAX]);
/* Faults go to d. */
void bounds_read(Doc *d, const Node *v, Bound ret[static BOUND_KINDS]);
