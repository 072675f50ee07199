/* Runs: CLI. `lethe run` through `lethe serve`, when a daemon answers with the same store and policy: the user sees
 * the same results. */
#pragma once

#include "base/json.h"
#include "cli/liveness.h"
#include "request/resolve-request.h"
#include "invoke/run.h"

typedef struct ServeClient {
        json_t *options; /* in the order of the command line */
        bool cannot;     /* an option that no request can express */
        const char *session; /* the run is a turn of it: SKILL and program are the session's; or NULL */
        bool named_store; /* by --store or LETHE_STORE */
} ServeClient;

/* Adds a valid option of request_option(). value: NULL for an option without a value. */
void serve_client_option(ServeClient *t, const char *name, const char *value_or_null);
/* Returns the exit code, after all messages and the receipt; -1: no program ran, and the run needs no daemon.
 * signals: a signalfd. */
int serve_client_run(ServeClient *t, const SkillRequest *a, const char *exec_or_null, const RunOptions *o,
                     const char *store, const char *socket_or_null, int signals);
/* The same at the session's host, connected to fd: an exit code, or SERVE_CLIENT_ELSEWHERE without a message: nothing
 * ran, another process is the host. */
#define SERVE_CLIENT_ELSEWHERE (-2)
int serve_client_turn(ServeClient *t, const SkillRequest *a, const RunOptions *o, const char *store, int fd,
                      int signals);
/* Connects to the daemon that serves the same store, anchor and policy, if there is one. Returns a descriptor, or -1
 * after a note where the user expects the daemon. *ret_foreign: another user's daemon, for registered skills alone;
 * *ret_socket: owned. */
int serve_client_connect(const ServeClient *t, const RunOptions *o, const char *store, const char *socket_or_null,
                         bool *ret_foreign, char **ret_socket);
/* Arguments as an array of strings, or NULL: out of memory, or an argument is not UTF-8. */
json_t *serve_client_args(char **args);

/* For serve-client-detach.c: the request of a run with id 1, NULL: an argument cannot be expressed; whether an error's code
 * leaves the run to this command; what is said then; a failure, with the receipt. */
json_t *serve_client_request(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                             const char *store, const char *policy);
bool serve_client_must_run_alone(json_int_t code);
void serve_client_tell_refused(const ServeClient *t, const RunOptions *o, json_int_t code, const char *message);
int serve_client_failed(const SkillRequest *a, const char *exec, const RunOptions *o, const char *why);
void serve_client_deinit(ServeClient *t);
