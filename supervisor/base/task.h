/* Runs: supervisor, CLI. Makes a task that shares the memory of the process. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

struct clone_args; /* linux/sched.h */

/* clone3() of a child that runs fn(arg) on the stack in args, and ends with fn's result. Returns the pid or -errno. */
long clone_raw(struct clone_args *args, size_t n, int (*fn)(void *), void *arg) __attribute__((visibility("hidden")));

/* A child in the same memory, with all signals blocked, running fn(arg) on `stack`. Sends no signal at its end (reap
 * with __WALL). flags: further flags of clone(2); own: in the child registry until child_registry_forget(). Returns pid
 * or -errno. */
pid_t task_make(uint64_t flags, void *stack, size_t n_stack, int (*fn)(void *), void *arg, bool own, int *ret_pidfd);
