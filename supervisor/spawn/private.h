/* Runs: supervisor. What the files of spawn/ share. */
#pragma once

#include "spawn/spawn.h"

/* Fault injection for tests: each point that may fail counts down, and the one that reaches zero fails with EIO. 0: off. */
extern int spawn_fault;
static inline bool spawn_fails(void) {
        return spawn_fault > 0 && --spawn_fault == 0;
}

/* Field 22 of /proc/PID/stat. Returns 0 or -errno. */
int spawn_start_ticks(pid_t pid, uint64_t *ret);
