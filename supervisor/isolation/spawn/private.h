/* Runs: supervisor. What the files of spawn/ share. */
#pragma once

#include "spawn/plan.h"
#include "spawn/spawn.h"

/* Fault injection for tests: each point that may fail counts down, and the one that reaches zero fails with EIO. 0: off. */
extern int spawn_fault;
static inline bool spawn_fails(void) {
        return spawn_fault > 0 && --spawn_fault == 0;
}

/* The plan's trees as descriptors, fds[*n_fds] and on. What was opened is closed by the caller. spawner: its binder makes them, where the supervisor
 * is no root; NULL: the supervisor itself. Returns as spawn_start(). */
int spawn_open_trees(const Plan *p, const Probe *probe, Spawner *spawner, int *fds, size_t *n_fds, Diag *reterr);
/* A memory file, sealed against changes of its size, with the spec and room for its words; ret_bytes gets the bytes, owned. Returns a descriptor or
 * -errno. */
int spawn_seal(const LaunchSpec *s, uint8_t **ret_bytes, size_t *ret_n);
/* Returns 0 or -ENOMEM. */
int view_mark(const Plan *p, ViewMarks *ret);
void view_marks_deinit(ViewMarks *m);
/* Of the worker's user namespace, written from outside. Returns 0 or -errno. */
int spawn_write_maps(pid_t pid, const Probe *p);
