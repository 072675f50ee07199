/* Runs: supervisor that lives long. Regions that are prepared ahead for grants that come again, as many as the policy says ("pool"). Each is taken by
 * one invocation, whose grant allows the same, and never used again. A thread makes the next ones: at once when fewer than half are
 * left, else when no invocation is in its way. */
#pragma once

#include "base/diag.h"
#include "invoke/prepare.h"

typedef struct Pool Pool;

/* What waits in a pool waits in tier namespaces, is not overwritten while it runs (discipline multipass), and has a Spawner. */
int pool_new(Store *store, Spawner *spawner, CgroupPool *groups_or_null, const Policy *policy, Pool **ret, Diag *reterr);
/* Another policy, with a number of its own (the first has 0): what waits is given up, and what is being prepared. Grants of any other policy get and leave
 * nothing from now on. The policy is borrowed during the call. */
void pool_reload(Pool *p, const Policy *policy, unsigned turn);
/* Nothing is left that was prepared by an earlier policy. */
bool pool_is_settled(Pool *p);
/* How many wait, whatever for. */
size_t pool_count(Pool *p);
void pool_free(Pool *p);
/* For RunOptions.prepared; its data is a Pool. A Run that is taken has a successor prepared, when the policy says so. */
extern const PreparedSource pool_source;
