/* Runs: supervisor. Finishes what a supervisor that died left behind (I-60): kills what still runs, removes control groups and scratch,
 * and records region.recovered. What could not be projected is tried again (G-30). Done at every start, before anything new. */
#pragma once

#include "base/diag.h"
#include "policy/policy.h"
#include "spawn/spawner.h"
#include "store/store.h"

enum {
        RECOVER_E_ALIVE = 1,  /* an orphan's process does not die: message has region and pid */
        RECOVER_E_STORE,      /* the store cannot record it: message has the store's words */
        RECOVER_E_NONE,       /* recover_one: no such region alive in the store */
        RECOVER_E_LEFT,       /* its processes were killed, and wait in the kernel for a file system that does not answer: region.left is recorded, and a
                               * later start tries again */
        RECOVER_E_OWNED,      /* recover_one: its supervisor lives */
};

/* Every region whose supervisor is gone, those below before the ones above; release callbacks that had not begun are run, by this policy (NULL: the
 * operator's standard one). *ret_n: how many regions. Returns 0, RECOVER_E_*, -errno. */
int recover_all(Store *s, const Policy *policy_or_null, Spawner *spawner_or_null, unsigned *ret_n, Diag *reterr);
/* That region and all below it, those first. */
int recover_one(Store *s, const char *region, Diag *reterr);
