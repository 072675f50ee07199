/* Runs: CLI. The tools of a client: skills of the registry, and commands, as far as the client may have them (A-41,
 * Names and schemas come from the skills' folders, and so from others: they are data. */
#include "mcp/mcp.h"

#include "base/log.h"
#include "engine/skill.h"
#include "request/registry.h"

#include <errno.h>
#include <string.h>

#define LIST_MAX 512 /* skills in a list */

static void mcp_tool_deinit(McpTool *t) {
        free(t->name);
        free(t->skill);
        free(t->uri);
        free(t->type);
        json_decref(t->schema);
        json_decref(t->shown);
        jsonschema_free(t->input);
        jsonschema_free(t->output);
        *t = (McpTool){};
}

void mcp_tools_free(McpTools *t) {
        for (size_t i = 0; i < t->n; i++)
                mcp_tool_deinit(&t->rows[i]);
        free(t->rows);
        *t = (McpTools){};
}

bool mcp_may_have(const McpServer *m, const char *skill) {
        return !m->options->skills || strv_has(m->options->skills, skill);
}

/* Only an object's schema can bind a structured answer. */
static bool mcp_is_object_schema(const json_t *schema) {
        return json_text_is(json_object_get(schema, "type"), "object");
}

/* Adds a row. Takes `shown`; the row is complete or not there. */
static int mcp_tool_add(McpTools *t, const char *name, json_t *shown, const json_t *input, const json_t *output,
                        const McpTool *from) {
        McpTool row = *from;
        int e;

        row.name = strdup(name);
        row.shown = shown;
        e = row.name && shown ? jsonschema_compile(input, &row.input, NULL) : -ENOMEM;
        if (e == 0 && output)
                e = jsonschema_compile(output, &row.output, NULL);
        if (e == 0 && GROW(t->rows, t->n)) {
                t->rows[t->n++] = row;
                return 0;
        }
        mcp_tool_deinit(&row);
        return e < 0 ? e : e > 0 ? -EINVAL : -ENOMEM;
}

static int mcp_add_builtin(McpTools *t, const McpBuiltin *b) {
        _cleanup_json_ json_t *input = json_loads(b->input, 0, NULL);

        if (!input)
                return -ENOMEM;
        return mcp_tool_add(t, b->name,
                            json_pack("{s:s, s:s, s:s, s:O, s:{s:b, s:b, s:b}}", "name", b->name, "title", b->title,
                                      "description", b->about, "inputSchema", input, "annotations", "readOnlyHint",
                                      !b->changes, "destructiveHint", b->changes, "openWorldHint", false),
                            input, NULL, &(McpTool){.builtin = b});
}

static int mcp_add_skill(McpTools *t, const Skill *s, const char *digest) {
        _cleanup_json_ json_t *any = json_pack("{s:s}", "type", "object");
        const json_t *input = s->manifest.input, *output = s->manifest.output, *mcp = s->manifest.mcp;
        const char *name = *json_str(mcp, "name") ? json_str(mcp, "name") : s->md.name, *uri = json_str(mcp, "uri");
        McpTool row = {.skill = strdup(s->md.name),
                       .as = (McpAs)json_integer_value(json_object_get(mcp, "as")),
                       .declared = name != s->md.name,
                       .content = json_is_true(json_object_get(mcp, "content")),
                       .asks = (unsigned)json_integer_value(json_object_get(mcp, "asks")),
                       .uri = strdup(uri),
                       .type = strdup(*json_str(mcp, "type") ? json_str(mcp, "type") : "text/plain"),
                       .schema = json_incref((json_t *)input)};

        snprintf(row.digest, sizeof(row.digest), "%s", digest);
        if (!any || !row.skill || !row.uri || !row.type) {
                mcp_tool_deinit(&row);
                return -ENOMEM;
        }
        return mcp_tool_add(t, name,
                            json_pack("{s:s, s:s, s:O, s:O*}", "name", name, "description", s->md.description ?: "",
                                      "inputSchema", input && mcp_is_object_schema(input) ? input : any, "outputSchema",
                                      output && mcp_is_object_schema(output) ? output : NULL),
                            input ?: any, output, &row);
}

/* A skill that cannot be loaded, or was changed, is no tool: a note for the operator says so. */
static int mcp_read_skill(McpTools *t, const SkillRow *row) {
        _cleanup_skill_ Skill *s = NULL;
        Diag d = {};
        int e = registry_load_row(row, &(const RegistryUse){}, &s, &d);

        if (e == 0)
                e = mcp_add_skill(t, s, row->digest);
        if (e > 0 || e == -EINVAL)
                log_warning("mcp: the skill %s is no tool: %s", row->name, *d.text ? d.text : "its schema is not one");
        return e > 0 || e == -EINVAL ? 0 : e;
}

static int mcp_read_skills(McpServer *m, McpTools *t, Diag *reterr) {
        _cleanup_store_ Store *store = NULL;
        _cleanup_txn_ Txn *txn = NULL;
        SkillRow *rows = NULL;
        size_t n = 0;
        int e = store_open(m->options->store, STORE_READ, &store, reterr);

        if (e == -ENOENT) /* a machine without a store has no skills */
                return 0;
        e = e ?: store_begin(store, false, &txn, reterr) ?: engine_skill_list(txn, &rows, &n);
        for (size_t i = 0; e == 0 && i < n && t->n < LIST_MAX + mcp_n_builtins; i++)
                if (mcp_may_have(m, rows[i].name))
                        e = mcp_read_skill(t, &rows[i]);
        skill_rows_free(rows, n);
        return e;
}

/* Whether the row's declared name, or URI, is taken. A skill's own name counts before a declared name. Of two skills
 * with the same declared name, neither is offered; of two with the same URI, the first by name. */
static bool mcp_is_taken(const McpTools *t, const McpTool *row) {
        for (size_t i = 0; i < t->n; i++) {
                const McpTool *o = &t->rows[i];

                if (o != row && o->as == row->as && row->declared && strcmp(o->name, row->name) == 0)
                        return true;
                if (o < row && row->as == MCP_AS_RESOURCE && o->as == row->as && strcmp(o->uri, row->uri) == 0)
                        return true;
        }
        return false;
}

static void mcp_drop_taken(McpTools *t) {
        size_t n = 0;

        for (size_t i = 0; i < t->n; i++)
                t->rows[i].taken = mcp_is_taken(t, &t->rows[i]);
        for (size_t i = 0; i < t->n; i++) {
                if (t->rows[i].taken) {
                        log_warning("mcp: the skill %s is not offered: name %s, or the URI, is also of a skill before",
                                    t->rows[i].skill, t->rows[i].name);
                        mcp_tool_deinit(&t->rows[i]);
                } else
                        t->rows[n++] = t->rows[i];
        }
        t->n = n;
}

int mcp_tools_read(McpServer *m, Diag *reterr) {
        McpTools t = {};
        int e = 0;

        if (m->n_calls > 0 && m->tools.n > 0) /* calls at work lend their rows */
                return 0;
        for (size_t i = 0; e == 0 && i < mcp_n_builtins; i++)
                if (m->options->groups & 1U << mcp_builtins[i].group)
                        e = mcp_add_builtin(&t, &mcp_builtins[i]);
        e = e ?: mcp_read_skills(m, &t, reterr);
        if (e != 0) {
                mcp_tools_free(&t);
                return e;
        }
        mcp_drop_taken(&t);
        mcp_tools_free(&m->tools);
        m->tools = t;
        return 0;
}

static const McpTool *mcp_tool_find(const McpServer *m, const char *name) {
        for (size_t i = 0; i < m->tools.n; i++)
                if (m->tools.rows[i].as == MCP_AS_TOOL && strcmp(m->tools.rows[i].name, name) == 0)
                        return &m->tools.rows[i];
        return NULL;
}

const McpTool *mcp_tool(McpServer *m, const char *name) {
        const McpTool *t = mcp_tool_find(m, name);

        if (t || mcp_tools_read(m, &(Diag){}) != 0)
                return t;
        return mcp_tool_find(m, name);
}
