/* Runs: supervisor. Makes a worker's process without a copy of the supervisor: the child shares the supervisor's memory
 * until its exec (like vfork). The supervisor's size costs no time, and no secret is copied. */
#pragma once

#include "base/util.h"

#include <linux/sched.h>
#include <sys/types.h>

typedef struct CloneExec {
        const char *name; /* argv[0] of the child */
        const char *arg;  /* argv[1]; NULL: no argument */
        int exec_fd;     /* of the program; close-on-exec */
        const int *fds;  /* fds[i] becomes descriptor i; all further descriptors are closed */
        size_t n_fds;
        uint32_t owner; /* root: the host user that owns the new user namespace; 0: the supervisor's user */
        bool keep_caps;  /* hold the new user namespace's capabilities over the exec */
        bool keep_net; /* and CAP_NET_ADMIN */
        int error;       /* set by the child: errno and name of the failed call */
        const char *what;
} CloneExec;

#define CLONE_EXEC_FDS_MAX 1024

/* clone3() with `flags`, then exec. Returns the pid and sets *ret_pidfd, or -errno; a child that could not exec is
 * reaped, and c->what names the call. The child registry has the child. */
pid_t clone_exec(CloneExec *c, uint64_t flags, int *ret_pidfd);

/* A child in a new user namespace that sleeps until killed; shares memory, runs on `stack`. Returns pid or -errno. */
pid_t clone_idle(void *stack, size_t n_stack, int *ret_pidfd);
/* Waits at most msec for the end of a child. True when the child is reaped, or was before. */
bool clone_reap(pid_t pid, int msec);
/* Calls fn for each child of one thread (of a process: its first thread) in /proc. */
void clone_each_child(pid_t thread, void (*fn)(pid_t child, void *arg), void *arg);
