/* Runs: supervisor. Tasks with resources the process's first thread does not show: the memory after the first thread
 * has ended, and separate tables of descriptors. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* The task for reading the memory of `pid` in /proc: also after the end of the first thread. 0: no memory is left. */
pid_t tables_teller(pid_t pid);
/* Calls fn with each line of the mappings of `pid`, without the newline, and the task, until fn returns a value other
 * than 0. Returns the value; 0: end of the list, or of the process. */
int tables_each_mapping(pid_t pid, int (*fn)(pid_t teller, const char *line, void *arg), void *arg);
/* A task for each table of descriptors; *ret is owned. Each task counts when kcmp(2) fails. Returns 0 or -ENOMEM. */
int tables_of(pid_t pid, pid_t **ret, size_t *ret_n);
