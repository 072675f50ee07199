/* Runs: CLI. Messages of a client of the Model Context Protocol: the envelope, the two eras, and the methods. */
#include "mcp/mcp.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define MODERN "2026-07-28"
#define META_VERSION "io.modelcontextprotocol/protocolVersion"
#define META_CAPABILITIES "io.modelcontextprotocol/clientCapabilities"
#define META_LEVEL "io.modelcontextprotocol/logLevel"
#define META_SERVER "io.modelcontextprotocol/serverInfo"
#define SKILLS "io.modelcontextprotocol/skills"
#define ID_MAX 256
#define TTL_MSEC 0 /* a skill may be registered at any moment */

static const char *const legacy_versions[] = {"2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05"};
static const char instructions[] =
        "Lethe runs each tool call in a sandboxed process of its own and records what became of it. A failed call says "
        "how the process ended and which permission would have helped; only the operator can give it.";

/* Sends a message. Takes it. */
static int mcp_send(McpServer *m, json_t *message) {
        _cleanup_json_ json_t *owned = message;
        char *text = owned ? json_dumps(owned, JSON_COMPACT) : NULL;
        int e = text ? line_queue_add(&m->out, text, strlen(text)) : -ENOMEM;

        free(text); /* overwritten when freed (json_wipe_freed()) */
        return e ?: line_queue_add(&m->out, "\n", 1);
}

static json_t *mcp_server_info(void) {
        return json_pack("{s:s, s:s, s:s}", "name", "lethe", "title", "Lethe", "version", LETHE_VERSION);
}

int mcp_answer(McpServer *m, const json_t *id, bool modern, json_t *result) {
        if (modern && result) {
                json_t *meta = json_object_get(result, "_meta");

                if (!meta && json_object_set_new(result, "_meta", meta = json_object()) < 0)
                        meta = NULL;
                if (!meta || json_object_set_new(meta, META_SERVER, mcp_server_info()) < 0 ||
                    (!json_object_get(result, "resultType") &&
                     json_object_set_new(result, "resultType", json_string("complete")) < 0)) {
                        json_decref(result);
                        return -ENOMEM;
                }
        }
        return mcp_send(m, json_pack("{s:s, s:O, s:o}", "jsonrpc", "2.0", "id", id, "result", result));
}

int mcp_error(McpServer *m, const json_t *id, int code, json_t *data, const Diag *d) {
        return mcp_send(m,
                        json_pack("{s:s, s:O?, s:{s:i, s:s, s:o*}}", "jsonrpc", "2.0", "id", id ?: json_null(), "error",
                                  "code", -code, "message", *d->text ? d->text : "internal error", "data", data));
}

int mcp_notify(McpServer *m, const char *method, json_t *params) {
        return mcp_send(m, json_pack("{s:s, s:s, s:o}", "jsonrpc", "2.0", "method", method, "params", params));
}

int mcp_send_request(McpServer *m, const char *id, const char *method, const json_t *params) {
        return mcp_send(
                m, json_pack("{s:s, s:s, s:s, s:O}", "jsonrpc", "2.0", "id", id, "method", method, "params", params));
}

/* Messages of skills go to clients of the newer revision without a word of the server's capabilities. */
static json_t *mcp_capabilities(bool modern) {
        return json_pack("{s:{}, s:{}, s:{}, s:{}, s:{s:{}}, s:o*}", "tools", "resources", "prompts", "completions",
                         "extensions", SKILLS, "logging", modern ? NULL : json_object());
}

/* A list is good until the next question: the registry may change at any time. */
json_t *mcp_cached(json_t *o, bool modern) {
        if (o && modern &&
            (json_object_set_new(o, "ttlMs", json_integer(TTL_MSEC)) < 0 ||
             json_object_set_new(o, "cacheScope", json_string("private")) < 0)) {
                json_decref(o);
                return NULL;
        }
        return o;
}

#define LEVEL_INFO 1
/* Place among the levels, which rise. Returns -1: none. */
static int mcp_level(const json_t *v) {
        static const char *const levels[] = {"debug", "info", "notice", "warning",
                                             "error", "critical", "alert",  "emergency"};

        for (size_t i = 0; i < ARRAY_SIZE(levels); i++)
                if (json_text_is(v, levels[i]))
                        return (int)i;
        return -1;
}

static int do_initialize(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const char *asked = json_text(json_object_get(q->params, "protocolVersion")), *answer = legacy_versions[0],
                   *client = json_text(json_object_get(json_object_get(q->params, "clientInfo"), "name"));

        if (!asked)
                return diag(reterr, MCP_E_PARAMS, "protocolVersion: must be a string");
        for (size_t i = 0; i < ARRAY_SIZE(legacy_versions); i++)
                if (strcmp(asked, legacy_versions[i]) == 0)
                        answer = legacy_versions[i];
        m->legacy = true;
        m->can = mcp_client_can(json_object_get(q->params, "capabilities"));
        snprintf(m->client, sizeof(m->client), "%.64s", client ?: "");
        *ret = json_pack("{s:s, s:o, s:o, s:s}", "protocolVersion", answer, "capabilities", mcp_capabilities(false),
                         "serverInfo", mcp_server_info(), "instructions", instructions);
        return 0;
}

static int do_discover(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        *ret = mcp_cached(json_pack("{s:[s], s:o, s:s}", "supportedVersions", MODERN, "capabilities",
                                    mcp_capabilities(true), "instructions", instructions),
                          true);
        return 0;
}

static int do_ping(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        *ret = json_object();
        return 0;
}

static int do_tools_list(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        int e = mcp_tools_read(m, reterr);
        json_t *list = json_array();

        if (e != 0) {
                json_decref(list);
                return e < 0 ? e : MCP_E_INTERNAL;
        }
        for (size_t i = 0; list && i < m->tools.n; i++)
                if (m->tools.rows[i].as == MCP_AS_TOOL && json_array_append(list, m->tools.rows[i].shown) < 0)
                        return -ENOMEM;
        *ret = mcp_cached(json_pack("{s:o}", "tools", list), q->modern);
        return 0;
}

static int do_tools_call(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const char *name = json_text(json_object_get(q->params, "name"));
        json_t *arguments = json_object_get(q->params, "arguments");
        _cleanup_json_ json_t *none = arguments ? NULL : json_object();
        const McpTool *tool;

        if (!name)
                return diag(reterr, MCP_E_PARAMS, "name: must be a string, the name of a tool");
        if (!json_is_object(arguments ?: none))
                return diag(reterr, MCP_E_PARAMS, "arguments: must be an object");
        tool = mcp_tool(m, name);
        if (!tool)
                return diag(reterr, MCP_E_PARAMS, "name: there is no tool \"%s\"; tools/list has the names",
                            DIAG_QUOTED(name));
        return mcp_call(m, q, tool, arguments ?: none, ret, reterr);
}

static int do_resources_list(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        int e = mcp_skills_resources(m, ret, reterr);

        e = e ?: mcp_offered_resources(m, json_object_get(*ret, "resources"), reterr);
        *ret = mcp_cached(*ret, q->modern);
        return e;
}

static int do_templates_list(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        int e = mcp_templates_list(m, ret, reterr);

        *ret = mcp_cached(*ret, q->modern);
        return e;
}

static int do_prompts_list(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        int e = mcp_prompts_list(m, ret, reterr);

        *ret = mcp_cached(*ret, q->modern);
        return e;
}

static int do_set_level(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const int level = mcp_level(json_object_get(q->params, "level"));

        if (level < 0)
                return diag(reterr, MCP_E_PARAMS,
                            "level: must be debug, info, notice, warning, error, critical, alert or emergency");
        m->logs = level <= LEVEL_INFO;
        *ret = json_object();
        return 0;
}

static int mcp_uri(const McpRequest *q, const char **ret, Diag *reterr) {
        *ret = json_text(json_object_get(q->params, "uri"));
        return *ret ? 0 : diag(reterr, MCP_E_PARAMS, "uri: must be a string");
}

static int do_resources_read(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const char *uri;
        int e = mcp_uri(q, &uri, reterr);

        if (e == 0 && strncmp(uri, "skill://", 8) != 0) {
                e = mcp_offered_read(m, q, uri, ret, reterr);
                return e == MCP_E_RESOURCE && q->modern ? MCP_E_PARAMS : e;
        }
        e = e ?: mcp_skills_read(m, uri, ret, reterr);
        *ret = mcp_cached(*ret, q->modern);
        return e == MCP_E_RESOURCE && q->modern ? MCP_E_PARAMS : e;
}

static int do_skills_list(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        int e = mcp_skills_list(m, ret, reterr);

        *ret = mcp_cached(*ret, q->modern);
        return e;
}

static int do_skills_get(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const char *uri;
        int e = mcp_uri(q, &uri, reterr) ?: mcp_skills_get(m, uri, ret, reterr);

        *ret = mcp_cached(*ret, q->modern);
        return e == MCP_E_RESOURCE && q->modern ? MCP_E_PARAMS : e;
}

enum { OLD = 1, NEW = 2, BOTH = 3 };
static const struct {
        const char *name;
        unsigned eras;
        int (*fn)(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr);
} methods[] = {
        {"completion/complete", BOTH, mcp_complete},
        {"initialize", OLD, do_initialize},
        {"logging/setLevel", OLD, do_set_level},
        {"ping", OLD, do_ping},
        {"prompts/get", BOTH, mcp_prompts_get},
        {"prompts/list", BOTH, do_prompts_list},
        {"resources/list", BOTH, do_resources_list},
        {"resources/read", BOTH, do_resources_read},
        {"resources/templates/list", BOTH, do_templates_list},
        {"server/discover", NEW, do_discover},
        {"skills/get", BOTH, do_skills_get},
        {"skills/list", BOTH, do_skills_list},
        {"tools/call", BOTH, do_tools_call},
        {"tools/list", BOTH, do_tools_list},
};

/* Sets the era of a request. *ret_data: for the error of an unknown version; owned. */
static int mcp_era(const McpServer *m, const char *method, McpRequest *q, json_t **ret_data, Diag *reterr) {
        const json_t *meta = json_object_get(q->params, "_meta"), *version = json_object_get(meta, META_VERSION);

        q->token = json_object_get(meta, "progressToken");
        if (q->token && !json_is_string(q->token) && !json_is_integer(q->token))
                return diag(reterr, MCP_E_PARAMS, "_meta.progressToken: must be a string or an integer");
        q->can = m->can;
        q->logs = m->logs;
        if (version) {
                q->modern = true;
                q->can = mcp_client_can(json_object_get(meta, META_CAPABILITIES));
                q->logs = mcp_level(json_object_get(meta, META_LEVEL)) >= 0 &&
                          mcp_level(json_object_get(meta, META_LEVEL)) <= LEVEL_INFO;
                if (!json_is_string(version))
                        return diag(reterr, MCP_E_PARAMS, "_meta[\"" META_VERSION "\"]: must be a string");
                if (!json_text_is(version, MODERN)) {
                        *ret_data = json_pack("{s:[s], s:O}", "supported", MODERN, "requested", version);
                        return diag(reterr, MCP_E_VERSION,
                                    "protocol version %s: requests with a version in _meta must have " MODERN,
                                    DIAG_QUOTED(json_text(version) ?: ""));
                }
                return json_is_object(json_object_get(meta, META_CAPABILITIES))
                               ? 0
                               : diag(reterr, MCP_E_PARAMS, "_meta[\"" META_CAPABILITIES "\"]: must be an object");
        }
        if (m->legacy || strcmp(method, "initialize") == 0)
                return 0;
        return diag(reterr, MCP_E_PARAMS,
                    "%s: neither initialize came before, nor has the request a version in _meta[\"" META_VERSION "\"]",
                    DIAG_QUOTED(method));
}

static int mcp_dispatch(McpServer *m, const char *method, McpRequest *q) {
        _cleanup_json_ json_t *data = NULL, *result = NULL;
        Diag d = {};
        int e = mcp_era(m, method, q, &data, &d);
        size_t i = 0;

        while (e == 0 && i < ARRAY_SIZE(methods) &&
               (strcmp(methods[i].name, method) != 0 || !(methods[i].eras & (q->modern ? NEW : OLD))))
                i++;
        if (e == 0 && i == ARRAY_SIZE(methods))
                e = diag(&d, MCP_E_METHOD, "there is no method \"%s\" in this revision", DIAG_QUOTED(method));
        if (e == 0)
                e = methods[i].fn(m, q, &result, &d);
        if (e < 0)
                return e;
        if (e > 0 && !data && strcmp(method, "resources/read") == 0)
                data = json_pack("{s:O*}", "uri", json_object_get(q->params, "uri"));
        if (e > 0)
                return mcp_error(m, q->id, e, TAKE_PTR(data), &d);
        return result ? mcp_answer(m, q->id, q->modern, TAKE_PTR(result)) : 0;
}

static bool mcp_id_valid(const json_t *id) {
        return json_is_integer(id) || (json_is_string(id) && json_string_length(id) <= ID_MAX);
}

/* Notifications that mean nothing here are ignored, as the protocol wants. */
static void mcp_take_notification(McpServer *m, const char *method, json_t *params) {
        const json_t *id = json_object_get(params, "requestId");

        if (strcmp(method, "notifications/cancelled") == 0 && id)
                mcp_cancel(m, id);
}

static int mcp_take_object(McpServer *m, json_t *o) {
        json_t *id = json_object_get(o, "id"), *params = json_object_get(o, "params");
        const char *method = json_text(json_object_get(o, "method"));
        _cleanup_json_ json_t *none = NULL;
        McpRequest q = {.id = id, .params = params};
        Diag d = {};

        if (json_is_object(o) && !json_object_get(o, "method") && id &&
            (json_object_get(o, "result") || json_object_get(o, "error")))
                return mcp_ask_heard(m, o);
        if (!json_is_object(o))
                diag(&d, 0, "a message is an object on a line of its own; batches are not taken");
        else if (!json_text_is(json_object_get(o, "jsonrpc"), "2.0"))
                diag(&d, 0, "jsonrpc: must be \"2.0\"");
        else if (!method)
                diag(&d, 0, "method: must be a string");
        else if (id && !mcp_id_valid(id))
                diag(&d, 0, "id: must be an integer or a string of at most %d bytes", ID_MAX);
        else if (params && !json_is_object(params))
                diag(&d, 0, "params: must be an object");
        if (*d.text)
                return mcp_error(m, id && mcp_id_valid(id) ? id : NULL, MCP_E_REQUEST, NULL, &d);
        if (!params && !(q.params = none = json_object()))
                return -ENOMEM;
        if (id)
                return mcp_dispatch(m, method, &q);
        mcp_take_notification(m, method, q.params);
        return 0;
}

int mcp_take(McpServer *m, const char *line, size_t n) {
        _cleanup_json_ json_t *o = NULL;
        Diag d = {};
        int e;

        if (n > 0 && line[n - 1] == '\r')
                n--;
        if (n == 0)
                return 0;
        e = json_parse(line, n, MCP_LINE_MAX, MCP_DEPTH_MAX, &o, &d);
        if (e < 0)
                return e;
        return e > 0 ? mcp_error(m, NULL, MCP_E_PARSE, NULL, &d) : mcp_take_object(m, o);
}

int mcp_take_too_long(McpServer *m) {
        Diag d = {};

        diag(&d, 0, "a message has at most %d bytes", MCP_LINE_MAX);
        return mcp_error(m, NULL, MCP_E_REQUEST, NULL, &d);
}
