#include "policy/mcp.h"

#include "schema/mcp.h"

#include <string.h>

#define CLIENTS_MAX 256
#define SKILLS_MAX 256

#define WORD(id, word) word,
const char *const mcp_group_words[] = {MCP_GROUPS(WORD) NULL};
#undef WORD

static const NameRule skill_rule = {skill_name_valid, 64, "skill-name", "a skill's name has 1 to 64 of a-z, 0-9 and -"};

void policy_read_mcp(Doc *d, const Node *v, json_t **ret) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, CLIENTS_MAX))
                return;
        *ret = json_object();
        d->no_memory |= !*ret;
        json_object_foreach((json_t *)v->v, key, item) {
                const Node *at = MEMBER(v, key), *skills = MEMBER(at, "skills");
                char **names = NULL;
                unsigned groups = 0;
                json_t *row;

                if (!doc_fields(d, at, WORDS("skills", "tools")))
                        continue;
                doc_words(d, MEMBER(at, "tools"), mcp_group_words, MCP_N_GROUPS, &groups);
                row = json_pack("{s:I}", "tools", (json_int_t)groups);
                if (skills->v) {
                        doc_names(d, skills, SKILLS_MAX, &skill_rule, &names);
                        d->no_memory |= json_object_set(row, "skills", (json_t *)skills->v) < 0;
                        strv_free(names);
                }
                d->no_memory |= json_object_set_new(*ret, key, row) < 0;
        }
}

#define SERVERS_MAX 256
#define SERVER_TOOLS_MAX 512

bool mcp_server_name_valid(const char *s) {
        return *s >= 'a' && *s <= 'z' && strlen(s) <= MCP_SERVER_NAME_MAX &&
               strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789._-") == strlen(s);
}

static bool policy_tool_name_valid(const char *s) {
        return *s && strlen(s) <= 256;
}

static const NameRule tool_rule = {policy_tool_name_valid, 256, "tool-name", "a tool's name has 1 to 256 bytes"};

void policy_read_mcp_servers(Doc *d, const Node *v, json_t **ret) {
        const char *key;
        json_t *item;

        if (!doc_object(d, v, SERVERS_MAX))
                return;
        *ret = json_object();
        d->no_memory |= !*ret;
        json_object_foreach((json_t *)v->v, key, item) {
                const Node *at = MEMBER(v, key), *tools = MEMBER(at, "tools");
                char **names = NULL;

                if (!mcp_server_name_valid(key))
                        doc_fault(d, at, "server-name",
                                  "a server's name has 1 to %d of a-z, 0-9, \".\", \"_\" and \"-\", a letter first",
                                  MCP_SERVER_NAME_MAX);
                if (!doc_fields(d, at, WORDS("tools")))
                        continue;
                if (tools->v)
                        doc_names(d, tools, SERVER_TOOLS_MAX, &tool_rule, &names);
                strv_free(names);
                d->no_memory |= json_object_set(*ret, key, item) < 0;
        }
}
