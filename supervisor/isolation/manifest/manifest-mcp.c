/* Runs: CLI, supervisor. "mcp" of a manifest: how a skill appears in `lethe mcp`. */
#include "manifest/manifest-region.h"

#include <string.h>

#define MCP_NAME_MAX 128
#define MCP_URI_MAX 1024
#define MCP_VARIABLES_MAX 8
#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
#define DIGITS "0123456789"

const char *const manifest_mcp_asks[] = {"elicitation", "roots", "sampling", NULL};

/* Whether the bytes are {variable}; *ret: behind the brace. */
static bool mcp_variable(const char *s, const char **ret) {
        const size_t n = strspn(s + 1, LETTERS DIGITS "_");

        *ret = s + n + 2;
        return n > 0 && n <= 64 && s[n + 1] == '}';
}

/* A URI, or a template with {variables} and text between them: a reader finds the values without a choice. */
static bool mcp_uri_valid(const char *s) {
        const size_t scheme = strspn(s, LETTERS DIGITS "+.-");
        size_t n = 0;

        if (scheme == 0 || !strchr(LETTERS, *s) || s[scheme] != ':' || !s[scheme + 1] || strncmp(s, "skill:", 6) == 0)
                return false;
        for (s += scheme + 1; *s; s++) {
                const char *behind;

                if (*s <= ' ' || *s > '~' || *s == '}')
                        return false;
                if (*s != '{')
                        continue;
                if (!mcp_variable(s, &behind) || ++n > MCP_VARIABLES_MAX || *behind == '{')
                        return false;
                s = behind - 1;
        }
        return true;
}

static void mcp_read_uri(Doc *d, const Node *v, bool resource, const char **ret) {
        const Node *uri = MEMBER(v, "uri");

        if (!uri->v && resource)
                doc_fault(d, uri, "required", "a skill that is a resource has a \"uri\"");
        else if (uri->v && !resource)
                doc_fault(d, uri, "mcp-uri", "only a skill with \"as\": \"resource\" has a \"uri\"");
        else if (doc_string(d, uri, 1, MCP_URI_MAX, ret) && !mcp_uri_valid(*ret))
                doc_fault(d, uri, "mcp-uri",
                          "%s: must be a URI of another scheme than \"skill\"; each {variable} has 1 to 64 letters, "
                          "digits and \"_\", and text behind it before the next; at most %d",
                          DOC_SHOWN(uri), MCP_VARIABLES_MAX);
}

void manifest_read_mcp(Doc *d, const Node *v, json_t **ret) {
        const Node *name = MEMBER(v, "name");
        const char *said = NULL, *uri = NULL, *type = NULL;
        size_t as = 0, answer = 0;
        unsigned asks = 0;

        if (!doc_fields(d, v, WORDS("as", "name", "uri", "type", "answer", "asks")))
                return;
        doc_word(d, MEMBER(v, "as"), WORDS("tool", "prompt", "resource"), &as);
        doc_word(d, MEMBER(v, "answer"), WORDS("value", "content"), &answer);
        doc_words(d, MEMBER(v, "asks"), manifest_mcp_asks, ARRAY_SIZE(manifest_mcp_asks) - 1, &asks);
        if (doc_string(d, name, 1, MCP_NAME_MAX, &said) &&
            (strspn(said, LETTERS DIGITS "_.-") != strlen(said) || strncmp(said, "lethe_", 6) == 0))
                doc_fault(d, name, "mcp-name",
                          "%s: has 1 to %d letters, digits, \"_\", \".\" and \"-\"; lethe_* is Lethe's own",
                          DOC_SHOWN(name), MCP_NAME_MAX);
        mcp_read_uri(d, v, as == 2, &uri);
        if (doc_string(d, MEMBER(v, "type"), 1, 128, &type) && as != 2)
                doc_fault(d, MEMBER(v, "type"), "mcp-uri", "only a skill with \"as\": \"resource\" has a \"type\"");
        if (as == 2 && asks)
                doc_fault(d, MEMBER(v, "asks"), "mcp-asks", "a resource asks nothing");
        *ret = json_pack("{s:i, s:b, s:i, s:s*, s:s*, s:s*}", "as", (int)as, "content", answer == 1, "asks", (int)asks,
                         "name", said, "uri", uri, "type", type);
        d->no_memory |= !*ret;
}
