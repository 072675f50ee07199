/* Runs: CLI. */
#pragma once

#include "base/buf.h"
#include "cli/silent.h"

/* The request was sent, with id 1 and standard streams over the connection: passes them on until the answer is there, and all output written. input: -1 for
 * none. signals: a signalfd; what comes there cancels the run. *answer: its line. Returns 0, -EPIPE when the daemon is gone,
 * -ETIMEDOUT as silent_look(), -EPROTO, -errno. */
int serve_client_flow(int fd, int input, int signals, Silent *silent, Buf *answer);
