/* Runs: CLI. Skills that are prompts and resources, and completion of their arguments (A-45). As tools, each is a run
 * in a region. */
#include "mcp/mcp.h"

#include "base/utf8.h"

#include <errno.h>
#include <string.h>

#define COMPLETIONS_MAX 100 /* of the protocol */
#define VALUE_MAX 1024      /* bytes of a variable of a template */

static const McpTool *offer_find(McpServer *m, McpAs as, const char *name) {
        for (int pass = 0; pass < 2; pass++) {
                for (size_t i = 0; i < m->tools.n; i++)
                        if (m->tools.rows[i].as == as && strcmp(m->tools.rows[i].name, name) == 0)
                                return &m->tools.rows[i];
                if (pass == 0 && mcp_tools_read(m, &(Diag){}) != 0)
                        break;
        }
        return NULL;
}

static json_t *offer_arguments(const McpTool *t) {
        const json_t *schema = t->schema, *required = json_object_get(schema, "required");
        json_t *list = json_array(), *v;
        const char *name;

        json_object_foreach(json_object_get(schema, "properties"), name, v) {
                bool needed = false;

                for (size_t i = 0; i < json_array_size(required); i++)
                        needed |= json_text_is(json_array_get(required, i), name);
                if (json_array_append_new(list, json_pack("{s:s, s:s*, s:b}", "name", name, "description",
                                                          json_text(json_object_get(v, "description")), "required",
                                                          needed)) < 0)
                        break;
        }
        return list;
}

int mcp_prompts_list(McpServer *m, json_t **ret, Diag *reterr) {
        int e = mcp_tools_read(m, reterr);
        json_t *list = json_array();

        for (size_t i = 0; e == 0 && i < m->tools.n; i++)
                if (m->tools.rows[i].as == MCP_AS_PROMPT &&
                    json_array_append_new(list,
                                          json_pack("{s:s, s:s, s:o}", "name", m->tools.rows[i].name, "description",
                                                    json_str(m->tools.rows[i].shown, "description"), "arguments",
                                                    offer_arguments(&m->tools.rows[i]))) < 0)
                        e = -ENOMEM;
        *ret = e == 0 ? json_pack("{s:O}", "prompts", list) : NULL;
        json_decref(list);
        return e > 0 ? MCP_E_INTERNAL : e;
}

int mcp_prompts_get(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const char *name = json_text(json_object_get(q->params, "name"));
        json_t *arguments = json_object_get(q->params, "arguments");
        _cleanup_json_ json_t *none = arguments ? NULL : json_object();
        const McpTool *t = name ? offer_find(m, MCP_AS_PROMPT, name) : NULL;

        if (!t)
                return diag(reterr, MCP_E_PARAMS, "name: there is no prompt \"%s\"; prompts/list has the names",
                            DIAG_QUOTED(name ?: ""));
        if (!json_is_object(arguments ?: none))
                return diag(reterr, MCP_E_PARAMS, "arguments: must be an object");
        return mcp_call(m, q, t, arguments ?: none, ret, reterr);
}

/* Whether the URI is of the template: *ret_arguments has the values; owned. A variable has no '/', '?' and '#'. */
static bool offer_matches(const char *template, const char *uri, json_t **ret_arguments) {
        _cleanup_json_ json_t *arguments = json_object();

        while (arguments && *template) {
                const char *end = *template == '{' ? strchr(template, '}') : NULL;
                size_t n;

                if (!end) {
                        if (*template != *uri)
                                return false;
                        template += 1;
                        uri += 1;
                        continue;
                }
                n = end[1] ? strcspn(uri, (char[]){end[1], '/', '?', '#', 0}) : strcspn(uri, "/?#");
                if (n == 0 || n > VALUE_MAX ||
                    json_object_setn_new(arguments, template + 1, (size_t)(end - template - 1), json_stringn(uri, n)) <
                            0)
                        return false;
                template = end + 1;
                uri += n;
        }
        if (!arguments || *uri)
                return false;
        *ret_arguments = TAKE_PTR(arguments);
        return true;
}

static int offer_list(McpServer *m, json_t *list, bool templates, Diag *reterr) {
        int e = mcp_tools_read(m, reterr);

        for (size_t i = 0; e == 0 && i < m->tools.n; i++) {
                const McpTool *t = &m->tools.rows[i];

                if (t->as != MCP_AS_RESOURCE || (strchr(t->uri, '{') != NULL) != templates)
                        continue;
                if (json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:s}", templates ? "uriTemplate" : "uri",
                                                          t->uri, "name", t->name, "description",
                                                          json_str(t->shown, "description"), "mimeType", t->type)) < 0)
                        e = -ENOMEM;
        }
        return e > 0 ? MCP_E_INTERNAL : e;
}

int mcp_offered_resources(McpServer *m, json_t *list, Diag *reterr) {
        return offer_list(m, list, false, reterr);
}

int mcp_templates_list(McpServer *m, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *list = json_array();
        int e = list ? offer_list(m, list, true, reterr) : -ENOMEM;

        if (e == 0)
                *ret = json_pack("{s:O}", "resourceTemplates", list);
        return e;
}

int mcp_offered_read(McpServer *m, const McpRequest *q, const char *uri, json_t **ret, Diag *reterr) {
        int e = mcp_tools_read(m, reterr);

        for (size_t i = 0; e == 0 && i < m->tools.n; i++) {
                const McpTool *t = &m->tools.rows[i];
                _cleanup_json_ json_t *arguments = NULL;

                if (t->as == MCP_AS_RESOURCE && offer_matches(t->uri, uri, &arguments))
                        return mcp_call(m, q, t, arguments, ret, reterr);
        }
        return e != 0 ? e : diag(reterr, MCP_E_RESOURCE, "uri %s: there is no resource", DIAG_QUOTED(uri));
}

/* Completion: words that the skill's "input" lists for the argument. */
int mcp_complete(McpServer *m, const McpRequest *q, json_t **ret, Diag *reterr) {
        const json_t *ref = json_object_get(q->params, "ref"), *argument = json_object_get(q->params, "argument");
        const bool prompt = json_text_is(json_object_get(ref, "type"), "ref/prompt");
        const char *of = prompt ? json_str(ref, "name") : json_str(ref, "uri"), *begin = json_str(argument, "value");
        const McpTool *t = prompt ? offer_find(m, MCP_AS_PROMPT, of) : NULL;
        _cleanup_json_ json_t *values = json_array();
        const json_t *words;

        for (size_t i = 0; !prompt && i < m->tools.n; i++)
                if (m->tools.rows[i].as == MCP_AS_RESOURCE && strcmp(m->tools.rows[i].uri, of) == 0)
                        t = &m->tools.rows[i];
        if (!t)
                return diag(reterr, MCP_E_PARAMS, "ref: there is no prompt and no template \"%s\"", DIAG_QUOTED(of));
        words = json_object_get(json_object_get(json_object_get(t->schema, "properties"), json_str(argument, "name")),
                                "enum");
        for (size_t i = 0; i < json_array_size(words) && json_array_size(values) < COMPLETIONS_MAX; i++) {
                json_t *word = json_array_get(words, i);

                if (json_text(word) && strncmp(json_text(word), begin, strlen(begin)) == 0 &&
                    json_array_append(values, word) < 0)
                        return -ENOMEM;
        }
        *ret = json_pack("{s:{s:O, s:b}}", "completion", "values", values, "hasMore",
                         json_array_size(values) == COMPLETIONS_MAX);
        return 0;
}
