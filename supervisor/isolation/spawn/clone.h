/* Runs: supervisor. Making the worker's process without copying the supervisor: the child shares our memory until its exec (as vfork
 * does), so neither the size of the supervisor nor the store's map costs anything, and no secret is ever in a copy. */
#pragma once

#include "base/util.h"

#include <linux/sched.h>
#include <sys/types.h>

typedef struct CloneExec {
        const char *name; /* its argv[0] */
        const char *arg;  /* its only other argument; NULL: none */
        int exec_fd;     /* of the program; close-on-exec */
        const int *fds;  /* fds[i] becomes descriptor i; all others are closed */
        size_t n_fds;
        uint32_t owner;  /* root: the user of the host who owns the new user namespace and is the child; 0: we ourselves */
        bool keep_caps;  /* hold the new user namespace's capabilities over the exec */
        int error;       /* set by the child: errno with which it failed, and what failed */
        const char *what;
} CloneExec;

#define CLONE_EXEC_FDS_MAX 1024

/* clone3() with the flags and cgroup in `flags` and `cgroup` (-1: none), then exec. Returns the pid and sets *ret_pidfd, or -errno; a child
 * that could not exec is reaped, and c->what names the call. Until child_registry_forget() it is known as one of our own (own.h). */
pid_t clone_exec(CloneExec *c, uint64_t flags, int cgroup, int *ret_pidfd);

/* A child in a new user namespace that does nothing until it is killed; it shares our memory and runs on `stack`. Returns pid or -errno. */
pid_t clone_idle(void *stack, size_t n_stack, int *ret_pidfd);
