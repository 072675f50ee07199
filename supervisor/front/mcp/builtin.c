/* Runs: CLI. The tools that are commands of `lethe`. A pattern makes the command line: `{x}` is the argument x,
 * `--o={x}` is left out where the call has no x, `<{x}` is standard input. */
#include "mcp/mcp.h"

#include <string.h>

#define ARGV_MAX 24

#define ARGV(...) ((const char *const[]){__VA_ARGS__, NULL})
#define OBJECT(properties, required)                                                                                  \
        "{\"type\":\"object\",\"additionalProperties\":false,\"required\":[" required "],\"properties\":{" properties \
        "}}"
#define TEXT(name, about) "\"" name "\":{\"type\":\"string\",\"minLength\":1,\"description\":\"" about "\"}"
#define NUMBER(name, about) "\"" name "\":{\"type\":\"integer\",\"minimum\":0,\"description\":\"" about "\"}"
#define FLAG(name, about) "\"" name "\":{\"type\":\"boolean\",\"description\":\"" about "\"}"
#define ANY(name, about) "\"" name "\":{\"description\":\"" about "\"}"
#define SCOPE TEXT("scope", "The scope, a name; the default is default.")

const McpBuiltin mcp_builtins[] = {
#define TOOL(group, name, title, about, changes, input, argv) {name, title, about, MCP_##group, changes, input, argv},
#include "mcp/builtin.def"
#undef TOOL
};
const size_t mcp_n_builtins = ARRAY_SIZE(mcp_builtins);

/* The text of an argument: a string as it is, another value as JSON. Owned. */
static char *builtin_text(const json_t *v) {
        return json_is_string(v) ? strdup(json_text(v) ?: "") : json_dumps(v, JSON_COMPACT | JSON_ENCODE_ANY);
}

/* A word of the pattern. *ret: owned, NULL: left out. Returns 0, -1: out of memory. */
static int builtin_word(const char *word, const json_t *arguments, char **ret) {
        const char *brace = strchr(word, '{'), *end = brace ? strchr(brace, '}') : NULL;
        _cleanup_free_ char *name = end ? strndup(brace + 1, (size_t)(end - brace - 1)) : NULL, *text = NULL;
        const json_t *v = name ? json_object_get(arguments, name) : NULL;

        *ret = NULL;
        if (!end)
                return (*ret = strdup(word)) ? 0 : -1;
        if (!name)
                return -1;
        if (!v || json_is_false(v))
                return 0;
        if (json_is_true(v)) /* "--o={x}" of a flag is "--o" */
                return (*ret = strndup(word, (size_t)(brace - word) - (brace > word && brace[-1] == '='))) ? 0 : -1;
        text = builtin_text(v);
        if (!text || !(*ret = malloc((size_t)(brace - word) + strlen(text) + 1)))
                return -1;
        memcpy(*ret, word, (size_t)(brace - word));
        strcpy(*ret + (brace - word), text);
        return 0;
}

static int builtin_add(char **argv, size_t *n, const char *text) {
        return *n < ARGV_MAX && (argv[*n] = strdup(text)) && ++*n ? 0 : -1;
}

/* The verb, its action, the options, "--" and the arguments: so that no argument is taken for an option. */
char **mcp_builtin_argv(const McpServer *m, const McpBuiltin *b, const json_t *arguments, char **ret_input) {
        char **argv = calloc(ARGV_MAX + 1, sizeof(*argv));
        size_t n = 0;
        int e = argv ? builtin_add(argv, &n, "lethe") : -1;

        *ret_input = NULL;
        for (const char *const *w = b->argv; e == 0 && *w; w++) {
                const bool input = **w == '<';
                char *text = NULL;

                if (strcmp(*w, "@store") == 0) {
                        e = builtin_add(argv, &n, "--store") ?: builtin_add(argv, &n, m->options->store);
                        if (e == 0 && m->options->anchor)
                                e = builtin_add(argv, &n, "--anchor") ?: builtin_add(argv, &n, m->options->anchor);
                        continue;
                }
                e = builtin_word(*w + input, arguments, &text);
                if (e == 0 && input) {
                        *ret_input = text;
                        text = NULL;
                } else if (e == 0 && text)
                        e = builtin_add(argv, &n, text);
                free(text);
        }
        if (e == 0)
                return argv;
        for (size_t i = 0; argv && i < n; i++)
                free(argv[i]);
        free(argv);
        free(*ret_input);
        *ret_input = NULL;
        return NULL;
}
