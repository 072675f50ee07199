/* Runs: supervisor, CLI. What a digest gets to see of a scope: records and their edges, no payload of any, and of kernels nothing but that they refer to
 * something
 * (M-40..M-42). A read. */
#pragma once

#include "engine/engine.h"

/* {"version":1,"scope","pass","reasons":[…],"records":[{"kind","id","state","in":[edge],"out":[edge],"since"?}]}: all that is active or archived in memory,
 * knowledge and skill, by kind
 * and id; pass: the number that the next one has; an edge is {"kind","id","strength","role","state","event"?}, event: which archived that end; since: with
 * unsupported_since among the reasons, the pass that saw the record without support before. Returns 0, ENGINE_E_NO_SCOPE, -EUCLEAN, -errno. */
int memory_scan(Txn *t, const char *scope, unsigned reasons, json_t **ret, Diag *reterr);
