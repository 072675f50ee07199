/* Runs: CLI. Calls of tools: a run of the daemon, or a command; and the answer to the client. */
#include "mcp/mcp.h"

#include "base/log.h"
#include "schema/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <string.h>

#define CHUNK 65536
#define TAIL 4000 /* bytes of standard error in the answer of a failed call */

static void call_free(McpServer *m, McpCall *c) {
        McpCall **at = &m->calls;

        while (*at && *at != c)
                at = &(*at)->next;
        if (*at) {
                *at = c->next;
                m->n_calls--;
        }
        if (c->child > 0) {
                kill(c->child, SIGKILL);
                mcp_command_end(c);
        }
        closep(&c->out);
        closep(&c->err);
        buf_deinit(&c->out_text);
        buf_deinit(&c->err_text);
        json_decref(c->id);
        json_decref(c->token);
        json_decref(c->failed);
        json_decref(c->arguments);
        json_decref(c->answers);
        json_decref(c->state);
        json_decref(c->asked);
        free(c->uri);
        free(c);
}

void mcp_calls_free(McpServer *m) {
        while (m->calls)
                call_free(m, m->calls);
}

static int call_error(McpServer *m, const McpCall *c, int code, json_t *data, const json_t *text) {
        Diag d = {};

        diag(&d, 0, "%.900s", json_text(text) ?: "failed");
        return mcp_error(m, c->id, code, data, &d);
}

/* Answers, unless the client cancelled, and forgets the call. Takes the result; NULL: out of memory. */
static int call_end(McpServer *m, McpCall *c, json_t *result) {
        int e = result ? 0 : -ENOMEM;

        if (c->cancelled)
                json_decref(result);
        else if (result && c->tool->as != MCP_AS_TOOL && json_is_true(json_object_get(result, "isError"))) {
                e = call_error(m, c, MCP_E_INTERNAL, NULL,
                               json_object_get(json_array_get(json_object_get(result, "content"), 0), "text"));
                json_decref(result);
        } else if (result && c->tool->as == MCP_AS_RESOURCE)
                e = mcp_answer(m, c->id, c->modern, mcp_cached(result, c->modern));
        else if (result)
                e = mcp_answer(m, c->id, c->modern, result);
        call_free(m, c);
        return e;
}

static McpCall *call_new(McpServer *m, const McpRequest *q, const McpTool *tool) {
        McpCall *c = calloc(1, sizeof(*c));

        if (!c)
                return NULL;
        *c = (McpCall){.id = json_incref((json_t *)q->id),
                       .token = json_incref((json_t *)q->token),
                       .tool = tool,
                       .modern = q->modern,
                       .can = q->can,
                       .logs = q->logs,
                       .out = -1,
                       .err = -1,
                       .progress = -1,
                       .next = m->calls};
        m->calls = c;
        m->n_calls++;
        return c;
}

static int call_ask(McpServer *m, const char *method, json_t *params, uint64_t id) {
        _cleanup_json_ json_t *request = json_pack("{s:s, s:s, s:o, s:o*}", "jsonrpc", "2.0", "method", method,
                                                   "params", params, "id", id ? json_u64(id) : NULL);
        char *text = request ? json_dumps(request, JSON_COMPACT) : NULL;
        int e = !text                            ? -ENOMEM
                : strlen(text) > SERVE_LINE_MAX  ? -E2BIG
                                                 : line_queue_add(&m->asks, text, strlen(text)) ?: line_queue_add(&m->asks, "\n", 1);

        free(text);
        return e;
}

static json_t *call_options(const json_t *arguments) {
        static const char *const names[] = {"memory", "timeout"};
        json_t *options = json_array();

        for (size_t i = 0; options && i < ARRAY_SIZE(names); i++) {
                json_t *v = json_object_get(arguments, names[i]);

                if (v && json_array_append_new(options, json_pack("[s, O]", names[i], v)) < 0) {
                        json_decref(options);
                        return NULL;
                }
        }
        return options;
}

/* The request of a run: of a program with its arguments, or of a skill with the tool's arguments as JSON. */
static json_t *call_run_params(const McpCall *c, const json_t *arguments) {
        const json_t *args = json_object_get(arguments, "args"), *input = json_object_get(arguments, "stdin");
        _cleanup_json_ json_t *input_of = NULL;
        _cleanup_buf_ Buf line = {};
        char *text;
        int e;

        if (c->tool->builtin)
                return json_pack("{s:O, s:O*, s:O*, s:o, s:b, s:b}", "exec", json_object_get(arguments, "program"),
                                 "args", args, "stdin", input, "options", call_options(arguments), "quiet", true,
                                 "progress", c->token != NULL);
        input_of = c->tool->asks ? mcp_ask_input(c, arguments) : json_incref((json_t *)arguments);
        text = input_of ? json_dumps(input_of, JSON_COMPACT) : NULL;
        e = text ? buf_add(&line, text, strlen(text)) ?: buf_add(&line, "\n", 1) : -ENOMEM;
        free(text);
        return e < 0 ? NULL
                     : json_pack("{s:s, s:s%, s:b, s:b}", "skill", c->tool->skill, "stdin", line.data, line.n, "quiet",
                                 true, "progress", c->token || c->logs);
}

static int call_run(McpServer *m, McpCall *c, const json_t *arguments, Diag *reterr) {
        json_t *params;
        int e;

        if (m->daemon < 0)
                m->daemon = m->options->connect(m->options->userdata, reterr);
        if (m->daemon < 0)
                return 1;
        params = call_run_params(c, arguments);
        if (!params)
                return -ENOMEM;
        c->run = m->next_run++;
        e = call_ask(m, "run", params, c->run);
        return e == -E2BIG
                       ? diag(reterr, 1, "the arguments have too many bytes: a request has at most %d", SERVE_LINE_MAX)
                       : e;
}

static int call_command(McpServer *m, McpCall *c, const json_t *arguments, Diag *reterr) {
        char *input = NULL, **argv = mcp_builtin_argv(m, c->tool->builtin, arguments, &input);
        int e = argv ? mcp_command(c, argv, input) : -ENOMEM;

        free(input);
        for (char **a = argv; a && *a; a++)
                free(*a);
        free(argv);
        return e == -ENOMEM ? e : e < 0 ? diag(reterr, 1, "the command cannot be started: %s", strerror(-e)) : 0;
}

int mcp_call(McpServer *m, const McpRequest *q, const McpTool *tool, json_t *arguments, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *answers = NULL, *state = NULL;
        McpCall *c;
        Diag d = {};
        int e;

        for (c = m->calls; c; c = c->next)
                if (json_equal(c->id, q->id))
                        return diag(reterr, MCP_E_REQUEST, "id: a call that has it is at work");
        e = tool->input ? jsonschema_validate(tool->input, arguments, &d) : 0;
        if (e < 0)
                return e;
        if (e > 0 && tool->as != MCP_AS_TOOL)
                return diag(reterr, MCP_E_PARAMS, "arguments: %.900s", d.text);
        if (m->n_calls >= MCP_CALLS_MAX && tool->as != MCP_AS_TOOL)
                return diag(reterr, MCP_E_INTERNAL, "%d calls are at work already: ask again when one has ended",
                            MCP_CALLS_MAX);
        if (e > 0 || m->n_calls >= MCP_CALLS_MAX) {
                *ret = e > 0 ? mcp_failed(NULL, "arguments: %.900s", d.text)
                             : mcp_failed(NULL, "%d calls are at work already: call again when one has ended",
                                          MCP_CALLS_MAX);
                return *ret ? 0 : -ENOMEM;
        }
        e = mcp_ask_resume(m, q, tool, arguments, &answers, &state, reterr);
        if (e != 0)
                return e;
        c = call_new(m, q, tool);
        if (!c)
                return -ENOMEM;
        c->answers = TAKE_PTR(answers);
        c->state = TAKE_PTR(state);
        c->arguments = tool->asks ? json_incref(arguments) : NULL;
        if (tool->as == MCP_AS_RESOURCE && !(c->uri = strdup(json_str(q->params, "uri"))))
                return -ENOMEM;
        e = tool->builtin && tool->builtin->argv ? call_command(m, c, arguments, &d) : call_run(m, c, arguments, &d);
        return e > 0 ? call_end(m, c, mcp_failed(NULL, "%s", d.text)) : e;
}

int mcp_call_again(McpServer *m, McpCall *c) {
        Diag d = {};
        int e;

        json_decref(c->asked);
        c->asked = NULL;
        e = call_run(m, c, c->arguments, &d);
        return e > 0 ? call_end(m, c, mcp_failed(NULL, "%s", d.text)) : e;
}

void mcp_calls_unanswered(McpServer *m) {
        McpCall *next;

        for (McpCall *c = m->calls; c; c = next) {
                next = c->next;
                if (c->asked)
                        call_free(m, c);
        }
}

static void call_cancel(McpServer *m, McpCall *c) {
        c->cancelled = true;
        if (c->child > 0)
                kill(c->child, SIGTERM);
        else if (c->run && call_ask(m, "cancel", json_pack("{s:o}", "id", json_u64(c->run)), 0) < 0)
                log_warning("mcp: a cancel was lost: %s", strerror(ENOMEM));
}

void mcp_cancel(McpServer *m, const json_t *id) {
        for (McpCall *c = m->calls; c; c = c->next)
                if (json_equal(c->id, id) && !c->cancelled) {
                        call_cancel(m, c);
                        if (c->asked) /* nothing of the call is at work */
                                call_free(m, c);
                        return;
                }
}

void mcp_cancel_all(McpServer *m) {
        for (McpCall *c = m->calls; c; c = c->next)
                if (!c->cancelled)
                        call_cancel(m, c);
        mcp_calls_unanswered(m);
}

/* The last bytes of a text, from the begin of a character on. */
static const char *call_tail(const json_t *text, size_t *ret_n) {
        size_t n = json_string_length(text), from = n > TAIL ? n - TAIL : 0;
        const char *s = json_bytes(text) ?: "";

        while (from > 0 && from < n && ((unsigned char)s[from] & 0xc0) == 0x80)
                from++;
        *ret_n = n - from;
        return s + from;
}

static int call_ran_over(McpServer *m, McpCall *c, const json_t *result, const char *region) {
        int e = 0;
        json_t *answer = c->cancelled ? json_object() : mcp_ran(m, c, result, region, &e);

        if (e == MCP_WAITS || e < 0)
                return e < 0 ? e : 0;
        if (c->lacks && c->modern && !c->cancelled) {
                e = call_error(m, c, MCP_E_CAPABILITY, mcp_ask_lacks(c),
                               json_object_get(json_array_get(json_object_get(answer, "content"), 0), "text"));
                json_decref(answer);
                call_free(m, c);
                return e;
        }
        return call_end(m, c, answer);
}

/* The reasons of `lethe why` go behind the text of a failed run. */
static int call_ask_why(McpServer *m, McpCall *c, const char *region) {
        const McpOptions *o = m->options;
        char *const argv[] = {(char[]){"lethe"}, (char[]){"why"}, (char[]){"--store"},
                              (char *)o->store,  (char *)region,  NULL};

        c->run = 0;
        buf_deinit(&c->out_text);
        return mcp_command(c, argv, NULL);
}

static int call_run_failed(McpServer *m, McpCall *c, const json_t *result, const char *region) {
        const json_t *receipt = json_object_get(result, "receipt"), *err = json_object_get(result, "stderr"),
                     *refusal = json_object_get(result, "refusal");
        _cleanup_buf_ Buf text = {};
        size_t n_err, n_out;
        const char *errors = call_tail(err, &n_err), *output = call_tail(json_object_get(result, "stdout"), &n_out);
        int e;

        if (refusal)
                return call_end(m, c, mcp_failed(NULL, "refused: %.900s", json_str(refusal, "message")));
        e = buf_printf(&text,
                       "The tool failed: its process ended with exit code %" JSON_INTEGER_FORMAT " (outcome: %s).",
                       json_integer_value(json_object_get(result, "exit_code")),
                       *json_str(receipt, "outcome") ? json_str(receipt, "outcome") : "unknown");
        if (e == 0 && n_err > 0)
                e = buf_add_str(&text, "\nstandard error:\n") ?: buf_add(&text, errors, n_err);
        if (e == 0 && n_out > 0)
                e = buf_add_str(&text, "\nstandard output:\n") ?: buf_add(&text, output, n_out);
        if (e < 0)
                return e;
        c->failed = mcp_result(text.data, text.n, NULL, true, region);
        if (!c->failed)
                return -ENOMEM;
        if (*region && !c->cancelled && call_ask_why(m, c, region) == 0)
                return 0;
        return call_end(m, c, TAKE_PTR(c->failed));
}

/* Progress of a run: told to a client that asked for it, when it rises. */
static int call_progress(McpServer *m, McpCall *c, const json_t *params) {
        const json_t *done = json_object_get(params, "done");
        const double at = json_number_value(done);
        int e = 0;

        if (c->logs && !c->cancelled && json_is_string(json_object_get(params, "message")))
                e = mcp_notify(m, "notifications/message",
                               json_pack("{s:s, s:s, s:O}", "level", "info", "logger", c->tool->name, "data",
                                         json_object_get(params, "message")));
        if (e < 0 || !c->token || c->cancelled || !json_is_number(done) || !(at > c->progress))
                return e;
        c->progress = at;
        return mcp_notify(m, "notifications/progress",
                          json_pack("{s:O, s:O, s:O*, s:O*}", "progressToken", c->token, "progress", done, "total",
                                    json_object_get(params, "total"), "message", json_object_get(params, "message")));
}

int mcp_call_heard(McpServer *m, const json_t *message) {
        const json_t *params = json_object_get(message, "params"), *error = json_object_get(message, "error"),
                     *result = json_object_get(message, "result");
        const uint64_t id = json_number(params ?: message, "id");
        const char *region = json_str(result, "region");
        McpCall *c = m->calls;

        while (c && (c->run == 0 || c->run != id))
                c = c->next;
        if (!c) /* the answer to a cancel */
                return 0;
        if (params)
                return call_progress(m, c, params);
        if (error)
                return call_end(m, c, mcp_failed(NULL, "the tool did not run: %.900s", json_str(error, "message")));
        if (json_integer_value(json_object_get(result, "exit_code")) != 0 || json_object_get(result, "refusal"))
                return call_run_failed(m, c, result, region);
        return call_ran_over(m, c, result, region);
}

int mcp_call_lost(McpServer *m) {
        McpCall *next;
        int e = 0;

        closep(&m->daemon);
        line_queue_clear(&m->asks);
        line_reader_deinit(&m->answers);
        line_reader_init(&m->answers, SERVE_ANSWER_MAX);
        for (McpCall *c = m->calls; e == 0 && c; c = next) {
                next = c->next;
                if (c->run)
                        e = call_end(m, c,
                                     mcp_failed(NULL, "lethe serve ended before the answer: what the tool kept is "
                                                      "recorded, `lethe log` shows it"));
        }
        return e;
}

/* The end of `lethe why`, or of a tool's command. */
static int call_command_over(McpServer *m, McpCall *c) {
        const int code = mcp_command_end(c);
        _cleanup_json_ json_t *value = NULL;
        json_t *text;

        if (c->failed) {
                if (code == 0 && c->out_text.n > 0 &&
                    (text = json_object_get(json_array_get(json_object_get(c->failed, "content"), 0), "text"))) {
                        _cleanup_buf_ Buf b = {};

                        if (buf_add_str(&b, json_bytes(text)) < 0 || buf_add_str(&b, "\nwhy:\n") < 0 ||
                            buf_add_plain(&b, c->out_text.data, c->out_text.n) < 0 ||
                            json_string_setn(text, b.data, b.n) < 0)
                                return -ENOMEM;
                }
                return call_end(m, c, TAKE_PTR(c->failed));
        }
        if (c->out_cut)
                return call_end(m, c,
                                mcp_failed(NULL, "the answer has more than %d bytes: ask for less", MCP_TEXT_MAX));
        if (c->out_text.n > 0)
                json_parse(c->out_text.data, c->out_text.n, MCP_TEXT_MAX, MCP_DEPTH_MAX, &value, NULL);
        if (code == 0)
                return call_end(m, c,
                                mcp_result(c->out_text.data ?: "", c->out_text.n,
                                           json_is_object(value) ? TAKE_PTR(value) : NULL, false, NULL));
        /* a command with --json tells its error on standard output, and other words on standard error */
        if (c->err_text.n > 0)
                return call_end(m, c, mcp_result(c->err_text.data, c->err_text.n, NULL, true, NULL));
        return call_end(
                m, c, mcp_result(c->out_text.data ?: "failed", c->out_text.data ? c->out_text.n : 6, NULL, true, NULL));
}

/* Reads a pipe of a command. Returns 0 or -errno. */
static int call_take(McpCall *c, int *fd, Buf *into) {
        char bytes[CHUNK];
        ssize_t n = *fd >= 0 ? read(*fd, bytes, sizeof(bytes)) : -1;
        int e = 0;

        if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR))
                closep(fd);
        else if (n > 0 && into->n + (size_t)n > MCP_TEXT_MAX)
                c->out_cut = true;
        else if (n > 0)
                e = buf_add(into, bytes, (size_t)n);
        explicit_bzero(bytes, (size_t)MAX(n, (ssize_t)0));
        return e;
}

int mcp_call_read(McpServer *m, McpCall *c) {
        int e = call_take(c, &c->out, &c->out_text) ?: call_take(c, &c->err, &c->err_text);

        return e ?: c->out < 0 && c->err < 0 ? call_command_over(m, c) : 0;
}
