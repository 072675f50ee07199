/* Runs: supervisor (daemon). Regions prepared ahead for recurring grants, as the policy wants ("pool"). Each serves one
 * invocation with an equal grant. A thread prepares more: at once below half, else in quiet times. */
#pragma once

#include "base/diag.h"
#include "invoke/pool-region.h"

typedef struct Pool Pool;

/* Waiting regions have tier namespaces, a discipline other than multipass, and a Spawner. */
int pool_new(Store *store, Spawner *spawner, CgroupPool *groups_or_null, const Policy *policy, Pool **ret,
             Diag *reterr);
/* A new policy with a number of its own (the first is 0): waiting regions and preparations end, and grants of any other
 * policy neither take nor leave a region. The policy is borrowed during the call. */
void pool_reload(Pool *p, const Policy *policy, unsigned turn);
/* No region of an earlier policy is left. */
bool pool_is_settled(Pool *p);
/* How many regions wait, of all kinds. */
size_t pool_count(Pool *p);
void pool_free(Pool *p);
/* For RunOptions.prepared; the data is a Pool. A taken region gets a successor, when the policy wants a successor. */
extern const PreparedSource pool_source;
