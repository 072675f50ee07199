/* Runs: supervisor. Connections of Unix sockets that wait to be accepted, in a network namespace of the region's own: no descriptor leads to them, and what
 * their clients sent lies in them when the clients are gone. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

/* A socket that asks the kernel for the sockets of pid's network namespace (sock_diag(7)). An ordinary user has to own the user namespace to which that
 * belongs. Returns a descriptor, or -errno. */
int waiting_open(pid_t pid);
/* How many connections wait whose clients are closed. Returns 0 or -errno: nobody can tell. */
int waiting_count(int fd, uint64_t *ret);
