/* Runs: supervisor. The launchers of lethe-proxy and lethe-layer (base/launched.h), for a supervisor that cannot execute
 * programs later. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

typedef struct Launcher {
        pid_t pid;   /* in the child registry; 0: no launcher */
        int control; /* -1: no launcher */
} Launcher;
#define LAUNCHER_NULL ((Launcher){.control = -1})

/* Executes the program's launcher. Returns 0 or -errno (-ENOENT: no such program beside lethe). */
int launcher_start(const char *program, Launcher *ret);
/* Makes another launcher, which outlives the first; the kernel has the child. Returns 0 or -errno. */
int launcher_start_again(Launcher *l, Launcher *ret);
bool launcher_is_there(const Launcher *l);
/* Hands the far end of a channel to a new process of the program. Returns 0 or -errno. */
int launcher_ask(Launcher *l, int channel);
/* Ends the launcher, and each process of the launcher. */
void launcher_end(Launcher *l);
/* Executes the program with the channel, or a launcher (LAUNCHED_ARG); the child registry has the child. Returns the
 * pid or -errno. */
pid_t launcher_execute(const char *program, const char *arg_or_null, int channel);
