/* Runs: CLI, supervisor. Where things of a user lie when the command line does not say. */
#pragma once

#include "base/diag.h"

/* Of the unit that is installed (lethe.service). */
#define PLACE_OF_UNIT "/var/lib/lethe/store"

/* The store: `given` (--store) or LETHE_STORE or $XDG_STATE_HOME/lethe or ~/.local/state/lethe; for root PLACE_OF_UNIT, when that is there and the one below
 * HOME is not. Owned string, or NULL with a message (none: out of memory). */
char *path_of_store(const char *given, Diag *reterr);
/* The socket of `lethe serve`: `given` (--socket) or LETHE_SOCKET or, for root, /run/lethe/socket, else $XDG_RUNTIME_DIR/lethe/socket. The same. */
char *path_of_socket(const char *given, Diag *reterr);
/* Connects to it. Returns a descriptor, or -errno: -ENOENT and -ECONNREFUSED when nobody is there, -ETIMEDOUT when whoever listens there takes nobody for two
 * seconds (I-62). What is sent there is taken within ten seconds, or fails with -EAGAIN. */
int path_connect(const char *path);
/* The same for what is asked there on our behalf, and trusted with our streams and what it answers. For root also -EPERM: another user listens there, and could
 * read what root passes, and say of a run what it likes. */
int path_ask(const char *path);
