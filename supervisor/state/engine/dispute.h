/* Runs: supervisor, CLI. The event that settles a dispute without an end of either record (G-69). */
#pragma once

#include "engine/claim.h"
#include "engine/project.h"

/* Appends dispute.settled: both parties stay, and count as no dispute until either is written anew. The caller has
 * checked the opposition. Returns 0, ENGINE_E_NO_RECORD (an unknown or ended party), -errno. */
int engine_dispute_settled(Txn *t, const char *who, const char *region, const Party *a, const Party *b,
                           uint64_t *ret_seq, Diag *reterr);
/* For project.c alone. */
int dispute_project(Txn *t, const Projection *p);
