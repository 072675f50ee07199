/* Runs: supervisor. The tasks of a process that have what others of it have not: its memory, when its first thread is gone, and tables of descriptors of
 * their own. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* The task through which /proc tells of the memory of `pid`: the process itself or, when its first thread is gone, another one. 0: the process has no memory
 * any more. */
pid_t tables_teller(pid_t pid);
/* A task for each table of descriptors that tasks of `pid` have, in *ret, which is owned. Where the kernel does not say which have one table, each task
 * counts as one with its own. Returns 0 or -ENOMEM. */
int tables_of(pid_t pid, pid_t **ret, size_t *ret_n);
