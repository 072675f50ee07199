/* Runs: supervisor. The tasks of a process that have what others of it have not: its memory, when its first thread is gone, and tables of descriptors of
 * their own. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* The task through which /proc tells of the memory of `pid`: the process itself or, when its first thread is gone, another one. 0: the process has no memory
 * any more. */
pid_t tables_teller(pid_t pid);
/* Calls fn with each line of the mappings of `pid`, without its end, and with the task that tells, until fn returns something else than 0. Returns that; 0: no
 * line is left, or the process has ended. */
int tables_each_mapping(pid_t pid, int (*fn)(pid_t teller, const char *line, void *arg), void *arg);
/* A task for each table of descriptors that tasks of `pid` have, in *ret, which is owned. Where the kernel does not say which have one table, each task
 * counts as one with its own. Returns 0 or -ENOMEM. */
int tables_of(pid_t pid, pid_t **ret, size_t *ret_n);
