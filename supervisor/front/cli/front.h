/* Runs: CLI. A process above the supervisor of `lethe run`, where a name or a standard stream lies on a file system that a program or another
 * machine serves (FUSE, NFS). A task that waits for such a server cannot be killed once the server has read the request, and as long as one of its
 * tasks waits a process is not over for its parent. So the supervisor is a child then: the caller has its answer, also when the supervisor does not
 * come back from a name (I-62).
 *
 * Until front_take_streams() the child has pipes to the process above in place of its standard streams, so that nothing of the caller's stays open in a
 * child that is left behind. Standard streams that are served themselves are read and written by processes of their own, as long as they are used. */
#pragma once

#include "cli/cli.h"

#define FRONT_USEC 5000000        /* for one name that somebody else serves */
#define FRONT_LEAST_USEC 1000000  /* however short the run's own time is */
#define FRONT_START_USEC 60000000 /* for all of them together, until something runs */

/* Does a name, or a standard stream, lie on such a file system, or not answer? ret_any: such a file system is mounted. */
bool front_is_needed(const char *const *names, size_t n, bool *ret_any);

/* Calls fn in a child, and passes on signals, standard streams and how it ends. usec: for one name; when it is over the child is killed, and left behind
 * where the kernel does not let it die. refused(why), in a process of its own: writes the receipt of a run of which nothing ran. Returns the exit code; in the
 * child what fn returns. */
int front_run(VerbFn fn, int argc, char **argv, uint64_t usec, void (*refused)(const char *why));

/* This is the child. */
bool front_is_child(void);

/* Of the child: from here on standard streams are the caller's. Elsewhere, and again, nothing. */
void front_take_streams(void);
