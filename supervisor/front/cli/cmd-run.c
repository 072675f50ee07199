/* Runs: CLI, with the supervisor in it. */
#include "base/id.h"
#include "base/io.h"
#include "base/log.h"
#include "base/path-lookup.h"
#include "base/watchdog.h"
#include "cli/cmd-apply.h"
#include "cli/cli.h"
#include "cli/cmd-map.h"
#include "cli/front.h"
#include "cli/run-option.h"
#include "cli/serve-client.h"
#include "cli/session-host.h"
#include "cli/terminal.h"
#include "request/resolve-request.h"
#include "recover/recover.h"
#include "request/paths.h"
#include "invoke/receipt.h"
#include "invoke/run.h"
#include "request/secrets.h"
#include "ledger/anchor.h"
#include "policy/grant.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdarg.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

static const char help[] =
        "Usage: lethe run [OPTIONS] SKILL|DIR [--] [ARGS...]\n"
        "       lethe run [OPTIONS] SKILL|DIR --exec PROGRAM [ARGS...]\n"
        "       lethe run [OPTIONS] --exec PROGRAM [ARGS...]\n\n"
        "Runs a skill, or a program, in a region of its own. Options stand before SKILL. A skill without\n"
        "lethe.json runs the file that ARGS begins with: lethe run DIR scripts/x.py. --exec behind SKILL runs\n"
        "another program, with the skill at /skill.\n\n"
        "  --store DIR           the store (default: $LETHE_STORE, else the XDG state folder)\n"
        "  --anchor FILE         the checkpoint copy that the store must not be behind\n"
        "  --receipt FILE        write the end of the run to FILE, as JSON\n"
        "  --policy FILE         the operator's policy\n"
        "  --profile NAME        the options of lethe/profiles/NAME.json in the configuration folder\n"
        "  --entry NAME          the manifest's entry, or a file of the folder (default: main)\n"
        "  --name NAME           a name for the region, for other verbs\n"
        "  --exec PROGRAM        a program instead of a skill; all words behind PROGRAM are its arguments\n"
        "  -v, --volume SRC:DST[:ro|rw|overlay]\n"
        "                        a file or folder of the host, read-only unless rw is said; with overlay written\n"
        "                        to a layer of the run's own (lethe diff, lethe apply)\n"
        "  --apply success       after exit code 0, apply what was written above folders with overlay\n"
        "  -e, --env NAME[=VALUE]\n"
        "                        a variable of the environment; NAME alone passes the caller's on\n"
        "  --env-file FILE       variables, a line for each: NAME=VALUE, or NAME\n"
        "  -w, --workdir DIR     working folder in the region (default: /work)\n"
        "  --here[=ro|rw|overlay] the caller's folder, at its own path, as the working folder (default: ro)\n"
        "  -m, --memory SIZE     of the whole process tree, with scratch\n"
        "  --timeout TIME        wall time, or none; a run beyond TIME ends with 124\n"
        "  --cpu-time TIME       of the whole process tree, or none (default: 30s, or --timeout's)\n"
        "  --idle TIME           end with 124 after TIME without reading, writing or computing\n"
        "  --grace TIME          before the kill at a time's end or a cancel: SIGTERM, and TIME to end (default: none)\n"
        "  --pids-limit N        processes and threads\n"
        "  --nofile N            open files of each process\n"
        "  --file-size SIZE      the largest file\n"
        "  --scratch SIZE        /work and /tmp together\n"
        "  --output-limit SIZE   standard output and error together, or none\n"
        "  --network MODE        none, loopback or host (default: none)\n"
        "  --allow HOST:PORT     allow connections to the name, through the region's proxy: *.HOST and PORT-PORT, too\n"
        "  --connect HOST:PORT   allow TCP connections to the address\n"
        "  --tier TIER           namespaces or landlock: require exactly the tier\n"
        "  --proc                give the region a /proc of its own processes\n"
        "  --discipline NAME     zero, multipass, multipass:N or none: how memory is overwritten\n"
        "  --socket PATH         where 'lethe serve' is looked for\n"
        "  --no-serve            do not look for a daemon\n"
        "  --foreign             run DIR although another user can change DIR (never by a daemon)\n"
        "  --promote             promote the run's notes after the end, as 'lethe promote' would\n"
        "  --rm, --init          accepted: a region always goes with its run, and has a first process\n"
        "  -i, --interactive     accepted: standard input is always passed on\n"
        "  -t, --tty             a terminal of the region's own, on a terminal (the default there); elsewhere no effect\n"
        "  --no-tty              streams are passed on as pipes\n"
        "  --dry-run             print the effective policy and run no program\n"
        "  --json                with --dry-run: as JSON\n"
        "  --quiet               print only errors\n"
        "  --verbose             print a line also after success, and the skill's log\n"
        "  -h, --help            print the help\n";


static const char help_turn[] =
        "Usage: lethe session turn [OPTIONS] SESSION [--] [ARGS...]\n\n"
        "Runs the next turn of the session's skill, in a region of its own. OPTIONS are those of 'lethe run', but\n"
        "--exec, --policy and --dry-run; they stand before SESSION. Streams, exit code and receipt are those of 'lethe run'.\n"
        "'lethe session --help' has the other actions.\n";

static const char help_map[] =
        "Usage: lethe map [OPTIONS] SKILL|DIR [--] [ARGS...]\n"
        "       lethe map [OPTIONS] --exec PROGRAM [ARGS...]\n\n"
        "Runs a skill, or a program, once for each line of standard input: the line is one JSON value, and the standard\n"
        "input of a region of its own. For each line one line is printed, in the order of the input:\n"
        "{\"ok\":true,\"value\":...} with the program's output, or {\"ok\":false,\"outcome\":...,\"exit_code\":...,\n"
        "\"region\":...,\"denials\":N}. OPTIONS stand before SKILL; budgets and the like are those of 'lethe run'.\n\n"
        "  -j, --jobs N          regions at once, 1 to 256 (default: one for each core)\n"
        "  --from N              begin at line N; the first line is 1\n"
        "  --text                the value is the output as a string, whatever the output is\n"
        "  --exec PROGRAM        a program instead of a skill; all words behind PROGRAM are its arguments\n"
        "  --policy FILE         the operator's policy; then no 'lethe serve' is looked for\n"
        "  --socket PATH         where 'lethe serve' is looked for\n"
        "  --no-serve            do not look for a daemon; a private daemon has the regions\n"
        "  --quiet               no standard error of the regions, no progress, no summary\n"
        "  --store DIR           the store (default: $LETHE_STORE, else the XDG state folder)\n"
        "  --anchor FILE         the checkpoint copy that the store must not be behind\n"
        "  -h, --help            print the help\n\n"
        "Exit status: 0 all lines succeeded; 1 some failed; 2 usage; 125 Lethe failed; 128+N ended by signal N. What ended\n"
        "early says on standard error from which line to go on.\n";

/* Options of request_option() have the value RUN_POLICY; the long name tells them apart. */
enum {
        RUN_STORE = 256, RUN_ANCHOR, RUN_RECEIPT, RUN_POLICY_FILE, RUN_EXEC, RUN_DRY_RUN, RUN_JSON, RUN_QUIET,
        RUN_VERBOSE, RUN_SOCKET, RUN_NO_SERVE, RUN_PROMOTE, RUN_FOREIGN, RUN_PROFILE, RUN_JOBS, RUN_FROM, RUN_TEXT,
        RUN_TTY, RUN_NO_TTY, RUN_APPLY, RUN_POLICY, RUN_HERE, RUN_ENV_FILE, RUN_ACCEPTED,
        RUN_OPTIONS = 256
};

static const struct option options[] = {
        OPTION("store", RUN_STORE), OPTION("anchor", RUN_ANCHOR), OPTION("receipt", RUN_RECEIPT),
        OPTION("policy", RUN_POLICY_FILE), OPTION("exec", RUN_EXEC), OPTION_FLAG("promote", RUN_PROMOTE),
        OPTION_FLAG("dry-run", RUN_DRY_RUN), OPTION_FLAG("json", RUN_JSON), OPTION_FLAG("quiet", RUN_QUIET),
        OPTION_FLAG("verbose", RUN_VERBOSE), OPTION("socket", RUN_SOCKET),
        OPTION_FLAG("no-serve", RUN_NO_SERVE), OPTION_FLAG("foreign", RUN_FOREIGN), OPTION_FLAG("help", 'h'),
        OPTION("jobs", RUN_JOBS), OPTION("from", RUN_FROM), OPTION_FLAG("text", RUN_TEXT),
        {"here", optional_argument, NULL, RUN_HERE}, OPTION("profile", RUN_PROFILE), OPTION("env-file", RUN_ENV_FILE),
        OPTION("apply", RUN_APPLY),
        OPTION_FLAG("rm", RUN_ACCEPTED), OPTION_FLAG("init", RUN_ACCEPTED), OPTION_FLAG("interactive", 'i'),
        OPTION_FLAG("tty", 't'), OPTION_FLAG("no-tty", RUN_NO_TTY), OPTION("volume", 'v'), OPTION("env", 'e'), OPTION("workdir", 'w'), OPTION("entry", RUN_POLICY),
        OPTION("name", RUN_POLICY), OPTION("memory", RUN_POLICY), OPTION("timeout", RUN_POLICY),
        OPTION("cpu-time", RUN_POLICY), OPTION("idle", RUN_POLICY), OPTION("grace", RUN_POLICY), OPTION("pids-limit", RUN_POLICY),
        OPTION("nofile", RUN_POLICY), OPTION("file-size", RUN_POLICY), OPTION("scratch", RUN_POLICY),
        OPTION("output-limit", RUN_POLICY), OPTION("network", RUN_POLICY), OPTION("connect", RUN_POLICY), OPTION("allow", RUN_POLICY),
        OPTION("tier", RUN_POLICY), OPTION_FLAG("proc", RUN_POLICY), OPTION("discipline", RUN_POLICY), {}};

#define RUN_LETTERS (cli_run_is_map() ? "+:hv:e:w:m:itj:" : "+:hv:e:w:m:it")

/* The value of each option but those of request_option(): "" for an option without a value, NULL: not given. */
typedef struct RunValues {
        const char *v[RUN_POLICY - RUN_OPTIONS];
} RunValues;

static const char *run_value(const RunValues *values, int option) {
        return values->v[option - RUN_OPTIONS];
}

/* Keeps the option, unless it is of request_option() or not known. */
static bool run_values_take(RunValues *values, int option, const char *arg) {
        const bool own = option >= RUN_OPTIONS && option < RUN_POLICY;

        if (own)
                values->v[option - RUN_OPTIONS] = arg ?: "";
        return own;
}

#define TERM_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._"
#define HEAP_BYTES (512 * 1024)
#define RUN_AGAIN (-2) /* in a child of front.h: the child would read a file that another process serves */

typedef struct RunCommand {
        SkillRequest ask;
        RunOptions run;
        ServeClient through;
        RunValues values;
        const char *exec;
        char *path; /* of the store, owned */
        json_t *profile;       /* owned: for --dry-run; or NULL */
        char folder[PATH_MAX]; /* the caller's; "": not to be had */
        RegionId region;       /* with --apply: the invocation's, once there is a region */
} RunCommand;

static const char *cmd_run_value(const RunCommand *c, int option) {
        return run_value(&c->values, option);
}

static int cmd_run_refuse(const RunCommand *c, const char *name, bool by_policy, int code, const Diag *d, int e) {
        const char *text = *d->text ? d->text : strerror(e < 0 ? -e : EIO);

        cli_fail(cli_run_verb(), code, "%s", text);
        return run_refused(&c->run, name, NULL, by_policy, code, text);
}

/* A wrong command line ran no program: exit code 125 and not 2, a possible exit code of the skill. */
static int cmd_run_wrong(const RunCommand *c, const char *fmt, ...) _printf_(2, 3);
static int cmd_run_wrong(const RunCommand *c, const char *fmt, ...) {
        char text[sizeof(((Diag *)NULL)->text)];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        cli_usage(cli_run_verb(), "%s", text);
        if (cli_run_is_map())
                return EXIT_USAGE;
        return run_refused(&c->run, skill_request_name(&c->ask) ?: c->exec, NULL, false, EXIT_LETHE, text);
}

static int cmd_run_report_refusal(const RunCommand *c, const Refusal *r) {
        return r->usage ? cmd_run_wrong(c, "%s", r->why.text)
                        : cmd_run_refuse(c, skill_request_name(&c->ask), r->by_policy, r->code, &r->why, 0);
}

static int cmd_run_request_failed(const RunCommand *c, const char *name, int e, const Diag *d) {
        Refusal r = {.why = *d};

        skill_request_failed(e, &r);
        return r.usage ? cmd_run_wrong(c, "%s", r.why.text) : cmd_run_refuse(c, name, false, r.code, &r.why, 0);
}

/* Options that count before all others are read. The receipt reports even a mistake that stands before --receipt:
 * else an earlier receipt would be taken for the receipt of the failed run. *ret_usec: the run's wall time, or 0. */
static RunValues cmd_run_look_ahead(int argc, char **argv, uint64_t *ret_usec, bool *ret_here) {
        RunValues f = {};
        int o, index;
        Diag d;

        *ret_usec = 0;
        *ret_here = false;
        opterr = 0;
        optind = 0; /* makes getopt reset its state */
        while (index = -1, (o = getopt_long(argc, argv, RUN_LETTERS, options, &index)) != -1 && o != RUN_EXEC) {
                run_values_take(&f, o == 't' ? RUN_TTY : o == 'h' ? RUN_NO_TTY : o, optarg);
                *ret_here |= o == RUN_HERE;
                for (size_t i = 0; i < BUDGET_FIELDS && o == RUN_POLICY && index >= 0 &&
                                   strcmp(options[index].name, "timeout") == 0;
                     i++)
                        if (strcmp(budget_fields[i].option, "timeout") == 0 &&
                            budget_parse(&budget_fields[i], optarg, ret_usec, &d) != 0)
                                *ret_usec = 0;
        }
        optind = 0;
        return f;
}

static void cmd_run_settle(RunCommand *c) {
        c->run.promote = cmd_run_value(c, RUN_PROMOTE);
        c->run.quiet = cmd_run_value(c, RUN_QUIET);
        c->run.verbose = cmd_run_value(c, RUN_VERBOSE);
        c->ask.foreign = cmd_run_value(c, RUN_FOREIGN);
        if (cmd_run_value(c, RUN_SOCKET))
                secrets_set_socket(cmd_run_value(c, RUN_SOCKET));
        if (cmd_run_value(c, RUN_ANCHOR))
                anchor_set_path(cmd_run_value(c, RUN_ANCHOR));
        if (c->run.verbose)
                log_set_level(LOG_LEVEL_DEBUG); /* the skill's log and progress messages */
}

/* Arguments of a turn go to the session's host in a line of JSON. Returns as cmd_run_parse(). */
static int cmd_run_check_args(const RunCommand *c) {
        for (char **a = c->ask.request.args; *a; a++) {
                size_t bad;

                if (!utf8_valid(*a, strlen(*a), &bad))
                        return cmd_run_wrong(c, "argument %td is not UTF-8 at byte %zu, which is 0x%02x: arguments of a turn are "
                                                "text; give bytes on standard input", a - c->ask.request.args + 1, bad,
                                             (unsigned char)(*a)[bad]);
        }
        return -1;
}

/* For run-option.h. */
static int cmd_run_take_option(void *userdata, const char *option, const char *value, Diag *reterr) {
        RunCommand *c = userdata;
        char here[PATH_MAX + 16];
        int e;

        if (strcmp(option, "here") == 0) {
                snprintf(here, sizeof(here), "%.15s:%s", value, c->folder);
                value = here;
        }
        e = request_option(&c->ask.request, option, value, reterr);
        if (e == 0)
                serve_client_option(&c->through, option, value);
        return e;
}

/* The options of the profile come first, so that those of the command line count. */
static int cmd_run_take_profile(RunCommand *c, const RunValues *ahead, bool here) {
        const char *name = run_value(ahead, RUN_PROFILE);
        Diag d = {};
        int e = name ? run_option_profile(name, here, cmd_run_take_option, c, &c->profile, &d) : 0;

        return e == 0 ? -1 : cmd_run_request_failed(c, NULL, e == RUN_OPTION_E_FILE ? REQUEST_E_BAD : e, &d);
}

/* An option of docker, podman, bwrap, firejail or srt: answered before getopt_long() takes the word for the beginning of
 * an option here. Returns as cmd_run_take_inside(). */
static int cmd_run_check_others(RunCommand *c, int argc, char **argv) {
        const char *word = optind > 0 ? optind < argc ? argv[optind] : "" : argc > 1 ? argv[1] : "", *words;
        char name[64];

        if (strncmp(word, "--", 2) != 0 || strcspn(word + 2, "=") >= sizeof(name))
                return -1;
        snprintf(name, sizeof(name), "%.*s", (int)strcspn(word + 2, "="), word + 2);
        for (const struct option *o = options; o->name; o++)
                if (strcmp(o->name, name) == 0)
                        return -1;
        words = run_option_of_others(name);
        return words ? cmd_run_wrong(c, "--%s is no option of %s: %s", name, cli_run_verb(), words) : -1;
}

static int cmd_run_unknown(RunCommand *c, char **argv) {
        const char *option = "", *words = optopt && optopt < 256 ? run_option_of_letter(optopt, &option) : NULL;

        if (words)
                return cmd_run_wrong(c, "-%c (--%s) is no option of %s: %s", optopt, option, cli_run_verb(), words);
        if (optopt && optopt < 256)
                return cmd_run_wrong(c, "-%c is no option of %s", optopt, cli_run_verb());
        return cmd_run_wrong(c, "%s is no option of %s (options of the skill stand behind %s)", argv[optind - 1],
                             cli_run_verb(), cli_run_is_turn() ? "SESSION" : "SKILL");
}

static int cmd_run_take_env_file(RunCommand *c, const char *file) {
        Diag d = {};
        int e = run_option_env_file(file, cmd_run_take_option, c, &d);

        return e == 0 ? -1 : cmd_run_request_failed(c, NULL, e == RUN_OPTION_E_FILE ? REQUEST_E_BAD : e, &d);
}

/* --here. Returns as cmd_run_take_inside(). */
static int cmd_run_take_here(RunCommand *c, const char *mode) {
        char value[PATH_MAX + 16];
        Diag d = {};
        int e;

        if (cli_run_is_turn())
                return cmd_run_wrong(c, "--here does not go with a turn: the session has its files");
        if (!*c->folder)
                return cmd_run_wrong(c, "--here: the working folder has no path");
        snprintf(value, sizeof(value), "%.15s:%s", mode ?: "ro", c->folder);
        e = request_option(&c->ask.request, "here", value, &d);
        if (e != 0)
                return cmd_run_request_failed(c, NULL, e, &d);
        serve_client_option(&c->through, "here", value);
        return -1;
}

/* --exec PROGRAM behind SKILL. Returns -1 to go on, else the exit code. */
static int cmd_run_take_inside(int argc, char **argv, RunCommand *c) {
        const char *word = optind < argc ? argv[optind] : "", *program;
        Diag d = {};
        int e;

        if (strcmp(word, "--exec") != 0 && strncmp(word, "--exec=", 7) != 0)
                return -1;
        program = word[6] ? word + 7 : optind + 1 < argc ? argv[++optind] : NULL;
        if (!program)
                return cmd_run_wrong(c, "--exec lacks its value");
        optind++;
        e = request_option(&c->ask.request, "exec", program, &d);
        if (e != 0)
                return cmd_run_request_failed(c, NULL, e, &d);
        serve_client_option(&c->through, "exec", program);
        return -1;
}

/* The region has a terminal, and programs in it ask TERM for its commands: the caller's, unless -e says another. */
static int cmd_run_take_terminal(RunCommand *c, Diag *reterr) {
        const char *term = getenv("TERM");
        int e = request_option(&c->ask.request, "tty", NULL, reterr);

        serve_client_option(&c->through, "tty", NULL);
        for (char **v = c->ask.request.env; v && *v; v++)
                if (strncmp(*v, "TERM=", 5) == 0)
                        term = NULL;
        if (e != 0 || !term || !*term || strspn(term, TERM_LETTERS) != strlen(term))
                return e;
        serve_client_option(&c->through, "env", "TERM");
        return request_option(&c->ask.request, "env", "TERM", reterr);
}

/* Returns -1 when the command is complete, else the exit code. */
static int cmd_run_parse(int argc, char **argv, RunCommand *c) {
        const char *traceparent, *store;
        RunValues ahead;
        int o, index, e;
        uint64_t usec;
        bool here;
        Diag d = {};

        ahead = cmd_run_look_ahead(argc, argv, &usec, &here);
        if (getcwd(c->folder, sizeof(c->folder)) && *c->folder == '/')
                c->ask.request.caller_dir = c->folder;
        else
                *c->folder = 0;
        c->run.receipt = run_value(&ahead, RUN_RECEIPT);
        if (c->run.receipt && receipt_check(c->run.receipt, &d) < 0)
                return cli_fail(cli_run_verb(), EXIT_LETHE, "%s", d.text);
        e = cmd_run_take_profile(c, &ahead, here);
        if (e >= 0)
                return e;
        while (!c->exec && (e = cmd_run_check_others(c, argc, argv)) < 0 &&
               (index = -1, o = getopt_long(argc, argv, RUN_LETTERS, options, &index)) != -1) {
                const char *name = o == 'v'     ? "volume"
                                   : o == 'e'   ? "env"
                                   : o == 'w'   ? "workdir"
                                   : o == 'm'   ? "memory"
                                   : index >= 0 ? options[index].name
                                                : "";

                switch (o) {
                case 'h':
                        return cli_help(cli_run_verb(), cli_run_is_turn() ? help_turn : cli_run_is_map() ? help_map : help);
                case ':':
                        return cmd_run_wrong(c, "%s lacks its value", argv[optind - 1]);
                case '?':
                        return cmd_run_unknown(c, argv);
                case 'i':
                case 't':
                case RUN_ACCEPTED:
                        break;
                case RUN_ENV_FILE:
                        e = cmd_run_take_env_file(c, optarg);
                        if (e >= 0)
                                return e;
                        break;
                case RUN_HERE:
                        e = cmd_run_take_here(c, optarg);
                        if (e >= 0)
                                return e;
                        break;
                default:
                        if (run_values_take(&c->values, o, optarg)) {
                                c->exec = cmd_run_value(c, RUN_EXEC);
                                break;
                        }
                        if (o == 'j') {
                                run_values_take(&c->values, RUN_JOBS, optarg);
                                break;
                        }
                        e = request_option(&c->ask.request, name, optarg, &d);
                        if (e != 0)
                                return cmd_run_request_failed(c, NULL, e, &d);
                        serve_client_option(&c->through, name, optarg);
                        /* bwrap's --proc has a place, and there is one place here */
                        optind += o == RUN_POLICY && strcmp(name, "proc") == 0 && optind < argc &&
                                  strcmp(argv[optind], "/proc") == 0;
                }
        }
        if (e >= 0 && !c->exec)
                return e;
        cmd_run_settle(c);
        store = cmd_run_value(c, RUN_STORE);
        if (terminal_is_child() && (e = cmd_run_take_terminal(c, &d)) != 0)
                return cmd_run_request_failed(c, NULL, e, &d);
        if (cmd_run_value(c, RUN_JSON) && !cmd_run_value(c, RUN_DRY_RUN))
                return cmd_run_wrong(c, "--json goes with --dry-run; for the result of a run use --receipt FILE");
        c->path = path_of_store(store, &d);
        c->through.named_store = store || *(getenv("LETHE_STORE") ?: "");
        if (!c->path)
                return cmd_run_wrong(c, "%s", *d.text ? d.text : "out of memory");
        c->ask.request.store_dir = cmd_run_value(c, RUN_DRY_RUN) ? NULL : c->path; /* --dry-run changes no file */
        traceparent = getenv("TRACEPARENT");
        e = traceparent ? trace_take_in(traceparent, &c->ask.request.trace) : 0;
        if (e == -EIO)
                return cmd_run_wrong(c, "no random numbers are to be had");
        if (cli_run_is_turn() && (c->exec || cmd_run_value(c, RUN_DRY_RUN) || cmd_run_value(c, RUN_POLICY_FILE)))
                return cmd_run_wrong(c, "--exec, --dry-run and --policy do not go with a turn: the session has a skill and a "
                                        "policy");
        if (!cli_run_is_map() && (cmd_run_value(c, RUN_JOBS) || cmd_run_value(c, RUN_FROM) || cmd_run_value(c, RUN_TEXT)))
                return cmd_run_wrong(c, "--jobs, --from and --text go with 'lethe map'");
        if (cmd_run_value(c, RUN_APPLY) && (strcmp(cmd_run_value(c, RUN_APPLY), "success") != 0 || cli_run_is_turn() ||
                                            cli_run_is_map() || c->ask.foreign))
                return cmd_run_wrong(c, "--apply takes success: the layers are applied after exit code 0; and goes with "
                                        "'lethe run' alone, without --foreign");
        if (cli_run_is_map() && (c->run.receipt || c->ask.request.name || c->ask.foreign))
                return cmd_run_wrong(c, "--receipt, --name and --foreign do not go with map: the lines have a region each, and a "
                                        "daemon looks the skill up");
        if (!c->exec) {
                if (optind >= argc)
                        return cmd_run_wrong(c, cli_run_is_turn() ? "no session: give SESSION; `lethe session list` shows the open ones"
                                                                : "no program to run: give SKILL, DIR or --exec PROGRAM");
                c->ask.skill = argv[optind++];
                if (cli_run_is_turn()) {
                        c->through.session = c->ask.skill;
                        if (!region_id_valid(c->ask.skill))
                                return cmd_run_wrong(c, "'%s' is not a session's id (%d characters of 0-9 a-z)",
                                                     c->ask.skill, REGION_ID_LEN);
                }
                if (!*c->ask.skill)
                        return cmd_run_wrong(c, "SKILL is empty");
                if (!cli_run_is_turn() && (e = cmd_run_take_inside(argc, argv, c)) >= 0)
                        return e;
                if (optind < argc && strcmp(argv[optind], "--") == 0)
                        optind++;
        }
        c->ask.request.args = argv + optind;
        return cli_run_is_turn() ? cmd_run_check_args(c) : -1;
}

static int cmd_run_show_grant(const RunCommand *c, const Grant *g) {
        if (cmd_run_value(c, RUN_JSON)) {
                _cleanup_json_ json_t *o = grant_show_json(g);

                if (!o || (c->profile && json_object_set(o, "profile", c->profile) < 0) || json_dumpf(o, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF)
                        return cli_fail(cli_run_verb(), EXIT_LETHE, "cannot print the policy");
        } else {
                _cleanup_free_ char *text = grant_show_text(g);

                if (c->profile)
                        printf("profile     %s (%s)\n", cli_text(c->profile, "name"), cli_text(c->profile, "file"));
                if (!text || fputs(text, stdout) == EOF)
                        return cli_fail(cli_run_verb(), EXIT_LETHE, "cannot print the policy");
        }
        return cli_done(cli_run_verb(), EXIT_OK);
}

/* A signal that arrived before the run's event loop ended a wait, and so ended the run. */
static int cmd_run_signalled(int signals, int code) {
        struct signalfd_siginfo si;

        return code == EXIT_LETHE && read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si) ? 128 + (int)si.ssi_signo
                                                                                           : code;
}

static int cmd_run_at_host(RunCommand *c, int signals) {
        const HostPlace p = {.store = c->path, .anchor = anchor_said(), .socket = cmd_run_value(c, RUN_SOCKET)};
        Diag d = {};

        /* Of clients that come at once after a host's death, the first one's host has the session. */
        for (unsigned i = 0; i < SESSION_HOSTS_TRIED; i++) {
                _cleanup_close_ int fd = -1;
                int e = session_host_of(&p, c->through.session, &fd, &d);

                if (e != 0)
                        return cmd_run_refuse(c, NULL, false, EXIT_LETHE, &d, e);
                e = serve_client_turn(&c->through, &c->ask, &c->run, c->path, fd, signals);
                if (e != SERVE_CLIENT_ELSEWHERE)
                        return e;
        }
        diag(&d, 0, "session %s changes its host again and again: ask again later", c->through.session);
        return cmd_run_refuse(c, NULL, false, EXIT_LETHE, &d, 0);
}

static int cmd_run_lines(RunCommand *c, int signals) {
        const char *policy = cmd_run_value(c, RUN_POLICY_FILE), *said = policy ?: getenv("LETHE_POLICY");
        /* a private daemon has another working folder */
        _cleanup_free_ char *path = said && *said ? io_absolute(said) : NULL,
                            *anchor = anchor_said() ? io_absolute(anchor_said()) : NULL;
        const MapAsked m = {.jobs = cmd_run_value(c, RUN_JOBS), .from = cmd_run_value(c, RUN_FROM),
                            .text = cmd_run_value(c, RUN_TEXT), .alone = policy || cmd_run_value(c, RUN_NO_SERVE),
                            .place = {.store = c->path, .anchor = anchor, .policy = path,
                                      .socket = cmd_run_value(c, RUN_SOCKET)}};

        if ((said && *said && !path) || (anchor_said() && !anchor))
                return cli_fail("map", EXIT_LETHE, "%s", strerror(ENOMEM));
        return map_run(&m, &c->through, &c->ask, c->exec, &c->run, signals);
}

static void cmd_run_begun(void *userdata, const char *region) {
        RunCommand *c = userdata;

        if (!*c->region) /* later ones are regions below */
                snprintf(c->region, sizeof(c->region), "%s", region);
}

static int cmd_run_once(RunCommand *c, int signals) {
        _cleanup_store_ Store *store = NULL;
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_grant_ Grant grant = {};
        Refusal refusal = {};
        const char *policy_file = cmd_run_value(c, RUN_POLICY_FILE);
        const bool dry_run = cmd_run_value(c, RUN_DRY_RUN);
        Diag d = {};
        int e;

        if (cli_run_is_turn())
                return cmd_run_at_host(c, signals);
        if (cli_run_is_map() && !dry_run)
                return cmd_run_lines(c, signals);
        /* with --foreign: a daemon decides about its folders alone */
        if (!dry_run && !policy_file && !cmd_run_value(c, RUN_NO_SERVE) && !cmd_run_value(c, RUN_APPLY) && !c->ask.foreign &&
            (e = serve_client_run(&c->through, &c->ask, c->exec, &c->run, c->path, cmd_run_value(c, RUN_SOCKET),
                                  signals)) >= 0)
                return e;
        WatchdogWait store_waits = watchdog_wait("the store", c->path),
                anchor_waits = anchor_said() ? watchdog_wait("the anchor", anchor_said()) : (WatchdogWait){};
        if (c->exec && (e = request_exec(&c->ask.request, c->exec, &d)) != 0)
                return lookup_was_remote() ? RUN_AGAIN : cmd_run_request_failed(c, c->exec, e, &d);
        store_set_fault_exit(EXIT_LETHE, EXIT_LETHE);
        /* The store must be open for three uses: the skill is looked up in the store's registry first; copies are in
         * the store; a mount must not show the store. --dry-run changes no file and needs no store otherwise. */
        e = 0;
        if (c->ask.skill || c->ask.request.n_mounts > 0 || request_exec_lacks_copy(&c->ask.request) || front_is_child())
                e = store_open(c->path, dry_run ? STORE_READ : STORE_SUPERVISE, &store, &d);
        if (e != 0 && !(dry_run && e == STORE_E_MISSING))
                return cmd_run_refuse(c, skill_request_name(&c->ask), false, EXIT_LETHE, &d, e);
        if (request_exec_lacks_copy(&c->ask.request) && (e = request_exec_copy(&c->ask.request, &d)) != 0)
                return cmd_run_request_failed(c, c->exec, e, &d);
        e = policy_load(policy_file, &policy, &d);
        if (e != 0)
                return cmd_run_refuse(c, skill_request_name(&c->ask), false, EXIT_LETHE, &d, e);
        c->run.policy = policy;
        c->run.recover = recover_all;
        c->ask.alone = true;
        if (!resolve_request(&c->ask, store, policy, c->run.quiet, &grant, &refusal))
                return lookup_was_remote() ? RUN_AGAIN : cmd_run_report_refusal(c, &refusal);
        if (dry_run)
                return cmd_run_show_grant(c, &grant);
        watchdog_wait_end(&anchor_waits);
        watchdog_wait_end(&store_waits);
        front_take_streams();
        if (cmd_run_value(c, RUN_APPLY)) {
                c->run.begun = cmd_run_begun;
                c->run.userdata = c;
        }
        return run_invocation(&c->run, store, c->path, &grant, signals);
}

static int cmd_run_with_signals(RunCommand *c) {
        _cleanup_close_ int signals = run_take_signals();

        return signals < 0 ? cli_fail(cli_run_verb(), EXIT_LETHE, "signals: %s", strerror(-signals))
                           : cmd_run_signalled(signals, cmd_run_once(c, signals));
}

/* A run takes and returns some hundred kilobytes, a single time: a single heap for all threads, made in one piece
 * and returned by the exit. */
static void cmd_run_set_heap(void) {
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_TOP_PAD, HEAP_BYTES);
        mallopt(M_TRIM_THRESHOLD, 64 * HEAP_BYTES);
        mallopt(M_MMAP_THRESHOLD, HEAP_BYTES);
}

static int cmd_run_command(int argc, char **argv) {
        RunCommand c = {};
        int code;

        lookup_begin();
        code = cmd_run_parse(argc, argv, &c);
        if (cmd_run_value(&c, RUN_JSON) && cmd_run_value(&c, RUN_DRY_RUN)) /* else standard output belongs to the program */
                cli_wants_json();
        if (code < 0)
                code = cmd_run_with_signals(&c);
        if (code == EXIT_OK && *c.region && apply_after_run(c.path, c.region, cmd_run_value(&c, RUN_POLICY_FILE)) != EXIT_OK)
                code = EXIT_LETHE;
        request_deinit(&c.ask.request);
        serve_client_deinit(&c.through);
        json_decref(c.profile);
        free(c.path);
        return code;
}

static const char *cmd_run_front_receipt; /* or NULL */

static void cmd_run_refused_in_front(const char *why) {
        run_refused(&(RunOptions){.receipt = cmd_run_front_receipt}, NULL, NULL, false, EXIT_LETHE, why);
}

static int cmd_run_alone(int argc, char **argv) {
        uint64_t usec;
        bool here;
        const RunValues f = cmd_run_look_ahead(argc, argv, &usec, &here);
        _cleanup_free_ char *store = path_of_store(run_value(&f, RUN_STORE), &(Diag){}),
                            *socket = path_of_socket(run_value(&f, RUN_SOCKET), &(Diag){});
        const char *receipt = run_value(&f, RUN_RECEIPT);
        const char *names[] = {store, socket, receipt, run_value(&f, RUN_ANCHOR) ?: getenv("LETHE_ANCHOR"),
                               run_value(&f, RUN_POLICY_FILE) ?: getenv("LETHE_POLICY")};
        bool any;
        int code;

        cmd_run_set_heap();
        lookup_begin();
        if (!front_is_needed(names, ARRAY_SIZE(names), &any)) {
                lookup_read_local_alone(any);
                code = cmd_run_command(argc, argv);
                if (code != RUN_AGAIN)
                        return code;
                lookup_read_local_alone(false);
        }
        cmd_run_front_receipt = receipt;
        return front_run(cmd_run_command, argc, argv,
                         usec > 0 ? MIN((uint64_t)FRONT_USEC, MAX(usec, (uint64_t)FRONT_LEAST_USEC)) : FRONT_USEC,
                         receipt ? cmd_run_refused_in_front : NULL);
}

/* Another user's daemon may take the run, but no terminal. */
static bool cmd_run_may_go_abroad(const RunValues *f) {
        _cleanup_free_ char *socket = path_of_socket(run_value(f, RUN_SOCKET), &(Diag){});
        const char *const names[] = {socket};
        struct stat st;
        bool any;

        if (geteuid() == 0 || !socket || run_value(f, RUN_NO_SERVE) || run_value(f, RUN_POLICY_FILE))
                return false;
        lookup_begin();
        return front_is_needed(names, ARRAY_SIZE(names), &any) ||
               (lookup_stat(socket, true, &st) == 0 && st.st_uid != geteuid());
}

static bool cmd_run_wants_terminal(int argc, char **argv) {
        uint64_t usec;
        bool here;
        const RunValues f = cmd_run_look_ahead(argc, argv, &usec, &here);

        return !run_value(&f, RUN_NO_TTY) && !run_value(&f, RUN_DRY_RUN) && terminal_is_there() &&
               (run_value(&f, RUN_TTY) || (terminal_is_in_front() && !cmd_run_may_go_abroad(&f)));
}

int cmd_run(int argc, char **argv) {
        return cli_run_is_turn() || cli_run_is_map() || !cmd_run_wants_terminal(argc, argv)
                       ? cmd_run_alone(argc, argv)
                       : terminal_run(cmd_run_alone, argc, argv);
}

int cmd_map(int argc, char **argv) {
        cli_run_as_map();
        return cmd_run(argc, argv);
}

int cmd_run_turn(int argc, char **argv) {
        cli_run_as_turn();
        return cmd_run(argc, argv);
}
