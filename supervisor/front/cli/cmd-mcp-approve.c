/* Runs: CLI. `lethe mcp approve`, `log` and `config`: the operator's side of wrapped servers, and what to paste into a
 * client. */
#include "cli/cmd-mcp.h"

#include "cli/actions.h"
#include "mcp/wrap.h"

#include <errno.h>
#include <string.h>

#define VERB "mcp"

static const char help[] =
        "Usage: lethe mcp approve SERVER [TOOL...] [--store DIR] [--json]\n\n"
        "Shows the tools of a wrapped server (lethe mcp wrap --name SERVER) that are new, or not as they were\n"
        "approved, and approves the named TOOLs, or all with --all.\n\n"
        "  --all             approve all tools that wait\n" HELP_STORE HELP_JSON
        "\nExit status: 0; 1 no such server or tool; 2 usage.\n";

static void approve_show(const char *name, const json_t *tools, const json_t *tool) {
        cli_print_safe(name);
        printf("  %s\n", json_object_get(tools, name) ? "not as approved" : "new");
        cli_print_text("  ", json_object_get(tool, "description"));
        putchar('\n');
}

/* Moves a tool from the offered to the approved ones. */
static int approve_one(json_t *value, const char *name) {
        const json_t *tool = json_object_get(json_object_get(value, "offered"), name);

        if (!tool)
                return cli_fail(VERB, EXIT_NOT, "no tool \"%s\" of the server waits for an approval", name);
        if (json_object_set(json_object_get(value, "tools"), name, json_object_get(tool, "digest")) < 0 ||
            json_object_del(json_object_get(value, "offered"), name) < 0)
                return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        return EXIT_OK;
}

static int approve_names(json_t *value, bool all, char **names) {
        int code = EXIT_OK;

        while (all && code == EXIT_OK && json_object_size(json_object_get(value, "offered")) > 0)
                code = approve_one(value, json_object_iter_key(json_object_iter(json_object_get(value, "offered"))));
        for (; !all && code == EXIT_OK && *names; names++)
                code = approve_one(value, *names);
        return code;
}

int mcp_approve(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION_FLAG("all", 'a'), {0}};
        _cleanup_json_ json_t *value = NULL;
        _cleanup_store_ Store *store = NULL;
        StoreOptions o = {.help = help, .must_exist = true};
        const char *name;
        json_t *tool;
        Diag d = {};
        int code, e;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        if (optind >= argc)
                return cli_usage(VERB, "SERVER is missing: the name of lethe mcp wrap --name");
        code = with_store(VERB, &o, STORE_WRITE, &store);
        if (code != EXIT_OK)
                return code;
        e = approved_read(store, argv[optind], &value, &d);
        if (e != 0)
                return with_store_failed(VERB, store, e, &d);
        if (!value)
                return cli_fail(VERB, EXIT_NOT, "no tool of a server \"%s\" was ever listed through lethe mcp wrap",
                                argv[optind]);
        if (!o.value['a'] && optind + 1 == argc) {
                if (o.json)
                        return cli_print(VERB, EXIT_OK,
                                         json_pack("{s:i, s:s, s:O, s:O}", "version", 1, "server", argv[optind],
                                                   "tools", json_object_get(value, "tools"), "offered",
                                                   json_object_get(value, "offered")));
                json_object_foreach(json_object_get(value, "offered"), name, tool)
                        approve_show(name, json_object_get(value, "tools"), tool);
                return cli_done(VERB, EXIT_OK);
        }
        code = approve_names(value, o.value['a'], argv + optind + 1);
        if (code != EXIT_OK)
                return code;
        e = approved_write(store, argv[optind], action_who(), value, &d);
        return e ? with_store_failed(VERB, store, e, &d) : cli_done(VERB, EXIT_OK);
}

/* The calls of wrapped servers are events: `lethe log --type tool.called`. */
int mcp_log(int argc, char **argv) {
        char *with[64] = {(char[]){"log"}, (char[]){"--type"}, (char[]){"tool.called"}};
        int n = 3;

        for (int i = 1; i < argc && n < 63; i++)
                with[n++] = argv[i];
        optind = 0;
        return cmd_log(n, with);
}

static const struct {
        const char *client, *file, *before, *after;
} clients[] = {
        {"claude-desktop", "claude_desktop_config.json", "{ \"mcpServers\": { \"lethe\": ", " } }"},
        {"claude-code", ".mcp.json", "{ \"mcpServers\": { \"lethe\": ", " } }"},
        {"cursor", ".cursor/mcp.json", "{ \"mcpServers\": { \"lethe\": ", " } }"},
        {"windsurf", "mcp_config.json", "{ \"mcpServers\": { \"lethe\": ", " } }"},
        {"vscode", ".vscode/mcp.json", "{ \"servers\": { \"lethe\": ", " } }"},
        {"zed", "settings.json", "{ \"context_servers\": { \"lethe\": ", " } }"},
};

int mcp_config(int argc, char **argv) {
        char path[4096];
        ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
        _cleanup_json_ json_t *args = json_pack("[s]", "mcp"), *command = NULL;
        _cleanup_free_ char *text = NULL;

        if (n < 0 || !args)
                return cli_fail(VERB, EXIT_NOT, "the program's own path: %s", strerror(n < 0 ? errno : ENOMEM));
        path[n] = 0;
        for (int i = 2; i < argc; i++)
                json_array_append_new(args, json_string(argv[i]));
        for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(clients); i++) {
                if (strcmp(clients[i].client, argv[1]) != 0)
                        continue;
                command = json_pack("{s:s, s:O}", "command", path, "args", args);
                text = command ? json_dumps(command, 0) : NULL;
                if (!text)
                        return cli_fail(VERB, EXIT_NOT, "an argument is not UTF-8, or memory is short");
                fprintf(stderr, "into %s:\n", clients[i].file);
                printf("%s%s%s\n", clients[i].before, text, clients[i].after);
                return cli_done(VERB, EXIT_OK);
        }
        fprintf(stderr, "lethe mcp config CLIENT [OPTIONS of lethe mcp]: CLIENT is one of");
        for (size_t i = 0; i < ARRAY_SIZE(clients); i++)
                fprintf(stderr, " %s", clients[i].client);
        fputc('\n', stderr);
        return EXIT_USAGE;
}
