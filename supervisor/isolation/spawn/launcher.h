/* Runs: supervisor. The launcher of lethe-proxy (schema/proxy.h), for a supervisor that cannot execute programs later. */
#pragma once

#include "base/util.h"

#include <sys/types.h>

typedef struct Launcher {
        pid_t pid;   /* in the child registry; 0: no launcher */
        int control; /* -1: no launcher */
} Launcher;
#define LAUNCHER_NULL ((Launcher){.control = -1})

/* Executes the launcher. Returns 0 or -errno (-ENOENT: no lethe-proxy beside lethe). */
int launcher_start(Launcher *ret);
/* Hands the far end of a control channel to a new lethe-proxy. Returns 0 or -errno. */
int launcher_ask(Launcher *l, int channel);
/* Ends the launcher, and each lethe-proxy of the launcher. */
void launcher_end(Launcher *l);
/* Executes a lethe-proxy with the control channel, or a launcher; the child registry has the child. Returns the pid
 * or -errno. */
pid_t launcher_execute(const char *arg_or_null, int channel);
