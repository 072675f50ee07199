/* Runs: supervisor. What the files of spawn/ share. */
#pragma once

#include "spawn/spawn.h"

/* Fault injection for tests: each point that may fail counts down, and the one that reaches zero fails with EIO. 0: off. */
extern int spawn_fault;
static inline bool spawn_fails(void) {
        return spawn_fault > 0 && --spawn_fault == 0;
}

/* The workers of the regions that live: what one region left behind is never looked for among the others. A worker is noted until
 * spawned_deinit(). Returns 0, -EAGAIN when there are SPAWN_LIVING_MAX already. */
#define SPAWN_LIVING_MAX 64
int spawn_note_worker(pid_t pid);

/* Field 22 of /proc/PID/stat. Returns 0 or -errno. */
int spawn_start_ticks(pid_t pid, uint64_t *ret);
