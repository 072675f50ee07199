/* Runs: CLI, supervisor. A user's standard places, when the command line names no place. */
#pragma once

#include "base/diag.h"

/* Of the installed unit (lethe.service). */
#define PLACE_OF_UNIT "/var/lib/lethe/store"

/* The store: `given` (--store) or LETHE_STORE or $XDG_STATE_HOME/lethe or ~/.local/state/lethe; for root PLACE_OF_UNIT,
 * when that folder exists and the folder below HOME does not. Returns an owned string or NULL with a message. */
char *path_of_store(const char *given, Diag *reterr);
/* The socket: `given` (--socket) or LETHE_SOCKET or, for root, /run/lethe/socket, or $XDG_RUNTIME_DIR/lethe/socket. */
char *path_of_socket(const char *given, Diag *reterr);
/* Connects to a socket. Returns a descriptor, or -errno: -ENOENT and -ECONNREFUSED without a listener, -ETIMEDOUT when
 * the listener accepts no connection for two seconds (I-62). A send fails with -EAGAIN after ten seconds. */
int path_connect(const char *path);
/* Connects to a daemon that acts for the caller, with the caller's streams and trust. Returns as path_connect(); for
 * root also -EPERM: a listener of another user could read root's data and forge the answer. */
int path_ask(const char *path);
