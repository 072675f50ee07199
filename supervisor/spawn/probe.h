/* Runs: supervisor, CLI. What this kernel lets this user do. A run needs only probe_quick(): a few system calls, no process is made;
 * the rest is found out by trying. probe_full() is for `lethe doctor`. */
#pragma once

#include "base/diag.h"
#include "base/util.h"

typedef struct Probe {
        bool root;            /* effective uid 0 */
        int landlock_abi;     /* 0: none */
        bool userns_denied;   /* a sysctl or AppArmor forbids user namespaces to this user: known without trying */
} Probe;

void probe_quick(Probe *ret);
