#include "cli/serve-client.h"

#include "base/buf.h"
#include "base/io.h"
#include "base/log.h"
#include "base/quiet.h"
#include "cli/cli.h"
#include "cli/front.h"
#include "cli/serve-client-flow.h"
#include "request/paths.h"
#include "invoke/receipt.h"
#include "ledger/anchor.h"
#include "schema/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define CHUNK 65536
#define ANSWER_DEPTH_MAX 32

void serve_client_deinit(ServeClient *t) {
        json_decref(t->options);
        *t = (ServeClient){};
}

void serve_client_option(ServeClient *t, const char *name, const char *value) {
        const char *here = value && strcmp(name, "env") == 0 && !strchr(value, '=') ? getenv(value) : NULL;
        _cleanup_free_ char *line = NULL;
        json_t *v;

        if (!t->options)
                t->options = json_array();
        if (here && asprintf(&line, "%s=%s", value, here) < 0)
                line = NULL;
        v = value ? json_string(line ?: value) : json_null();
        t->cannot |= (here && !line) || json_array_append_new(t->options, json_pack("[s, o]", name, v)) < 0;
}

/* Who reads a terminal in the background is stopped by it; a daemon would not be, and takes nothing from there. */
static int input_of(int *ret_own) {
        *ret_own = -1;
        if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp())
                *ret_own = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return *ret_own >= 0 ? *ret_own : STDIN_FILENO;
}

static json_t *make_args(char **args) {
        json_t *list = json_array();

        for (; list && args && *args; args++)
                if (json_array_append_new(list, json_string(*args)) < 0) { /* not UTF-8, for one */
                        json_decref(list);
                        return NULL;
                }
        return list;
}

/* To another user's daemon: nothing that it would have to look up, and no descriptors. */
static json_t *make_foreign_request(const ServeClient *t, const SkillRequest *a, const RunOptions *o, bool input) {
        json_t *args = make_args(a->request.args), *params;

        if (!args)
                return NULL;
        params = json_pack("{s:s, s:o, s:O*, s:o, s:b, s:b, s:b, s:s*}", "skill", a->skill, "args", args, "options", t->options, "stream",
                           input ? json_pack("[s, s, s]", "stdin", "stdout", "stderr") : json_pack("[s, s]", "stdout", "stderr"), "receipt", o->receipt != NULL,
                           "verbose", o->verbose, "quiet", o->quiet, "traceparent", a->request.trace.set ? getenv("TRACEPARENT") : NULL);
        return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", "run", "params", params);
}

/* `lethe why --last` would look elsewhere. */
static json_t *names_store(const char *store) {
        _cleanup_free_ char *usual = path_of_store(NULL, &(Diag){});

        return usual && strcmp(usual, store) == 0 ? NULL : json_true();
}

static json_t *make_request(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o, const char *store, const char *policy) {
        char cwd[PATH_MAX];
        json_t *args = make_args(a->request.args), *params;

        if (!args || !getcwd(cwd, sizeof(cwd)) || *cwd != '/') {
                json_decref(args);
                return NULL;
        }
        params = json_pack("{s:s, s:o, s:s, s:O*, s:[s, s, s], s:b, s:b, s:b, s:o*, s:o*, s:s, s:s*, s:s, s:s*}", exec ? "exec" : "skill", exec ?: a->skill, "args", args, "cwd", cwd,
                           "options", t->options, "stdio", "stdin", "stdout", "stderr", "receipt", o->receipt != NULL, "verbose", o->verbose, "quiet", o->quiet,
                           "promote", o->promote ? json_true() : NULL, "names_store", names_store(store), /* not said to a daemon that need not know it */
                           "store", store, "anchor", anchor_said(), "policy", policy ?: "", "traceparent", a->request.trace.set ? getenv("TRACEPARENT") : NULL);
        return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", "run", "params", params);
}

static int send_line(int fd, json_t *request, const int *fds, size_t n_fds) {
        _cleanup_json_ json_t *owned = request;
        _cleanup_buf_ Buf line = {};
        char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
        int e = text ? buf_add_str(&line, text) : -ENOMEM;

        free(text);
        if (e == 0)
                e = buf_add(&line, "\n", 1);
        if (e < 0 || line.n > SERVE_LINE_MAX)
                return e < 0 ? e : -E2BIG;
        /* The descriptors go with the first byte. */
        e = n_fds > 0 ? io_send_fds(fd, line.data, 1, fds, n_fds) : 0;
        return e == 0 ? io_write_full(fd, line.data + (n_fds > 0), line.n - (n_fds > 0)) : e;
}

int serve_client_send(int fd, json_t *o) {
        return send_line(fd, o, NULL, 0);
}

/* The answer is waited for all the same: it comes when the region was torn down. */
int serve_client_cancel(int fd, int signals, Silent *silent) {
        struct signalfd_siginfo si;
        int e = 0;

        while (e == 0 && read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si)) {
                silent_signal(silent, (int)si.ssi_signo);
                e = send_line(fd, json_pack("{s:s, s:s, s:{s:i, s:i}}", "jsonrpc", "2.0", "method", "cancel", "params", "id", 1, "signal", (int)si.ssi_signo), NULL, 0);
        }
        return e;
}

/* Waits for a whole line. Returns 0, -EPIPE when the daemon is gone, -ECONNRESET when it is gone and did not read all that it was sent, -ETIMEDOUT as
 * silent_look(), -errno. */
static int receive(int fd, int signals, Silent *silent, Buf *line) {
        for (;;) {
                struct pollfd p[] = {{.fd = fd, .events = POLLIN}, {.fd = signals, .events = POLLIN}, {.fd = -1}};
                int msec = silent_poll(silent, &p[2]), e;
                char chunk[4096];
                ssize_t n;

                if (poll(p, ARRAY_SIZE(p), msec) < 0 && errno != EINTR)
                        return -errno;
                if ((e = silent_look(silent, p[2].revents, p[0].revents)) < 0)
                        return e;
                if (signals >= 0 && p[1].revents && (e = serve_client_cancel(fd, signals, silent)) < 0)
                        return e;
                if (!p[0].revents)
                        continue;
                n = recv(fd, chunk, sizeof(chunk), MSG_DONTWAIT);
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                        return n < 0 && errno == ECONNRESET && !silent->signalled ? -ECONNRESET : -EPIPE;
                if (n <= 0)
                        continue;
                e = buf_add(line, chunk, (size_t)n);
                explicit_bzero(chunk, (size_t)n);
                if (e < 0)
                        return e;
                if (line->data[line->n - 1] == '\n')
                        return 0;
        }
}

/* It said that nothing ran, and we can do it ourselves. */
static bool is_not_for_it(json_int_t code) {
        return code == SERVE_E_OTHER_STORE || code == SERVE_E_REMOTE || code == SERVE_E_STREAMS || code == SERVE_E_STOPPING || code == SERVE_E_NOT_ALLOWED ||
               code == SERVE_E_INVALID_PARAMS ||
               code == SERVE_E_UNKNOWN_METHOD;
}

static int failed(const SkillRequest *a, const char *exec, const RunOptions *o, const char *why) {
        cli_fail("run", EXIT_LETHE, "%s", why);
        return run_refused(o, a->skill ?: exec, NULL, false, EXIT_LETHE, why);
}

/* A user who is sent away runs the skill with other rights, and with another store: that is said, unless the user named a store. */
static void tell_refused(const ServeClient *t, const RunOptions *o, json_int_t code, const char *message) {
        if (o->quiet)
                return;
        if (code == SERVE_E_NOT_ALLOWED)
                log_note("lethe serve refuses this user: %s; 'lethe run' goes on by itself", message ?: "not_allowed");
        else if (code == SERVE_E_OTHER_STORE && !t->named_store)
                log_note("lethe serve has another store: %s; 'lethe run' goes on by itself", message ?: "other_store");
        else if (code == SERVE_E_REMOTE || code == SERVE_E_STREAMS || code == SERVE_E_STOPPING)
                log_note("lethe serve does not take this run: %s; 'lethe run' goes on by itself", message ?: "remote");
}

static int tell(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o, const json_t *answer) {
        const json_t *error = json_object_get(answer, "error"), *result = json_object_get(answer, "result"), *refusal = json_object_get(result, "refusal");
        const json_t *receipt = json_object_get(result, "receipt"), *code = json_object_get(result, "exit_code");
        const char *why = json_text(json_object_get(refusal, "message")), *outcome = json_text(json_object_get(receipt, "outcome"));
        Diag d = {};

        if (error && is_not_for_it(-json_integer_value(json_object_get(error, "code")))) {
                tell_refused(t, o, -json_integer_value(json_object_get(error, "code")), json_text(json_object_get(error, "message")));
                return -1;
        }
        if (error || !json_is_integer(code)) {
                diag(&d, 0, "lethe serve: %s", json_text(json_object_get(error, "message")) ?: "its answer is no answer");
                return failed(a, exec, o, d.text);
        }
        if (why && json_is_true(json_object_get(refusal, "usage")))
                cli_usage("run", "%s", why);
        else if (why)
                cli_fail("run", EXIT_LETHE, "%s", why);
        if (o->receipt && (!receipt || receipt_write(o->receipt, receipt, &d) < 0)) {
                log_error("%s", *d.text ? d.text : "lethe serve gave no receipt");
                return !why && outcome && strcmp(outcome, "setup_failed") != 0 ? 128 + SIGKILL : EXIT_LETHE; /* as region_trouble_code() */
        }
        return (int)json_integer_value(code) & 0xFF;
}

/* e: how the line was got. */
static int answer(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o, int e, const Buf *line, const Silent *silent) {
        _cleanup_json_ json_t *v = NULL;
        Diag d = {};

        if (e == -ECONNRESET) { /* the end of the request was not read */
                log_warning("lethe serve ended before it took this run: it is done without");
                return -1;
        }
        if (e == -ETIMEDOUT) {
                failed(a, exec, o, "a signal ended the wait for lethe serve, which does not answer; should it go on, it takes this run back");
                return 128 + silent->signo;
        }
        if (e == 0)
                e = json_parse(line->data, line->n, line->n, ANSWER_DEPTH_MAX, &v, &d);
        if (e == -EPIPE)
                return failed(a, exec, o, "lethe serve ended before it answered: what became of this run is in the store once it is recovered ('lethe audit regions')");
        if (e != 0)
                return failed(a, exec, o, *d.text ? d.text : strerror(-e));
        return tell(t, a, exec, o, v);
}

static int call(int fd, const char *method, json_t *params, int signals, Silent *silent, json_t **ret) {
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        int e = send_line(fd, json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", method, "params", params), NULL, 0);

        if (e == 0 || e == -EPIPE) /* one that hangs up at once has said why */
                e = receive(fd, signals, silent, &line);
        if (e == 0)
                e = json_parse(line.data, line.n, line.n, ANSWER_DEPTH_MAX, ret, NULL);
        return e > 0 ? -EPROTO : e;
}

int serve_client_call(int fd, const char *socket, const char *method, json_t *params, json_t **ret) {
        _cleanup_silent_ Silent silent;

        silent_begin(&silent, fd, socket);
        return call(fd, method, params, -1, &silent, ret);
}

int serve_client_ask_soon(int fd, const char *socket, const char *method, json_t *params, json_t **ret) {
        _cleanup_silent_ Silent silent;

        silent_begin(&silent, fd, socket);
        silent_signal(&silent, 0); /* as if somebody had asked already that the wait ends */
        return call(fd, method, params, -1, &silent, ret);
}

/* Served by another user, who may be root: what it looks up it looks up with other rights than ours. */
static bool is_foreign(int fd) {
        struct ucred cred;
        socklen_t n = sizeof(cred);

        return geteuid() != 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 && cred.uid != geteuid();
}

static bool is_same_place(const char *ours, const char *theirs) {
        struct stat x, y;

        return strcmp(ours, theirs) == 0 ||
               (quiet_stat(ours, true, &x) == 0 && quiet_stat(theirs, true, &y) == 0 && x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* The daemon says which store, anchor and policy it has; whether they are ours is looked up here. What we have not named may be any. */
static bool serves_the_same(const ServeClient *t, const RunOptions *o, int fd, const char *store, const char *policy, int signals, Silent *silent) {
        const struct {
                const char *name, *ours;
        } places[] = {{"store", store}, {"anchor", anchor_said()}, {"policy", policy}};
        _cleanup_json_ json_t *v = NULL;
        bool same = call(fd, "ping", json_object(), signals, silent, &v) == 0;
        const json_t *error = json_object_get(v, "error");

        if (error)
                tell_refused(t, o, -json_integer_value(json_object_get(error, "code")), json_text(json_object_get(error, "message")));
        same = same && !error;
        for (size_t i = 0; same && i < ARRAY_SIZE(places); i++) {
                const char *theirs = json_text(json_object_get(json_object_get(v, "result"), places[i].name));

                same = !places[i].ours || (theirs && is_same_place(places[i].ours, theirs));
        }
        return same;
}

static int serve_foreign(ServeClient *t, const SkillRequest *a, const RunOptions *o, int fd, const char *store, const char *policy, int signals, Silent *silent) {
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        _cleanup_close_ int own = -1;
        int input = input_of(&own), e;
        bool empty, same;
        struct stat st;

        same = serves_the_same(t, o, fd, store, policy, signals, silent);
        if (silent->signo) /* before there is a run that it could cancel */
                return answer(t, a, NULL, o, -ETIMEDOUT, &line, silent);
        if (!same)
                return -1;
        if (!a->skill || o->promote) {
                tell_refused(t, o, SERVE_E_NOT_ALLOWED, "for other users than its own it runs registered skills alone");
                return -1;
        }
        empty = fstat(input, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
        e = send_line(fd, make_foreign_request(t, a, o, !empty), NULL, 0);
        if (e < 0)
                return -1;
        e = serve_client_flow(fd, empty ? -1 : input, signals, silent, &line);
        return answer(t, a, NULL, o, e, &line, silent);
}

int serve_client_run(ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o, const char *store, const char *given, int signals) {
        const char *wanted = getenv("LETHE_SERVE");
        _cleanup_free_ char *socket = NULL, *policy = NULL;
        _cleanup_close_ int fd = -1, own = -1;
        _cleanup_silent_ Silent silent = {.probe = -1};
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        Diag d = {};
        int e;

        if (t->cannot || (wanted && strcmp(wanted, "0") == 0))
                return -1;
        if (front_is_child() && quiet_is_served(exec ?: a->skill) > 0) /* of what is served a daemon reads nothing */
                return -1;
        socket = path_of_socket(given, &d);
        fd = socket ? path_ask(socket) : -ENOENT;
        if (fd == -EACCES && !o->quiet)
                log_note("lethe serve cannot be asked: %s: %s; 'lethe run' goes on by itself", socket, strerror(EACCES));
        if (fd == -EPERM)
                log_warning("socket %s: another user listens there, who is told nothing of root's; 'lethe run' goes on by itself", socket);
        if (fd < 0 || policy_place(&policy) < 0)
                return -1;
        front_take_streams();
        silent_begin(&silent, fd, socket);
        if (is_foreign(fd))
                return serve_foreign(t, a, o, fd, store, policy, signals, &silent);
        e = send_line(fd, make_request(t, a, exec, o, store, policy), (const int[]){input_of(&own), STDOUT_FILENO, STDERR_FILENO}, SERVE_STREAMS);
        if (e < 0)
                return -1;
        e = receive(fd, signals, &silent, &line);
        return answer(t, a, exec, o, e, &line, &silent);
}
