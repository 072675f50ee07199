/* Runs: CLI. Results of calls: text, values and content of a skill that ended well, and failures. */
#include "mcp/mcp.h"

#include "schema/serve.h"

#include <string.h>

/* The answer of a call: text for the model, and a value where the tool has one. Takes `structured`. */
json_t *mcp_result(const char *text, size_t n, json_t *structured, bool failed, const char *region) {
        _cleanup_buf_ Buf plain = {};

        if (buf_add_plain(&plain, text, n) < 0) {
                json_decref(structured);
                return NULL;
        }
        return json_pack("{s:[{s:s, s:s%}], s:o*, s:o*, s:o*}", "content", "type", "text", "text", plain.data ?: "",
                         plain.n, "structuredContent", structured, "isError", failed ? json_true() : NULL, "_meta",
                         region && *region ? json_pack("{s:s}", "lethe/region", region) : NULL);
}

json_t *mcp_failed(const char *region, const char *fmt, ...) {
        Diag d = {};
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(d.text, sizeof(d.text), fmt, ap);
        va_end(ap);
        return mcp_result(d.text, strlen(d.text), NULL, true, region);
}

/* The answer of a run that ended with 0: the skill's own result, else standard output. */
json_t *mcp_ran(McpServer *m, McpCall *c, const json_t *result, const char *region, int *ret_e) {
        const json_t *out = json_object_get(result, "stdout");
        json_t *value = json_object_get(json_object_get(result, "receipt"), "result");
        _cleanup_json_ json_t *parsed = NULL;
        _cleanup_free_ char *text = NULL;
        Diag d = {};
        size_t n = 0;
        int e;

        if (!value && (c->tool->output || c->tool->content || c->tool->asks)) {
                e = json_parse(json_bytes(out) ?: "", json_string_length(out), SERVE_ANSWER_MAX, MCP_DEPTH_MAX, &parsed,
                               &d);
                if (e > 0)
                        return mcp_failed(
                                region,
                                "the skill ended well, but the output is not one JSON value as the manifest says: "
                                "%.600s",
                                d.text);
                value = parsed;
        }
        if (c->tool->asks) {
                e = mcp_ask(m, c, value, &value, &d);
                if (e == MCP_ASKED || e == MCP_WAITS || e < 0) {
                        *ret_e = e;
                        return e == MCP_ASKED ? value : NULL;
                }
                if (e > 0)
                        return mcp_failed(region, "the skill ended well, but the answer cannot be passed: %.600s",
                                          d.text);
        }
        if (value && c->tool->output && jsonschema_validate(c->tool->output, value, &d) != 0)
                return mcp_failed(region,
                                  "the skill ended well, but the result does not fit the manifest's \"output\": %.600s",
                                  d.text);
        if (c->tool->content || c->tool->as != MCP_AS_TOOL) {
                const char *said = json_is_string(value) ? json_bytes(value) : json_bytes(out) ?: "";
                json_t *shaped = mcp_content(c->tool, c->uri, value, said,
                                             json_string_length(json_is_string(value) ? value : out), &d);

                return shaped
                               ?: mcp_failed(region, "the skill ended well, but the content cannot be passed: %.600s",
                                             d.text);
        }
        if (!value)
                return mcp_result(json_bytes(out) ?: "", json_string_length(out), NULL, false, region);
        text = json_dumps(value, JSON_COMPACT | JSON_ENCODE_ANY);
        n = text ? strlen(text) : 0;
        return mcp_result(text ?: "", n, json_is_object(value) ? json_incref(value) : NULL, false, region);
}
