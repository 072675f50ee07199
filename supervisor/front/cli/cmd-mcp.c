/* Runs: CLI. `lethe mcp`: which tools a client gets, and where its runs go. The protocol is in front/mcp. */
#include "base/io.h"
#include "cli/cli.h"
#include "cli/cmd-mcp.h"
#include "cli/serve-client.h"
#include "cli/session-host.h"
#include "cli/with-store.h"
#include "invoke/run.h"
#include "ledger/anchor.h"
#include "mcp/mcp.h"
#include "policy/policy.h"
#include "request/paths.h"

#include <errno.h>
#include <string.h>

#define VERB "mcp"
#define TOOLS_STANDARD (1U << MCP_RUN | 1U << MCP_WHY)
#define TOOLS_ALL ((1U << MCP_N_GROUPS) - 1)

static const char help[] =
        "Usage: lethe mcp [--client NAME] [--skills NAMES] [--tools GROUPS] [OPTIONS]\n"
        "       lethe mcp wrap --name SERVER [OPTIONS of lethe run] -- COMMAND [ARGS...]\n"
        "       lethe mcp approve SERVER [--all|TOOL...]\n"
        "       lethe mcp log [OPTIONS of lethe log]\n"
        "       lethe mcp config CLIENT [OPTIONS]\n\n"
        "A server of the Model Context Protocol on standard input and output: a client starts it, lists tools and\n"
        "calls them. Each registered skill is a tool, and each call a region of its own, with a record. Built-in\n"
        "tools run a program in a region, and read and change what Lethe keeps. wrap runs somebody else's server in\n"
        "a region, stands between it and the client, and records each call; approve lets changed tools through; log\n"
        "shows the calls; config prints what to paste into a client's configuration.\n\n"
        "  --client NAME     the row of the policy's \"mcp\" that says what this client may have\n"
        "  --skills NAMES    registered skills with commas, all, or none (default: all that the policy allows)\n"
        "  --tools GROUPS    groups of built-in tools with commas: run, why, audit, slots, notes, belief, context,\n"
        "                    memory, sessions, objects; all, or none (default: what the policy's row says; run,why\n"
        "                    without policy)\n"
        "  --policy FILE     the operator's policy (default: $LETHE_POLICY, else the usual places)\n"
        "  --socket PATH     where 'lethe serve' is looked for\n"
        "  --no-serve        ask no 'lethe serve': runs are made by a process of this command\n" HELP_STORE
        "  -h, --help        print the help\n\n"
        "Exit status: 0 at the end of standard input; 128+N after signal N; 1 failed; 2 usage.\n";

typedef struct McpCommand {
        McpOptions o;
        HostPlace place;
        bool alone;
        ServeClient through;
        RunOptions run;
        char **skills; /* owned */
} McpCommand;

static int mcp_connect(void *userdata, Diag *reterr) {
        McpCommand *c = userdata;
        _cleanup_free_ char *socket = NULL;
        bool foreign = false;
        int fd = -1;

        if (!c->alone)
                fd = serve_client_connect(&c->through, &c->run, c->place.store, c->place.socket, &foreign, &socket);
        if (fd < 0 && session_host_private(&c->place, &fd, reterr) != 0)
                return -1;
        return fd;
}

/* The groups of "a,b". Returns EXIT_OK, or EXIT_USAGE after a message. */
static int mcp_groups(const char *text, unsigned *ret) {
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy;

        *ret = strcmp(text, "all") == 0 ? TOOLS_ALL : 0;
        if (!copy || strcmp(text, "all") == 0 || strcmp(text, "none") == 0)
                return copy ? EXIT_OK : cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        for (char *word; (word = strsep(&rest, ","));) {
                const size_t i = name_index(mcp_group_words, MCP_N_GROUPS, word);

                if (i == MCP_N_GROUPS)
                        return cli_usage(VERB,
                                         "--tools: \"%s\" is no group of tools: run, why, audit, slots, notes, belief, "
                                         "context, memory, sessions or objects",
                                         word);
                *ret |= 1U << i;
        }
        return EXIT_OK;
}

static int mcp_names(const char *text, char ***ret) {
        _cleanup_free_ char *copy = strdup(text);
        char *rest = copy;

        if (strcmp(text, "all") == 0)
                return EXIT_OK;
        *ret = calloc(1, sizeof(**ret));
        for (char *word; strcmp(text, "none") != 0 && copy && *ret && (word = strsep(&rest, ","));) {
                if (!skill_name_valid(word))
                        return cli_usage(VERB, "--skills: \"%s\" is no name of a skill (1 to 64 of a-z, 0-9 and -)",
                                         word);
                if (strv_add(ret, word) < 0)
                        return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        }
        return copy && *ret ? EXIT_OK : cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
}

static bool mcp_row_has(const json_t *names, const char *name) {
        for (size_t i = 0; i < json_array_size(names); i++)
                if (json_text_is(json_array_get(names, i), name))
                        return true;
        return !names;
}

/* The policy's row bounds what the command line asks, and is the default. Returns EXIT_OK, or another code after a
 * message. */
static int mcp_bound(McpCommand *c, const Policy *p, const char *client, bool said_tools) {
        const json_t *row = json_object_get(p->mcp, client ?: ""), *names = json_object_get(row, "skills");
        const unsigned allowed = (unsigned)json_integer_value(json_object_get(row, "tools"));

        if (!p->mcp)
                return client ? cli_fail(VERB, EXIT_NOT,
                                         "--client %s: the policy has no \"mcp\", so no client has a row", client)
                              : EXIT_OK;
        if (!row)
                return cli_fail(VERB, EXIT_NOT,
                                client ? "--client %s: the policy's \"mcp\" has no row of that name"
                                       : "%s--client is needed: the policy's \"mcp\" says what each client may have",
                                client ?: "");
        if (!said_tools)
                c->o.groups = allowed;
        for (unsigned i = 0; i < MCP_N_GROUPS; i++)
                if (c->o.groups & ~allowed & 1U << i)
                        return cli_fail(VERB, EXIT_NOT, "--tools: the policy's row of client %s does not have \"%s\"",
                                        client, mcp_group_words[i]);
        for (char **s = c->skills; s && *s; s++)
                if (!mcp_row_has(names, *s))
                        return cli_fail(VERB, EXIT_NOT, "--skills: the policy's row of client %s does not have \"%s\"",
                                        client, *s);
        if (c->skills || !names)
                return EXIT_OK;
        c->skills = calloc(1, sizeof(*c->skills));
        for (size_t i = 0; c->skills && i < json_array_size(names); i++)
                if (strv_add(&c->skills, json_text(json_array_get(names, i))) < 0)
                        return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        return c->skills ? EXIT_OK : cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
}

static int mcp_options(McpCommand *c, const StoreOptions *o) {
        _cleanup_policy_ Policy *policy = NULL;
        Diag d = {};
        int code = EXIT_OK, e;

        c->o.groups = TOOLS_STANDARD;
        if (o->value['T'])
                code = mcp_groups(o->value['T'], &c->o.groups);
        if (code == EXIT_OK && o->value['S'])
                code = mcp_names(o->value['S'], &c->skills);
        if (code != EXIT_OK)
                return code;
        e = policy_load(c->place.policy, &policy, &d);
        if (e != 0)
                return cli_fail(VERB, EXIT_NOT, "%s", e > 0 ? d.text : strerror(-e));
        return mcp_bound(c, policy, o->value['c'], o->value['T'] != NULL);
}

static int mcp_run(McpCommand *c) {
        _cleanup_close_ int signals = run_take_signals();

        if (signals < 0)
                return cli_fail(VERB, EXIT_NOT, "signals: %s", strerror(-signals));
        c->o.skills = c->skills;
        c->o.connect = mcp_connect;
        c->o.userdata = c;
        c->run.quiet = true;
        return mcp_serve(&c->o, signals);
}

static int mcp_main(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE,         OPTION("client", 'c'), OPTION("skills", 'S'),        OPTION("tools", 'T'),
                OPTION("policy", 'p'), OPTION("socket", 'K'), OPTION_FLAG("no-serve", 'N'), {0}};
        StoreOptions o = {.help = help, .no_arguments = true};
        _cleanup_free_ char *store = NULL, *policy = NULL, *anchor = NULL;
        McpCommand c = {};
        const char *said;
        Diag d = {};
        int code;

        if (store_options(&o, argc, argv, options) < 0)
                return o.code;
        store = path_of_store(o.store, &d);
        if (!store)
                return cli_usage(VERB, "%s", *d.text ? d.text : strerror(ENOMEM));
        said = o.value['p'] ?: getenv("LETHE_POLICY");
        policy = said && *said ? io_absolute(said) : NULL; /* a private daemon has another working folder */
        anchor = anchor_said() ? io_absolute(anchor_said()) : NULL;
        if ((said && *said && !policy) || (anchor_said() && !anchor))
                return cli_fail(VERB, EXIT_NOT, "%s", strerror(ENOMEM));
        c.place = (HostPlace){.store = store, .anchor = anchor, .policy = policy, .socket = o.value['K']};
        c.alone = o.value['N'] || o.value['p'];
        c.through.named_store = o.store || getenv("LETHE_STORE");
        c.o = (McpOptions){.store = store, .anchor = anchor, .policy = policy, .socket = o.value['K']};
        code = mcp_options(&c, &o);
        if (code == EXIT_OK)
                code = mcp_run(&c);
        strv_free(c.skills);
        return code;
}

int cmd_mcp(int argc, char **argv) {
        static const struct {
                const char *action;
                int (*fn)(int argc, char **argv);
        } actions[] = {{"wrap", mcp_wrap}, {"approve", mcp_approve}, {"log", mcp_log}, {"config", mcp_config}};

        for (size_t i = 0; argc > 1 && i < ARRAY_SIZE(actions); i++)
                if (strcmp(argv[1], actions[i].action) == 0)
                        return actions[i].fn(argc - 1, argv + 1);
        return mcp_main(argc, argv);
}
