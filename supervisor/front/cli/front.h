/* Runs: CLI. A process above the supervisor of `lethe run`, for names or standard streams on a served file system
 * (FUSE, NFS). A task that waits for such a server cannot be killed once the server has read the request, and the
 * parent sees the end of a process only after all its tasks. So the supervisor becomes a child: the caller gets an
 * answer even when the supervisor never returns from a name (I-62).
 *
 * Until front_take_streams() the child has pipes to the parent in place of its standard streams, so that a child
 * left behind keeps no stream of the caller open. Processes of their own read and write served standard streams, as
 * long as the streams are used. */
#pragma once

#include "cli/cli.h"

#define FRONT_USEC 5000000        /* for a name on a served file system */
#define FRONT_LEAST_USEC 1000000  /* the least limit for a name, for runs with a short wall time */
#define FRONT_START_USEC 60000000 /* for all names together, until a program runs */

/* Tells whether a name, or a standard stream, lies on a served file system, or does not answer. ret_any: a served
 * file system is mounted. */
bool front_is_needed(const char *const *names, size_t n, bool *ret_any);

/* Calls fn in a child; passes on signals, standard streams and the child's end. usec: limit for a name; after the
 * limit the child is killed, and left behind when the kernel does not let the child die. refused(why) writes the
 * receipt when no program ran, in a process of its own. Returns the exit code; in the child, the result of fn. */
int front_run(VerbFn fn, int argc, char **argv, uint64_t usec, void (*refused)(const char *why));

/* True in the child of front_run(). */
bool front_is_child(void);

/* In the child: takes the caller's standard streams. Elsewhere, and on a second call: no effect. */
void front_take_streams(void);
