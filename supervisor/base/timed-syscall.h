/* Runs: supervisor. Makes system calls that may wait for a program or another machine in a separate task. A task can be
 * killed, a thread cannot: threads of the supervisor keep deadlines, serve sockets and wait for clients only (I-62). */
#pragma once

#include "base/util.h"

#define TIMED_USEC 100000 /* for calls without a server behind them, unless a client chose the file to block */

/* For fn: makes one system call. The task has no libc: errno belongs to another thread. Returns the kernel's result. */
long timed_call(long nr, long a, long b, long c, long d, long e, long f);
#define timed_do(nr, ...) timed_args(nr, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define timed_args(nr, a, b, c, d, e, f, ...)                                                                          \
        timed_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Runs fn with a copy of the job, and copies the job back when fn has returned. fn uses no library function, and only
 * its own variables and the job's. The task shares memory and working folder with the supervisor. Of the descriptors
 * the task has `keep` alone (-1: no descriptor), in a table of its own. The kernel may not let a task die (the task
 * waits for a server that has read the request and does not answer): such a task keeps memory only. TIMED_ALL: the
 * supervisor's own table, for calls that any signal ends. Returns fn's result, or -ETIMEDOUT after usec, or -errno. A
 * task that then waits for a processor, and had less than usec of processor time, has two seconds more: a busy machine
 * must not count as a missing answer. */
#define TIMED_ALL (-2)
long timed_run(long (*fn)(void *job), void *job, size_t n_job, int keep, uint64_t usec);
/* As timed_run(), with a second descriptor (-1: none). Neither is TIMED_ALL. */
long timed_run_with(long (*fn)(void *job), void *job, size_t n_job, int keep, int also, uint64_t usec);
/* As timed_run(), for an fn that returns a descriptor of its task, and without `keep`. Returns the supervisor's copy of
 * the descriptor, close-on-exec, or as timed_run(). */
int timed_open(long (*fn)(void *job), void *job, size_t n_job, uint64_t usec);
