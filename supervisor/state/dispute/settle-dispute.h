/* Runs: supervisor, CLI. An operator looks at the disputes of a scope, and settles them (G-69, M-65). The families
 * have different ends: a row of governed memory is invalidated, a record of memory is archived by a
 * pass of the digest, a rule of a kernel is superseded by a patch. */
#pragma once

#include "belief/note-to-row.h"
#include "engine/claim.h"

#define DISPUTES_LISTED_MAX 1000

/* {"scope","disputes":[{"a","b","keep"?}…],"more"?}: each disputed pair once, by name ("constraints/x",
 * "world_model_kernel/rule"). keep: the proposal, the younger of the two; none for rules of a kernel, which have no
 * age. Returns 0, ENGINE_E_NO_SCOPE, -errno. */
int dispute_list(Txn *t, const char *scope, json_t **ret, Diag *reterr);

typedef struct Settlement {
        const char *scope;
        const char *name; /* a party; a lone id is looked up among constraints, decisions and memory */
        const char
                *keep;   /* the party that stays: the same as name (all that are opposed end), or opposed (name ends) */
        bool both;       /* or: all pairs of name stay */
        const char *why; /* a line, or NULL */
        const Trying *by;
} Settlement;
/* {"scope","name","settled":[{"kept","ended"?,"with"?,"seq"}…]}. In the caller's transaction; after an error abort.
 * Returns 0; ENGINE_E_NO_SCOPE, ENGINE_E_BAD_NAME, ENGINE_E_NO_RECORD (also: no dispute of the two), ENGINE_E_*: of the
 * end; -errno. */
int dispute_settle(Txn *t, const Settlement *s, json_t **ret, Diag *reterr);

/* Settles all disputes of the scope by age: of each pair the younger stays, or the elder. Rules of kernels have no age
 * and are left, and so are records without an end of their own. {"scope","settled":[…],"left"}. Returns as
 * dispute_settle(). */
int dispute_settle_by_age(Txn *t, const char *scope, bool younger, const Trying *by, json_t **ret, Diag *reterr);
