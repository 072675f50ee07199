#include "cli/serve-client.h"

#include "base/buf.h"
#include "base/hash.h"
#include "base/line.h"
#include "base/log.h"
#include "base/path-lookup.h"
#include "cli/cli.h"
#include "cli/front.h"
#include "cli/serve-call.h"
#include "invoke/receipt.h"
#include "ledger/anchor.h"
#include "request/paths.h"
#include "schema/serve.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

#define ANSWER_DEPTH_MAX 32
#define CHUNK 65536
#define UNWRITTEN_MAX (1024 * 1024) /* bytes of output in memory before reading stops */
#define INPUT_ID 2

/* A run of another user's daemon: the daemon takes no descriptors, so standard input, output and error go over the
 * connection, as lines. */
typedef struct FlowEnd {
        int fd;            /* the daemon */
        int input;         /* -1: no input, or input at its end */
        bool asked;        /* the last input was not taken yet */
        Buf out[2];        /* received standard output and error */
        bool lost[2];      /* the output has no reader any more */
        LineReader lines;
        bool answered;
        Buf *answer;       /* borrowed */
} FlowEnd;

static int flow_send_input(FlowEnd *f) {
        char bytes[SERVE_INPUT_MAX];
        ssize_t n = read(f->input, bytes, sizeof(bytes));
        char *text;
        int e;

        if (n < 0 && (errno == EINTR || errno == EAGAIN))
                return 0;
        text = n > 0 ? base64_encode(bytes, (size_t)n) : strdup("");
        explicit_bzero(bytes, (size_t)MAX(n, (ssize_t)0));
        e = serve_call_send(f->fd,
                            json_pack("{s:s, s:i, s:s, s:{s:i, s:s?, s:b}}", "jsonrpc", "2.0", "id", INPUT_ID, "method",
                                      "input", "params", "id", 1, "data", text, "end", n <= 0),
                            NULL, 0);
        if (text)
                explicit_bzero(text, strlen(text));
        free(text);
        f->asked = true;
        if (n <= 0)
                f->input = -1;
        return e;
}

static int flow_keep_output(FlowEnd *f, const json_t *params) {
        const char *stream = json_text(json_object_get(params, "stream")),
                   *data = json_text(json_object_get(params, "data"));
        size_t i = stream && strcmp(stream, "stderr") == 0, n = data ? strlen(data) : 0;
        ssize_t got;

        if (f->lost[i] || n == 0)
                return 0;
        if (buf_reserve(&f->out[i], n) < 0)
                return -ENOMEM;
        got = base64_decode(data, n, f->out[i].data + f->out[i].n, n);
        if (got < 0)
                return -EPROTO;
        f->out[i].n += (size_t)got;
        return 0;
}

static int flow_take_line(FlowEnd *f, const char *line, size_t n) {
        _cleanup_json_ json_t *o = NULL;
        const json_t *method, *id;

        if (json_parse(line, n, SERVE_ANSWER_MAX, ANSWER_DEPTH_MAX, &o, NULL) != 0)
                return -EPROTO;
        method = json_object_get(o, "method");
        id = json_object_get(o, "id");
        if (json_is_string(method))
                return json_text_is(method, "output") ? flow_keep_output(f, json_object_get(o, "params")) : 0;
        if (json_integer_value(id) == INPUT_ID) {
                f->asked = false;
                if (!json_is_true(json_object_get(json_object_get(o, "result"), "open")))
                        f->input = -1;
                return 0;
        }
        f->answered = true;
        return buf_add(f->answer, line, n);
}

static int flow_receive(FlowEnd *f) {
        const char *line;
        size_t n_line;
        char *at;
        ssize_t n;
        int e = line_reader_space(&f->lines, CHUNK, &at);

        if (e < 0)
                return e;
        n = recv(f->fd, at, CHUNK, MSG_DONTWAIT);
        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                return -EPIPE;
        if (n < 0)
                return 0;
        line_reader_fed(&f->lines, (size_t)n);
        for (;;)
                switch (line_reader_next(&f->lines, &line, &n_line)) {
                case LINE_WHOLE:
                        if (n_line > 0 && (e = flow_take_line(f, line, n_line)) < 0)
                                return e;
                        break;
                case LINE_TOO_LONG:
                        return -EPROTO;
                case LINE_NONE:
                case LINE_PARTIAL:
                default:
                        return 0;
                }
}

/* Writes after poll(2) reported room: a pipe takes PIPE_BUF bytes without waiting. */
static void flow_write(FlowEnd *f, size_t i) {
        ssize_t n = write(i ? STDERR_FILENO : STDOUT_FILENO, f->out[i].data, MIN(f->out[i].n, (size_t)PIPE_BUF));

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return;
        if (n < 0) {
                /* As for a program whose output has lost its reader: the run ends by SIGPIPE. */
                if (i == 0)
                        serve_call_cancel_by(f->fd, SIGPIPE);
                f->lost[i] = true;
                n = (ssize_t)f->out[i].n;
        }
        buf_drop(&f->out[i], (size_t)n);
}

static bool flow_is_written(const FlowEnd *f) {
        return f->out[0].n + f->out[1].n == 0;
}

static int flow_step(FlowEnd *f, int signals, Liveness *liveness) {
        bool reads = !f->answered && f->out[0].n + f->out[1].n < UNWRITTEN_MAX;
        struct pollfd p[] = {{.fd = reads ? f->fd : -1, .events = POLLIN},
                             {.fd = signals, .events = POLLIN},
                             {.fd = f->answered || f->asked ? -1 : f->input, .events = POLLIN},
                             {.fd = f->out[0].n > 0 ? STDOUT_FILENO : -1, .events = POLLOUT},
                             {.fd = f->out[1].n > 0 ? STDERR_FILENO : -1, .events = POLLOUT},
                             {.fd = -1}};
        int msec = reads ? liveness_poll(liveness, &p[5]) : -1, e = 0;

        if (poll(p, ARRAY_SIZE(p), msec) < 0)
                return errno == EINTR ? 0 : -errno;
        if (reads && (e = liveness_check(liveness, p[5].revents, p[0].revents)) < 0)
                return e;
        if (p[1].revents) {
                if (f->answered) /* the output has no reader, and the command is to end */
                        buf_drop(&f->out[0], f->out[0].n), buf_drop(&f->out[1], f->out[1].n);
                e = serve_call_cancel(f->fd, signals, liveness);
        }
        if (e == 0 && p[0].revents)
                e = flow_receive(f);
        if (e == 0 && p[2].revents)
                e = flow_send_input(f);
        for (size_t i = 0; i < 2; i++)
                if (p[3 + i].revents)
                        flow_write(f, i);
        return e;
}

/* Passes standard streams over the connection until the answer has come and all output is written. The request was
 * sent, with id 1. input: -1 without input. signals: a signalfd; a signal cancels the run. *answer: the answer's
 * line. Returns 0, -EPIPE when the daemon is gone, -ETIMEDOUT as liveness_check(), -EPROTO, -errno. */
static int serve_client_flow(int fd, int input, int signals, Liveness *liveness, Buf *answer) {
        FlowEnd f = {.fd = fd, .input = input, .answer = answer};
        int e = 0;

        line_reader_init(&f.lines, SERVE_ANSWER_MAX);
        while (e == 0 && !(f.answered && flow_is_written(&f)))
                e = flow_step(&f, signals, liveness);
        line_reader_deinit(&f.lines);
        buf_deinit(&f.out[0]);
        buf_deinit(&f.out[1]);
        return f.answered ? 0 : e;
}

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

/* A terminal stops a background process that reads. The daemon would not be stopped, so a background run reads
 * /dev/null. */
static int serve_client_input(int *ret_own) {
        *ret_own = -1;
        if (isatty(STDIN_FILENO) && tcgetpgrp(STDIN_FILENO) != getpgrp())
                *ret_own = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return *ret_own >= 0 ? *ret_own : STDIN_FILENO;
}

json_t *serve_client_args(char **args) {
        json_t *list = json_array();

        for (; list && args && *args; args++)
                /* for example an argument that is not UTF-8 */
                if (json_array_append_new(list, json_string(*args)) < 0) {
                        json_decref(list);
                        return NULL;
                }
        return list;
}

/* A request to another user's daemon: without places to look up, and without descriptors. */
static json_t *serve_client_foreign_request(const ServeClient *t, const SkillRequest *a, const RunOptions *o,
                                            bool input) {
        json_t *args = serve_client_args(a->request.args), *params;

        if (!args)
                return NULL;
        params = json_pack("{s:s, s:o, s:O*, s:[s*, s, s], s:b, s:b, s:b, s:s*}", t->session ? "session" : "skill",
                           t->session ?: a->skill, "args", args,
                           "options", t->options, "stream", input ? "stdin" : NULL, "stdout", "stderr", "receipt",
                           o->receipt != NULL, "verbose", o->verbose, "quiet", o->quiet, "traceparent",
                           a->request.trace.set ? getenv("TRACEPARENT") : NULL);
        return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", "run", "params", params);
}

/* True when `lethe why --last` without --store would look into a different store. */
static json_t *serve_client_names_store(const char *store) {
        _cleanup_free_ char *usual = path_of_store(NULL, &(Diag){});

        return usual && strcmp(usual, store) == 0 ? NULL : json_true();
}

json_t *serve_client_request(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                             const char *store, const char *policy) {
        char cwd[PATH_MAX];
        json_t *args = serve_client_args(a->request.args), *params;

        if (!args || !getcwd(cwd, sizeof(cwd)) || *cwd != '/') {
                json_decref(args);
                return NULL;
        }
        params = json_pack("{s:s, s:o, s:s, s:O*, s:[s, s, s], s:b, s:b, s:b, s:o*, s:o*, s:s, s:s*, s:s*, s:s*}",
                           exec ? "exec" : t->session ? "session" : "skill", exec ?: t->session ?: a->skill, "args", args, "cwd", cwd, "options", t->options,
                           "stdio", "stdin", "stdout", "stderr", "receipt", o->receipt != NULL, "verbose", o->verbose,
                           "quiet", o->quiet,
                           /* omitted for daemons of older versions */
                           "promote", o->promote ? json_true() : NULL, "names_store", serve_client_names_store(store), "store",
                           store, "anchor", anchor_said(), "policy", t->session ? NULL : policy ?: "", "traceparent",
                           a->request.trace.set ? getenv("TRACEPARENT") : NULL);
        return json_pack("{s:s, s:i, s:s, s:o}", "jsonrpc", "2.0", "id", 1, "method", "run", "params", params);
}

/* The daemon ran no program, and the command can run the skill without the daemon. */
bool serve_client_must_run_alone(json_int_t code) {
        return code == SERVE_E_OTHER_STORE || code == SERVE_E_REMOTE || code == SERVE_E_STREAMS ||
               code == SERVE_E_STOPPING || code == SERVE_E_NOT_ALLOWED || code == SERVE_E_INVALID_PARAMS ||
               code == SERVE_E_UNKNOWN_METHOD;
}

int serve_client_failed(const SkillRequest *a, const char *exec, const RunOptions *o, const char *why) {
        cli_fail(cli_run_verb(), EXIT_LETHE, "%s", why);
        return run_refused(o, a->skill ?: exec, NULL, false, EXIT_LETHE, why);
}

/* Without the daemon a skill runs with other rights, and with another store: the user is told, except when a store
 * was named. */
void serve_client_tell_refused(const ServeClient *t, const RunOptions *o, json_int_t code, const char *message) {
        if (o->quiet)
                return;
        if (code == SERVE_E_NOT_ALLOWED)
                log_note("lethe serve refuses the user: %s; 'lethe run' continues without lethe serve",
                         message ?: "not_allowed");
        else if (code == SERVE_E_OTHER_STORE && !t->named_store)
                log_note("lethe serve has another store: %s; 'lethe run' continues without lethe serve",
                         message ?: "other_store");
        else if (code == SERVE_E_REMOTE || code == SERVE_E_STREAMS || code == SERVE_E_STOPPING)
                log_note("lethe serve does not take the run: %s; 'lethe run' continues without lethe serve",
                         message ?: "remote");
}

static int serve_client_tell(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                const json_t *answer) {
        const json_t *error = json_object_get(answer, "error"), *result = json_object_get(answer, "result"),
                     *refusal = json_object_get(result, "refusal");
        const json_t *receipt = json_object_get(result, "receipt"), *code = json_object_get(result, "exit_code");
        const char *why = cli_text(refusal, "message"), *outcome = cli_text(receipt, "outcome");
        Diag d = {};

        if (error && !t->session && serve_client_must_run_alone(-cli_integer(error, "code"))) {
                serve_client_tell_refused(t, o, -cli_integer(error, "code"), cli_text(error, "message"));
                return -1;
        }
        if (t->session && -cli_integer(error, "code") == SERVE_E_ELSEWHERE)
                return SERVE_CLIENT_ELSEWHERE;
        if (error || !json_is_integer(code)) {
                diag(&d, 0, "lethe serve: %s", cli_text(error, "message") ?: "malformed answer");
                return serve_client_failed(a, exec, o, d.text);
        }
        if (why && json_is_true(json_object_get(refusal, "usage")))
                cli_usage(cli_run_verb(), "%s", why);
        else if (why)
                cli_fail(cli_run_verb(), EXIT_LETHE, "%s", why);
        if (o->receipt && (!receipt || receipt_write(o->receipt, receipt, &d) < 0)) {
                log_error("%s", *d.text ? d.text : "lethe serve gave no receipt");
                return !why && outcome && strcmp(outcome, "setup_failed") != 0
                               ? 128 + SIGKILL
                               : EXIT_LETHE; /* as region_trouble_code() */
        }
        return (int)json_integer_value(code) & 0xFF;
}

/* e: the result of receiving the line. */
static int serve_client_answer(const ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o,
                               int e, const Buf *line, const Liveness *liveness) {
        _cleanup_json_ json_t *v = NULL;
        Diag d = {};

        if (e == -ECONNRESET) { /* the end of the request was not read */
                if (!t->session)
                        log_warning("lethe serve ended before taking the run: 'lethe run' continues without lethe serve");
                return t->session ? SERVE_CLIENT_ELSEWHERE : -1;
        }
        if (e == -ETIMEDOUT) {
                serve_client_failed(a, exec, o,
                       "a signal ended the wait for lethe serve, which does not answer; lethe serve takes the run back if revived");
                return 128 + liveness->signo;
        }
        if (e == 0)
                e = json_parse(line->data, line->n, line->n, ANSWER_DEPTH_MAX, &v, &d);
        if (e == -EPIPE)
                return serve_client_failed(
                        a, exec, o,
                        "lethe serve ended before the answer: after recovery the run's end is in the store ('lethe audit regions')");
        if (e != 0)
                return serve_client_failed(a, exec, o, *d.text ? d.text : strerror(-e));
        return serve_client_tell(t, a, exec, o, v);
}

/* Served by another user, maybe root: such a daemon would look up names with other rights than the caller's. */
static bool serve_client_is_foreign(int fd) {
        struct ucred cred;
        socklen_t n = sizeof(cred);

        return geteuid() != 0 && getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &cred, &n) == 0 && cred.uid != geteuid();
}

static bool serve_client_is_same_place(const char *ours, const char *theirs) {
        struct stat x, y;

        return strcmp(ours, theirs) == 0 || (lookup_stat(ours, true, &x) == 0 && lookup_stat(theirs, true, &y) == 0 &&
                                             x.st_dev == y.st_dev && x.st_ino == y.st_ino);
}

/* Compares the daemon's store, anchor and policy with the caller's, by looking both up here. A place that the caller
 * has not named may differ. */
static bool serve_client_has_same_places(const ServeClient *t, const RunOptions *o, int fd, const char *store,
                                         const char *policy, int signals, Liveness *liveness) {
        const struct {
                const char *name, *ours;
        } places[] = {{"store", store}, {"anchor", anchor_said()}, {"policy", policy}};
        _cleanup_json_ json_t *v = NULL;
        bool same = serve_call_signals(fd, "ping", json_object(), signals, liveness, &v) == 0;
        const json_t *error = json_object_get(v, "error");

        if (error)
                serve_client_tell_refused(t, o, -cli_integer(error, "code"), cli_text(error, "message"));
        same = same && !error;
        for (size_t i = 0; same && i < ARRAY_SIZE(places); i++) {
                const char *theirs = cli_text(json_object_get(v, "result"), places[i].name);

                same = !places[i].ours || (*places[i].ours ? theirs && serve_client_is_same_place(places[i].ours, theirs)
                                                           : !theirs); /* "": none */
        }
        return same;
}

static int serve_client_run_foreign(ServeClient *t, const SkillRequest *a, const RunOptions *o, int fd,
                                    const char *store, const char *policy, int signals, Liveness *liveness) {
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        _cleanup_close_ int own = -1;
        int input = serve_client_input(&own), e;
        bool empty, same;
        struct stat st;

        same = serve_client_has_same_places(t, o, fd, store, policy, signals, liveness);
        if (liveness->signo) /* before a run exists that the signal could cancel */
                return serve_client_answer(t, a, NULL, o, -ETIMEDOUT, &line, liveness);
        if (!same)
                return -1;
        if (a->request.terminal) {
                serve_client_tell_refused(t, o, SERVE_E_STREAMS, "a terminal does not go over a connection");
                return -1;
        }
        if (!a->skill || o->promote) {
                serve_client_tell_refused(t, o, SERVE_E_NOT_ALLOWED,
                             "for other users than its own lethe serve runs registered skills only");
                return -1;
        }
        empty = fstat(input, &st) < 0 || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3));
        e = serve_call_send(fd, serve_client_foreign_request(t, a, o, !empty), NULL, 0);
        if (e < 0)
                return -1;
        e = serve_client_flow(fd, empty ? -1 : input, signals, liveness, &line);
        return serve_client_answer(t, a, NULL, o, e, &line, liveness);
}

int serve_client_run(ServeClient *t, const SkillRequest *a, const char *exec, const RunOptions *o, const char *store,
                     const char *given, int signals) {
        const char *wanted = getenv("LETHE_SERVE");
        _cleanup_free_ char *socket = NULL, *policy = NULL;
        _cleanup_close_ int fd = -1, own = -1;
        _cleanup_liveness_ Liveness liveness = {.probe = -1};
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        Diag d = {};
        int e;

        if (t->cannot || (wanted && strcmp(wanted, "0") == 0))
                return -1;
        /* a daemon reads no skill from a served file system */
        if (front_is_child() && lookup_is_served(exec ?: a->skill) > 0)
                return -1;
        socket = path_of_socket(given, &d);
        fd = socket ? path_ask(socket) : -ENOENT;
        if (fd == -EACCES && !o->quiet)
                log_note("lethe serve cannot be asked: %s: %s; 'lethe run' continues without lethe serve", socket,
                         strerror(EACCES));
        if (fd == -EPERM)
                log_warning(
                        "socket %s: another user listens there, whom root does not ask; 'lethe run' continues without lethe serve",
                        socket);
        if (fd < 0 || policy_place(&policy) < 0)
                return -1;
        front_take_streams();
        liveness_begin(&liveness, fd, socket);
        if (serve_client_is_foreign(fd))
                return serve_client_run_foreign(t, a, o, fd, store, policy, signals, &liveness);
        e = serve_call_send(fd, serve_client_request(t, a, exec, o, store, policy),
                            (const int[]){serve_client_input(&own), STDOUT_FILENO, STDERR_FILENO}, SERVE_STREAMS);
        if (e < 0)
                return -1;
        e = serve_call_receive(fd, signals, &liveness, &line);
        return serve_client_answer(t, a, exec, o, e, &line, &liveness);
}

int serve_client_connect(const ServeClient *t, const RunOptions *o, const char *store, const char *given,
                         bool *ret_foreign, char **ret_socket) {
        const char *wanted = getenv("LETHE_SERVE");
        _cleanup_free_ char *socket = path_of_socket(given, &(Diag){}), *policy = NULL;
        _cleanup_liveness_ Liveness liveness = {.probe = -1};
        _cleanup_close_ int fd = -1;

        if (!socket || (wanted && strcmp(wanted, "0") == 0) || policy_place(&policy) < 0 || (fd = path_ask(socket)) < 0)
                return -1;
        liveness_begin(&liveness, fd, socket);
        liveness_signal(&liveness, 0); /* a stopped daemon is not waited for */
        *ret_foreign = serve_client_is_foreign(fd);
        if (!serve_client_has_same_places(t, o, fd, store, policy || *ret_foreign ? policy : "", -1, &liveness))
                return -1;
        *ret_socket = TAKE_PTR(socket);
        return TAKE_FD(fd);
}

int serve_client_turn(ServeClient *t, const SkillRequest *a, const RunOptions *o, const char *store, int fd,
                      int signals) {
        _cleanup_liveness_ Liveness liveness = {.probe = -1};
        _cleanup_buf_ Buf line = {.max = SERVE_ANSWER_MAX};
        _cleanup_close_ int own = -1;
        int e;

        front_take_streams();
        liveness_begin(&liveness, fd, NULL);
        if (serve_client_is_foreign(fd))
                e = serve_client_run_foreign(t, a, o, fd, store, NULL, signals, &liveness);
        else {
                e = serve_call_send(fd, serve_client_request(t, a, NULL, o, store, NULL),
                                    (const int[]){serve_client_input(&own), STDOUT_FILENO, STDERR_FILENO}, SERVE_STREAMS);
                bool taken = e != -EPIPE; /* a host that hangs up at once may have sent the reason */

                if (e == 0 || e == -EPIPE)
                        e = serve_call_receive(fd, signals, &liveness, &line);
                /* the host died after connect(), and has read no end of a request */
                e = serve_client_answer(t, a, NULL, o, e == -EPIPE && !taken ? -ECONNRESET : e, &line, &liveness);
        }
        return e >= 0 || e == SERVE_CLIENT_ELSEWHERE
                       ? e
                       : serve_client_failed(a, NULL, o, "the session's host ended before the turn");
}
