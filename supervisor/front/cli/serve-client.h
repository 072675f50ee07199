/* Runs: CLI. `lethe run` through `lethe serve`, when one answers that serves the same store by the same policy: what is seen of it is the same. */
#pragma once

#include "base/json.h"
#include "cli/silent.h"
#include "request/resolve-request.h"
#include "invoke/run.h"

typedef struct ServeClient {
        json_t *options; /* as the command line has them, in its order */
        bool cannot;     /* something that no request can say */
        bool named_store; /* by --store or LETHE_STORE */
} ServeClient;

/* One option of the policy's, when it was found right. value: NULL for one without. */
void serve_client_option(ServeClient *t, const char *name, const char *value_or_null);
/* Returns the exit code, everything said and written; -1: nothing ran, it is to be done without a daemon. signals: a signalfd. */
int serve_client_run(ServeClient *t, const SkillRequest *a, const char *exec_or_null, const RunOptions *o, const char *store, const char *socket_or_null, int signals);
/* Calls a method of the daemon to which fd is connected, at the path `socket`. Takes params. *ret: the whole answer. Returns 0, -EPIPE when the daemon is gone,
 * -errno. */
int serve_client_call(int fd, const char *socket, const char *method, json_t *params, json_t **ret);
/* The same, for a caller that does not wait for a stopped daemon: -ETIMEDOUT when the daemon is silent for three seconds. */
int serve_client_ask_soon(int fd, const char *socket, const char *method, json_t *params, json_t **ret);
/* Sends a line to it. Takes o. The same. */
int serve_client_send(int fd, json_t *o);
/* For the signals that came: the run with id 1 is cancelled. */
int serve_client_cancel(int fd, int signals, Silent *silent);
void serve_client_deinit(ServeClient *t);
