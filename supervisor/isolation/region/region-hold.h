/* Runs: supervisor. Where no control group bounds memory: how much memory the machine has given out, which one small file tells, and a region held still
 * while it is looked at. Sixty processes that write at once leave a look no processor, and hold more at its end than at its beginning. */
#pragma once

#include "spawn/guard.h"

#include <sys/types.h>

typedef struct RegionHold {
        bool held;
        unsigned times; /* that it was */
        Guard *guard; /* who stopped them; NULL: this process */
        pid_t *v;     /* of those that it stopped, parents first; owned */
        size_t n, room;
} RegionHold;

/* What the kernel may make the stack of a process's first thread, without being called. */
uint64_t region_hold_stack(pid_t pid);
/* Everything below the worker is to stand. The guard stops what it traces, and nobody in the region can see that. Without one (NULL, or nothing is traced)
 * SIGSTOP does it, for who is not stopped already, and parents first: they can make no more children, and see none that stands. Some may run for moments
 * still. */
void region_hold(RegionHold *h, pid_t worker, Guard *guard);
/* The guard stopped all that it traces by itself (GUARD_STOOD). */
void region_hold_stood(RegionHold *h, Guard *guard);
/* Lets those go on, children first. */
void region_hold_end(RegionHold *h);
/* They stay as they are: somebody kills them. */
void region_hold_forget(RegionHold *h);
