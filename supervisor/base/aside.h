/* Runs: supervisor. System calls that may wait for somebody else are made in a task of their own, which can be killed
 * where a thread cannot: a thread of the supervisor keeps clocks and serves sockets, and waits for nobody but a client
 * (I-62). */
#pragma once

#include "base/util.h"

#define ASIDE_USEC 100000 /* for calls that wait for nobody, unless somebody means them to */

/* Of fn: makes one system call. There is no libc in the task: errno is another thread's. Returns what the kernel
 * does. */
long aside_call(long nr, long a, long b, long c, long d, long e, long f);
#define aside_do(nr, ...) aside_args(nr, ##__VA_ARGS__, 0, 0, 0, 0, 0, 0)
#define aside_args(nr, a, b, c, d, e, f, ...) aside_call(nr, (long)(a), (long)(b), (long)(c), (long)(d), (long)(e), (long)(f))

/* Runs fn with a copy of the job, which is copied back when fn has returned. fn uses no library function and no
 * variable but its own and the job's. Its task shares memory and working folder with us, and of descriptors has `keep`
 * alone (-1: none), in a table of its own: a task that the kernel does not let die (it waits for an answer that a
 * server has read and does not give) keeps memory and nothing else. ASIDE_ALL: our own table, for calls that any signal
 * ends. Returns what fn returned, or -ETIMEDOUT after usec, or -errno. A task that waits for a processor then, and had
 * less than usec of one, has two seconds more: what a busy machine delays is no answer. */
#define ASIDE_ALL (-2)
long aside_run(long (*fn)(void *job), void *job, size_t n_job, int keep, uint64_t usec);
/* The same of an fn that returns a descriptor of its task, without `keep`. Returns ours, close-on-exec, or as
 * aside_run(). */
int aside_open(long (*fn)(void *job), void *job, size_t n_job, uint64_t usec);
