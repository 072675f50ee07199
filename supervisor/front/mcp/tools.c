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
                        const McpBuiltin *builtin, const char *digest) {
        McpTool row = {.name = strdup(name), .shown = shown, .builtin = builtin};
        int e = row.name && shown ? jsonschema_compile(input, &row.input, NULL) : -ENOMEM;

        if (e == 0 && output)
                e = jsonschema_compile(output, &row.output, NULL);
        snprintf(row.digest, sizeof(row.digest), "%s", digest);
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
                            input, NULL, b, "");
}

static int mcp_add_skill(McpTools *t, const Skill *s, const char *digest) {
        _cleanup_json_ json_t *any = json_pack("{s:s}", "type", "object");
        const json_t *input = s->manifest.input, *output = s->manifest.output;

        if (!any)
                return -ENOMEM;
        return mcp_tool_add(t, s->md.name,
                            json_pack("{s:s, s:s, s:O, s:O*}", "name", s->md.name, "description",
                                      s->md.description ?: "", "inputSchema",
                                      input && mcp_is_object_schema(input) ? input : any, "outputSchema",
                                      output && mcp_is_object_schema(output) ? output : NULL),
                            input ?: any, output, NULL, digest);
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
        mcp_tools_free(&m->tools);
        m->tools = t;
        return 0;
}

static const McpTool *mcp_tool_find(const McpServer *m, const char *name) {
        for (size_t i = 0; i < m->tools.n; i++)
                if (strcmp(m->tools.rows[i].name, name) == 0)
                        return &m->tools.rows[i];
        return NULL;
}

const McpTool *mcp_tool(McpServer *m, const char *name) {
        const McpTool *t = mcp_tool_find(m, name);

        if (t || mcp_tools_read(m, &(Diag){}) != 0)
                return t;
        return mcp_tool_find(m, name);
}
