/* Runs: CLI. `lethe mcp wrap`, `approve`, `log` and `config`: other people's servers, in regions, and what to paste
 * into a client. */
#include "base/size.h"
#include "cli/actions.h"
#include "cli/cmd-mcp.h"
#include "invoke/run.h"
#include "ledger/anchor.h"
#include "mcp/wrap.h"
#include "policy/mcp.h"
#include "policy/policy.h"
#include "request/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#define VERB "mcp wrap"
#define ARGUMENTS_STANDARD (1024 * 1024)
#define RESULT_STANDARD (8 * 1024 * 1024)
#define ARGV_MAX 512

/* A server lives as long as its client, and Node.js wants memory. Options of the command line come later and count. */
static const char *const standard[] = {"--timeout", "none", "--cpu-time", "none", "--output-limit", "none",
                                       "--memory",  "512m", "--pids-limit", "256",  "--nofile",       "1024"};

typedef struct WrapCommand {
        WrapOptions o;
        char *argv[ARGV_MAX + 1]; /* borrowed */
        size_t n;
        const char *policy;     /* of the command line, or NULL */
        char **tools, **hidden; /* owned */
} WrapCommand;

static int wrap_add(WrapCommand *c, const char *text) {
        if (c->n == ARGV_MAX)
                return cli_usage(VERB, "more than %d words", ARGV_MAX);
        c->argv[c->n++] = (char *)text;
        return EXIT_OK;
}

static bool wrap_row_has(const json_t *names, const char *name) {
        for (size_t i = 0; i < json_array_size(names); i++)
                if (json_text_is(json_array_get(names, i), name))
                        return true;
        return false;
}

static int wrap_names(const char *text, char ***ret) {
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy;

        if (!copy || !(*ret = *ret ?: calloc(1, sizeof(**ret))))
                return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        for (char *word; (word = strsep(&rest, ","));)
                if (strv_add(ret, word) < 0)
                        return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        return EXIT_OK;
}

/* The policy's row bounds the tools, and is the default. Returns EXIT_OK, or another code after a message. */
static int wrap_bound(WrapCommand *c) {
        _cleanup_policy_ Policy *p = NULL;
        const char *said = c->policy ?: getenv("LETHE_POLICY");
        const json_t *row, *tools;
        Diag d = {};
        int e = policy_load(said && *said ? said : NULL, &p, &d);

        if (e != 0)
                return cli_fail(VERB, EXIT_NOT, "%s", e > 0 ? d.text : strerror(-e));
        row = json_object_get(p->mcp_servers, c->o.name);
        tools = json_object_get(row, "tools");
        if (p->mcp_servers && !row)
                return cli_fail(VERB, EXIT_NOT, "--name %s: the policy's \"mcp_servers\" has no row of that server",
                                c->o.name);
        for (char **t = c->tools; tools && t && *t; t++)
                if (!wrap_row_has(tools, *t))
                        return cli_fail(VERB, EXIT_NOT, "--tools: the policy's row of server %s does not have \"%s\"",
                                        c->o.name, *t);
        if (!tools || c->tools)
                return EXIT_OK;
        c->tools = calloc(1, sizeof(*c->tools));
        for (size_t i = 0; c->tools && i < json_array_size(tools); i++)
                if (strv_add(&c->tools, json_text(json_array_get(tools, i))) < 0)
                        return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        return c->tools ? EXIT_OK : cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
}

static int wrap_size(const char *what, const char *text, uint64_t *ret) {
        return size_parse(text, ret) == 0 && *ret > 0 && *ret <= WRAP_LINE_MAX
                       ? EXIT_OK
                       : cli_usage(VERB, "%s: \"%s\" must be a size such as 64k, at most %d bytes", what, text,
                                   WRAP_LINE_MAX);
}

/* An option of `lethe mcp wrap` with its value. Returns EXIT_OK, another code after a message, or -1: an option of
 * `lethe run`. */
static int wrap_option(WrapCommand *c, const char *name, const char *value) {
        if (strcmp(name, "--name") == 0) {
                c->o.name = value;
                return mcp_server_name_valid(value)
                               ? EXIT_OK
                               : cli_usage(VERB,
                                           "--name: \"%s\" must have 1 to %d of a-z, 0-9, '.', '_' and "
                                           "'-', a letter first",
                                           value, MCP_SERVER_NAME_MAX);
        }
        if (strcmp(name, "--tools") == 0)
                return wrap_names(value, &c->tools);
        if (strcmp(name, "--hide") == 0)
                return wrap_names(value, &c->hidden);
        if (strcmp(name, "--max-arguments") == 0)
                return wrap_size(name, value, &c->o.arguments_max);
        if (strcmp(name, "--max-result") == 0)
                return wrap_size(name, value, &c->o.result_max);
        if (strcmp(name, "--record") == 0) {
                c->o.soon = strcmp(value, "soon") == 0;
                return c->o.soon || strcmp(value, "before") == 0
                               ? EXIT_OK
                               : cli_usage(VERB, "--record: \"%s\" must be \"before\" or \"soon\"", value);
        }
        if (strcmp(name, "--store") == 0)
                c->o.store = value;
        if (strcmp(name, "--policy") == 0)
                c->policy = value;
        return -1;
}

static int wrap_parse(WrapCommand *c, int argc, char **argv) {
        int i = 1, code = wrap_add(c, "lethe") ?: wrap_add(c, "run") ?: wrap_add(c, "--no-serve") ?: wrap_add(c, "--no-tty");

        for (size_t k = 0; code == EXIT_OK && k < ARRAY_SIZE(standard); k++)
                code = wrap_add(c, standard[k]);
        for (; code == EXIT_OK && i < argc && strcmp(argv[i], "--") != 0; i++) {
                int r = i + 1 < argc ? wrap_option(c, argv[i], argv[i + 1]) : -1;

                if (r >= 0) {
                        code = r;
                        i++;
                } else
                        code = wrap_add(c, argv[i]);
        }
        if (code != EXIT_OK)
                return code;
        if (i + 1 >= argc)
                return cli_usage(
                        VERB,
                        "the server's command is missing: lethe mcp wrap --name NAME [OPTIONS] -- COMMAND [ARGS]");
        if (!c->o.name)
                return cli_usage(VERB, "--name is missing: approvals of the server's tools are kept by its name");
        code = wrap_add(c, "--exec");
        for (i++; code == EXIT_OK && i < argc; i++)
                code = wrap_add(c, argv[i]);
        return code;
}

int mcp_wrap(int argc, char **argv) {
        WrapCommand c = {.o = {.arguments_max = ARGUMENTS_STANDARD, .result_max = RESULT_STANDARD, .soon = true}};
        _cleanup_free_ char *store = NULL;
        _cleanup_close_ int signals = -1;
        Diag d = {};
        int code = wrap_parse(&c, argc, argv);

        if (code == EXIT_OK)
                code = wrap_bound(&c);
        if (code == EXIT_OK && !(store = path_of_store(c.o.store, &d)))
                code = cli_usage(VERB, "%s", *d.text ? d.text : strerror(ENOMEM));
        if (code == EXIT_OK && (signals = run_take_signals()) < 0)
                code = cli_fail(VERB, EXIT_NOT, "signals: %s", strerror(-signals));
        if (code == EXIT_OK) {
                c.o.store = store;
                c.o.argv = c.argv;
                c.o.tools = c.tools;
                c.o.hidden = c.hidden;
                code = wrap_serve(&c.o, signals);
        }
        strv_free(c.tools);
        strv_free(c.hidden);
        return code;
}
