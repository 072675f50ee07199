/* Runs: supervisor, CLI. Making a task that shares our memory. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

struct clone_args; /* linux/sched.h */

/* clone3() of a child that starts with fn(arg) on the stack in args, and ends with what that returns. Returns the pid
 * or -errno. */
long clone_raw(struct clone_args *args, size_t n, int (*fn)(void *), void *arg) __attribute__((visibility("hidden")));

/* A child in our memory, with all signals blocked, that runs fn(arg) on `stack`. flags: of clone(2), besides; own: it
 * is noted as a child of ours. Returns pid or -errno. */
pid_t task_make(uint64_t flags, void *stack, size_t n_stack, int (*fn)(void *), void *arg, bool own, int *ret_pidfd);

/* A child that shares our memory, working folder and descriptors, runs fn(arg) on `stack` without a signal, and tells
 * nobody when it ends (reap it with __WALL). Until child_registry_forget() it is known as one of our own. Returns pid
 * or -errno. */
pid_t task_aside(void *stack, size_t n_stack, int (*fn)(void *), void *arg, int *ret_pidfd);
