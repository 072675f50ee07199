/* Runs: CLI. Requests to a daemon over its socket, and answers, as lines. */
#pragma once

#include "base/buf.h"
#include "base/json.h"
#include "cli/liveness.h"

/* Calls a method of the daemon connected to fd, at the path `socket`. Takes params. *ret: the whole answer. Returns 0,
 * -EPIPE when the daemon is gone, -errno. */
int serve_call(int fd, const char *socket, const char *method, json_t *params, json_t **ret);
/* The same, for a caller that does not wait for a stopped daemon: -ETIMEDOUT when the daemon is silent for three
 * seconds. */
int serve_call_soon(int fd, const char *socket, const char *method, json_t *params, json_t **ret);
/* The same, with a signalfd: a signal cancels the run with id 1. */
int serve_call_signals(int fd, const char *method, json_t *params, int signals, Liveness *liveness, json_t **ret);

/* Sends a request as a line, with descriptors. Takes the request. Returns 0 or -errno; -E2BIG: too long. */
int serve_call_send(int fd, json_t *request, const int *fds, size_t n_fds);
/* Waits for a complete line. Returns 0, -EPIPE when the daemon is gone, -ECONNRESET when the daemon is gone without
 * reading the whole request, -ETIMEDOUT as liveness_check(), -errno. */
int serve_call_receive(int fd, int signals, Liveness *liveness, Buf *line);
/* Cancels the run with id 1, by a signal. Returns as serve_call_send(). */
int serve_call_cancel_by(int fd, int signo);
/* The same, for each pending signal. */
int serve_call_cancel(int fd, int signals, Liveness *liveness);
