/* Runs: supervisor. Recovers regions of dead supervisors (I-60): kills running processes, removes control groups and
 * scratch, records region.recovered. Failed projections are retried (G-30). Done at every start, first. */
#pragma once

#include "base/diag.h"
#include "policy/policy.h"
#include "spawn/spawner.h"
#include "store/store.h"

enum {
        RECOVER_E_ALIVE = 1,  /* a process of the region does not die: the message has region and pid */
        RECOVER_E_STORE,      /* the store cannot record: the message has the store's words */
        RECOVER_E_NONE,       /* recover_one: the store has no such living region */
        RECOVER_E_LEFT, /* killed, but blocked in the kernel: region.left is recorded; a later start retries */
        RECOVER_E_OWNED,      /* recover_one: the supervisor lives */
};

/* Recovers all regions whose supervisor is dead, lower regions first. Release callbacks that had not begun run by this
 * policy (NULL: the operator's standard policy). Logs the number of regions, unless quiet. Returns 0, RECOVER_E_*,
 * -errno. */
int recover_all(Store *s, const Policy *policy_or_null, Spawner *spawner_or_null, bool quiet, Diag *reterr);
/* Recovers the region and all regions below, lower regions first. */
int recover_one(Store *s, const char *region, Diag *reterr);
