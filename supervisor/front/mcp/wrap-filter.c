/* Runs: CLI. What passes between a client and a wrapped server. A message passes byte by byte as it came, unless a rule
 * of this file changes the message. */
#include "mcp/wrap.h"

#include "base/clock.h"
#include "base/hash.h"
#include "base/log.h"
#include "base/utf8.h"
#include "manifest/vocabulary.h"
#include "schema/jsonschema.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define TOOL_NAME_MAX 256

void wrap_asked_free(Wrap *w, WrapAsked *a) {
        WrapAsked **at = &w->asked;

        while (*at && *at != a)
                at = &(*at)->next;
        if (*at) {
                *at = a->next;
                w->n_asked--;
        }
        json_decref(a->id);
        free(a->tool);
        free(a);
}

static WrapAsked *wrap_find(const Wrap *w, const json_t *id) {
        WrapAsked *a = w->asked;

        while (a && !json_equal(a->id, id))
                a = a->next;
        return a;
}

static int wrap_send(LineQueue *to, const json_t *message) {
        char *text = message ? json_dumps(message, JSON_COMPACT) : NULL;
        int e = text ? line_queue_add(to, text, strlen(text)) ?: line_queue_add(to, "\n", 1) : -ENOMEM;

        free(text);
        return e;
}

static int wrap_pass(LineQueue *to, const char *line, size_t n) {
        return line_queue_add(to, line, n) ?: line_queue_add(to, "\n", 1);
}

/* Answers the client in place of the server. */
static int wrap_refuse(Wrap *w, const json_t *id, const char *text) {
        _cleanup_json_ json_t *m =
                json_pack("{s:s, s:O, s:{s:[{s:s, s:s}], s:b, s:s}}", "jsonrpc", "2.0", "id", id, "result", "content",
                          "type", "text", "text", text, "isError", 1, "resultType", "complete");

        return wrap_send(&w->to_client, m);
}

static int wrap_error(Wrap *w, const json_t *id, int code, const char *text) {
        _cleanup_json_ json_t *m = json_pack("{s:s, s:O, s:{s:i, s:s}}", "jsonrpc", "2.0", "id", id, "error", "code",
                                             code, "message", text);

        return wrap_send(&w->to_client, m);
}

/* An event of a call that is over. Takes nothing; outcome: ok, tool_error, error, refused, bad_result, cancelled, lost.
 */
static int wrap_note(Wrap *w, const WrapAsked *a, const char *outcome, const json_t *result) {
        _cleanup_free_ char *text = result ? json_dumps(result, JSON_COMPACT | JSON_ENCODE_ANY) : NULL;
        char hex[HASH_HEX_MAX], digest[80] = "";

        w->n_calls++;
        if (text)
                snprintf(digest, sizeof(digest), "sha256:%s", hash_hex(text, strlen(text), hex));
        return json_array_append_new(w->events,
                                     json_pack("{s:s, s:s, s:s, s:s, s:o, s:s*, s:o*, s:o, s:s*}", "server", w->options->name,
                                               "tool", a->tool, "outcome", outcome, "arguments", a->arguments,
                                               "arguments_bytes", json_u64(a->bytes), "result", text ? digest : NULL,
                                               "result_bytes", text ? json_u64(strlen(text)) : NULL, "usec",
                                               json_u64(clock_mono_usec() - a->usec), "session", *w->session ? w->session : NULL)) < 0
                       ? -ENOMEM
                       : 0;
}

static const json_t *wrap_approved(const Wrap *w) {
        return json_object_get(w->approved, "tools");
}

/* Somebody may have approved a tool meanwhile. */
static int wrap_read_again(Wrap *w) {
        _cleanup_json_ json_t *now = NULL;
        Diag d = {};
        int e = wrap_record_wait(w) ?: approved_read(w->store, w->options->name, &now, &d);

        if (e > 0)
                log_error("mcp wrap: the approvals cannot be read: %s", d.text);
        if (e != 0)
                return e > 0 ? -EIO : e;
        json_decref(w->approved);
        w->approved = TAKE_PTR(now);
        return 0;
}

/* The reason why a tool is not to be called, or NULL. */
static const char *wrap_forbids(const Wrap *w, const char *tool) {
        if (strv_has(w->options->hidden, tool) || (w->options->tools && !strv_has(w->options->tools, tool)))
                return "the operator does not allow the tool";
        if (json_object_get(json_object_get(w->approved, "offered"), tool))
                return "the server's description of the tool is not the approved one: the operator has to look at the "
                       "tool "
                       "and run `lethe mcp approve`";
        if (!json_object_get(wrap_approved(w), tool))
                return "no tool of the name is approved: ask for tools/list first, or the operator has to run "
                       "`lethe mcp approve`";
        return NULL;
}

/* A schema outside of the subset checks nothing: the server checks its own arguments. */
static int wrap_fits(const Wrap *w, const char *tool, const char *which, const json_t *value, Diag *reterr) {
        const json_t *schema = json_object_get(json_object_get(w->schemas, tool), which);
        _cleanup_jsonschema_ JsonSchema *compiled = NULL;

        return schema && jsonschema_compile(schema, &compiled, NULL) == 0 ? jsonschema_validate(compiled, value, reterr)
                                                                          : 0;
}

static WrapAsked *wrap_ask(Wrap *w, json_t *id, int kind) {
        WrapAsked *a = calloc(1, sizeof(*a));

        if (!a)
                return NULL;
        *a = (WrapAsked){
                .id = json_incref(id), .kind = (typeof(a->kind))kind, .usec = clock_mono_usec(), .next = w->asked};
        w->asked = a;
        w->n_asked++;
        return a;
}

static int wrap_call(Wrap *w, json_t *id, const json_t *params, const char *line, size_t n) {
        const char *tool = json_str(params, "name"), *why = wrap_forbids(w, tool);
        const json_t *arguments = json_object_get(params, "arguments");
        _cleanup_json_ json_t *none = json_object();
        _cleanup_free_ char *text = NULL;
        char hex[HASH_HEX_MAX];
        WrapAsked *a = wrap_ask(w, id, WRAP_CALL);
        Diag d = {};
        int e = wrap_record_open(w) ?: why ? wrap_read_again(w) : 0;

        if (e < 0)
                return e;
        why = wrap_forbids(w, tool);
        if (!a || !none || !(a->tool = strndup(tool, TOOL_NAME_MAX)) ||
            !(text = json_dumps(arguments ?: none, JSON_COMPACT | JSON_ENCODE_ANY)))
                return -ENOMEM;
        a->bytes = strlen(text);
        snprintf(a->arguments, sizeof(a->arguments), "sha256:%s", hash_hex(text, a->bytes, hex));
        if (!why && a->bytes > w->options->arguments_max)
                why = (diag(&d, 0, "the arguments have %" PRIu64 " bytes, and at most %" PRIu64 " are allowed",
                            a->bytes, w->options->arguments_max),
                       d.text);
        if (!why && (e = wrap_fits(w, tool, "inputSchema", arguments ?: none, &d)) != 0) {
                if (e < 0)
                        return e;
                diag_prefix(&d, "arguments");
                why = d.text;
        }
        if (!why)
                return wrap_pass(&w->to_server, line, n);
        e = wrap_note(w, a, "refused", NULL) ?: wrap_refuse(w, id, why);
        wrap_asked_free(w, a);
        return e;
}

static int wrap_request(Wrap *w, json_t *o, const char *line, size_t n) {
        const char *method = json_str(o, "method");
        json_t *id = json_object_get(o, "id"), *params = json_object_get(o, "params");

        if (!json_is_string(id) && !json_is_integer(id))
                return wrap_error(w, json_is_null(id) ? id : NULL ?: json_null(), -32600, "id: must be an integer or a string");
        if (wrap_find(w, id))
                return wrap_error(w, id, -32600, "id: a request that has it is not answered yet");
        if (w->n_asked >= WRAP_ASKED_MAX)
                return wrap_error(w, id, -32603, "too many requests are not answered yet");
        if (strcmp(method, "tools/call") == 0)
                return wrap_call(w, id, params, line, n);
        if (!wrap_ask(w, id, strcmp(method, "tools/list") == 0 ? WRAP_LIST : WRAP_OTHER))
                return -ENOMEM;
        return wrap_pass(&w->to_server, line, n);
}

int wrap_from_client(Wrap *w, const char *line, size_t n) {
        _cleanup_json_ json_t *o = NULL, *null = json_null();
        WrapAsked *a;
        Diag d = {};
        int e = json_parse(line, n, WRAP_LINE_MAX, WRAP_DEPTH_MAX, &o, &d);

        if (e < 0)
                return e;
        if (e > 0)
                return wrap_error(w, null, -32700, d.text);
        if (!json_is_object(o))
                return wrap_error(w, null, -32600,
                                  "a message is an object on a line of its own; batches are not taken");
        if (json_object_get(o, "method") && json_object_get(o, "id"))
                return wrap_request(w, o, line, n);
        if (strcmp(json_str(o, "method"), "notifications/cancelled") == 0 &&
            (a = wrap_find(w, json_object_get(json_object_get(o, "params"), "requestId"))))
                a->cancelled = true;
        return wrap_pass(&w->to_server, line, n);
}

/* The operator's view of a tool that is not approved. */
static json_t *wrap_offer(const json_t *tool, const char *digest) {
        return json_pack("{s:s, s:O*, s:O*}", "digest", digest, "title", json_object_get(tool, "title"), "description",
                         json_object_get(tool, "description"));
}

/* Whether all text of a listing is visible: a control character, or a mark that hides text or turns it round, can show
 * the operator other words than the model reads. */
static bool wrap_is_visible(const json_t *v) {
        const char *key, *s = json_bytes(v);
        const json_t *item;
        size_t i;

        for (size_t at = 0, n = json_string_length(v), step; s && at < n; at += step) {
                const unsigned c = utf8_decode((const unsigned char *)s + at, n - at, &step);

                if ((c < ' ' && c != '\n' && c != '\r' && c != '\t') || (c >= 0x7f && c < 0xa0) || utf8_is_mark(c))
                        return false;
        }
        for (i = 0; i < json_array_size(v); i++)
                if (!wrap_is_visible(json_array_get(v, i)))
                        return false;
        json_object_foreach((json_t *)v, key, item) {
                _cleanup_json_ json_t *name = json_string(key);

                if (!wrap_is_visible(name) || !wrap_is_visible(item))
                        return false;
        }
        return true;
}

/* Whether a tool can have a place in a list: not when the name is bad or in the list already, or a text hides
 * characters. */
static bool wrap_is_listed(Wrap *w, const json_t *tool, json_t *seen) {
        const char *name = json_str(tool, "name");

        if (!*name || strlen(name) > TOOL_NAME_MAX || json_object_get(seen, name) ||
            json_object_set_new(seen, name, json_true()) < 0)
                return false;
        if (wrap_is_visible(tool))
                return true;
        log_warning("mcp wrap: the tool %s of %s is hidden: the listing has control or invisible characters",
                    DIAG_QUOTED(name), w->options->name);
        return false;
}

/* Decides about a listed tool: 1 shown, 0 hidden. value: the approvals; a first list approves all tools in it. */
static int wrap_judge_tool(Wrap *w, const json_t *tool, json_t *value, bool first) {
        const char *name = json_str(tool, "name");
        json_t *tools = json_object_get(value, "tools"), *offered = json_object_get(value, "offered");
        char digest[80];
        int e = approved_digest(tool, digest);

        if (e == -ENOMEM)
                return e;
        if (e < 0 || strv_has(w->options->hidden, name) ||
            (w->options->tools && !strv_has(w->options->tools, name)))
                return 0;
        if (first && json_object_set_new(tools, name, json_string(digest)) < 0)
                return -ENOMEM;
        if (!json_text_is(json_object_get(tools, name), digest)) {
                log_warning("mcp wrap: the tool %s of %s is %s: hidden until `lethe mcp approve %s`", DIAG_QUOTED(name),
                            w->options->name, json_object_get(tools, name) ? "not as approved" : "new",
                            w->options->name);
                return json_object_set_new(offered, name, wrap_offer(tool, digest)) < 0 ? -ENOMEM : 0;
        }
        json_object_del(offered, name);
        return json_object_set_new(w->schemas, name,
                                   json_pack("{s:O*, s:O*}", "inputSchema", json_object_get(tool, "inputSchema"),
                                             "outputSchema", json_object_get(tool, "outputSchema"))) < 0
                       ? -ENOMEM
                       : 1;
}

/* Writes the approvals when a list changed them. */
static int wrap_keep(Wrap *w, json_t *value) {
        char who[32];
        Diag d = {};
        int e;

        if (json_equal(value, w->approved))
                return 0;
        snprintf(who, sizeof(who), "uid:%u", (unsigned)getuid());
        e = approved_write(w->store, w->options->name, who, value, &d);
        if (e > 0)
                log_error("mcp wrap: the approvals cannot be kept: %s", d.text);
        if (e != 0)
                return e > 0 ? -EIO : e;
        json_decref(w->approved);
        w->approved = json_incref(value);
        return 0;
}

/* Takes from the list what is not approved. A list in pages approves with the first answer: tools of later pages are
 * new. */
static int wrap_filter_list(Wrap *w, json_t *result) {
        _cleanup_json_ json_t *shown = json_array(), *seen = json_object(), *value = NULL;
        int e = wrap_read_again(w);
        const bool first = !w->approved;
        json_t *tool;
        size_t i;

        value = first ? json_pack("{s:{}, s:{}}", "tools", "offered") : json_deep_copy(w->approved);
        if (e == 0 && (!shown || !seen || !value))
                e = -ENOMEM;
        json_array_foreach(json_object_get(result, "tools"), i, tool) {
                if (e < 0 || i >= WRAP_TOOLS_MAX)
                        break;
                e = wrap_is_listed(w, tool, seen) ? wrap_judge_tool(w, tool, value, first) : 0;
                if (e > 0 && json_array_append(shown, tool) < 0)
                        e = -ENOMEM;
        }
        e = MIN(e, 0) ?: wrap_keep(w, value);
        return e ?: json_object_set(result, "tools", shown) < 0 ? -ENOMEM : 0;
}

static int wrap_call_answer(Wrap *w, WrapAsked *a, const json_t *o, const char *line, size_t n) {
        const json_t *result = json_object_get(o, "result"), *structured = json_object_get(result, "structuredContent");
        const bool failed = json_is_true(json_object_get(result, "isError"));
        Diag d = {};
        int e = 0;

        if (!result)
                return wrap_note(w, a, "error", json_object_get(o, "error")) ?: wrap_pass(&w->to_client, line, n);
        if (n > w->options->result_max)
                e = diag(&d, 1, "the server's result has %zu bytes, and at most %" PRIu64 " are allowed", n,
                         w->options->result_max);
        else if (structured && !failed) {
                e = wrap_fits(w, a->tool, "outputSchema", structured, &d);
                if (e > 0)
                        diag_prefix(&d, "the server's result does not fit the tool's own outputSchema");
        }
        if (e < 0)
                return e;
        if (e > 0)
                return wrap_note(w, a, "bad_result", result) ?: a->cancelled ? 0 : wrap_refuse(w, a->id, d.text);
        e = wrap_note(w, a, a->cancelled ? "cancelled" : failed ? "tool_error" : "ok", result);
        return e ?: a->cancelled ? 0 : wrap_pass(&w->to_client, line, n);
}

static int wrap_answer(Wrap *w, json_t *o, const char *line, size_t n) {
        WrapAsked *a = wrap_find(w, json_object_get(o, "id"));
        json_t *result = json_object_get(o, "result");
        int e = 0;

        if (!a) {
                log_warning("mcp wrap: %s answered a request that nobody made: dropped", w->options->name);
                return 0;
        }
        if (a->kind == WRAP_CALL)
                e = wrap_call_answer(w, a, o, line, n);
        else if (a->kind == WRAP_LIST && json_is_object(result))
                e = wrap_filter_list(w, result) ?: wrap_send(&w->to_client, o);
        else
                e = wrap_pass(&w->to_client, line, n);
        wrap_asked_free(w, a);
        return e;
}

int wrap_from_server(Wrap *w, const char *line, size_t n) {
        _cleanup_json_ json_t *o = NULL;
        Diag d = {};
        int e = json_parse(line, n, WRAP_LINE_MAX, WRAP_DEPTH_MAX, &o, &d);

        if (e < 0)
                return e;
        if (e > 0 || !json_is_object(o)) {
                log_warning("mcp wrap: %s wrote a line that is no message: dropped", w->options->name);
                return 0;
        }
        if (json_object_get(o, "method"))
                return wrap_pass(&w->to_client, line, n);
        return wrap_answer(w, o, line, n);
}

int wrap_lost(Wrap *w) {
        int e = 0;

        while (e == 0 && w->asked) {
                WrapAsked *a = w->asked;

                if (a->kind == WRAP_CALL)
                        e = wrap_note(w, a, a->cancelled ? "cancelled" : "lost", NULL);
                if (e == 0 && !a->cancelled)
                        e = wrap_error(w, a->id, -32603, "the server ended before its answer");
                wrap_asked_free(w, a);
        }
        return e;
}
