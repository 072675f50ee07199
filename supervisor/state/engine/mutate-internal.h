/* Runs: supervisor, CLI. Inside of engine/: what may be done after a judgement that engine_mutate() cannot make. */
#pragma once

#include "engine/mutate.h"

/* As engine_mutate(), and takes OP_ARCHIVE, OP_REMOVE and OP_DELETE: for who has looked at reasons, blockers and dependents in the same transaction. */
int mutate_judged(Txn *t, const Mutation *m, Mutated *ret, Diag *reterr);
