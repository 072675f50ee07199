/* Runs: tests. A program started as the supervisor starts a skill: its pipe at descriptors 3 and 4, named in its environment. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

typedef enum Shim { SHIM_C, SHIM_PYTHON, SHIM_NODE, SHIM_SH, SHIMS } Shim;
extern const char *const shim_names[SHIMS];

typedef struct Driver {
        pid_t pid;
        int in, out;               /* its standard input and output */
        int requests, answers;     /* our ends of its pipe; -1 when it got another's */
} Driver;

/* argv of the shim's driver in out[0..2]; more words are the caller's. Returns how many there are. */
size_t driver_argv(Shim shim, const char **out);
/* pipe_in, pipe_out: the region's ends of a pipe to be shared; -1: a new one; -2: none, and no environment for it. errors: descriptor for
 * its standard error, -1 for ours. Asserts. */
Driver driver_start(const char *const *argv, int pipe_in, int pipe_out, int errors);
/* Closes what is open and waits; returns the wait status. */
int driver_end(Driver *d);
