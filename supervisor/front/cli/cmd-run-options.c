#include "cli/cmd-run.h"

#include "base/id.h"
#include "base/log.h"
#include "cli/run-option.h"
#include "cli/terminal.h"
#include "invoke/receipt.h"
#include "ledger/anchor.h"
#include "request/paths.h"
#include "request/secrets.h"

#include <errno.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

static const struct option options[] = {
        OPTION("store", RUN_STORE), OPTION("anchor", RUN_ANCHOR), OPTION("receipt", RUN_RECEIPT),
        OPTION("policy", RUN_POLICY_FILE), OPTION("exec", RUN_EXEC), OPTION_FLAG("promote", RUN_PROMOTE),
        OPTION_FLAG("dry-run", RUN_DRY_RUN), OPTION_FLAG("json", RUN_JSON), OPTION_FLAG("quiet", RUN_QUIET),
        OPTION_FLAG("verbose", RUN_VERBOSE), OPTION("socket", RUN_SOCKET),
        OPTION_FLAG("no-serve", RUN_NO_SERVE), OPTION_FLAG("foreign", RUN_FOREIGN), OPTION_FLAG("help", 'h'),
        OPTION("jobs", RUN_JOBS), OPTION("from", RUN_FROM), OPTION_FLAG("text", RUN_TEXT),
        {"here", optional_argument, NULL, RUN_HERE}, OPTION("profile", RUN_PROFILE), OPTION("env-file", RUN_ENV_FILE),
        OPTION("apply", RUN_APPLY),
        OPTION_FLAG("rm", RUN_RM), OPTION_FLAG("init", RUN_ACCEPTED), OPTION_FLAG("interactive", 'i'), OPTION_FLAG("detach", 'd'),
        OPTION_FLAG("tty", 't'), OPTION_FLAG("no-tty", RUN_NO_TTY), OPTION("volume", 'v'), OPTION("env", 'e'), OPTION("workdir", 'w'), OPTION("entry", RUN_POLICY),
        OPTION("name", RUN_POLICY), OPTION("memory", RUN_POLICY), OPTION("timeout", RUN_POLICY),
        OPTION("cpu-time", RUN_POLICY), OPTION("cpus", RUN_POLICY), OPTION("idle", RUN_POLICY), OPTION("grace", RUN_POLICY), OPTION("pids-limit", RUN_POLICY),
        OPTION("nofile", RUN_POLICY), OPTION("file-size", RUN_POLICY), OPTION("scratch", RUN_POLICY),
        OPTION("output-limit", RUN_POLICY), OPTION("network", RUN_POLICY), OPTION("connect", RUN_POLICY), OPTION("allow", RUN_POLICY), OPTION("route", RUN_POLICY),
        OPTION("publish", 'p'), OPTION("tier", RUN_POLICY), OPTION_FLAG("proc", RUN_POLICY), OPTION_FLAG("terminals", RUN_POLICY), OPTION("discipline", RUN_POLICY), {}};

#define RUN_LETTERS (cli_run_is_map() ? "+:hv:e:w:m:p:itj:" : "+:hv:e:w:m:p:itd")

/* Keeps the option, unless it is of request_option() or not known. */
static bool run_values_take(RunValues *values, int option, const char *arg) {
        const bool own = option >= RUN_OPTIONS && option < RUN_POLICY;

        if (own)
                values->v[option - RUN_OPTIONS] = arg ?: "";
        return own;
}

#define TERM_LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._"

int cmd_run_refuse(const RunCommand *c, const char *name, bool by_policy, int code, const Diag *d, int e) {
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

int cmd_run_report_refusal(const RunCommand *c, const Refusal *r) {
        return r->usage ? cmd_run_wrong(c, "%s", r->why.text)
                        : cmd_run_refuse(c, skill_request_name(&c->ask), r->by_policy, r->code, &r->why, 0);
}

int cmd_run_request_failed(const RunCommand *c, const char *name, int e, const Diag *d) {
        Refusal r = {.why = *d};

        skill_request_failed(e, &r);
        return r.usage ? cmd_run_wrong(c, "%s", r.why.text) : cmd_run_refuse(c, name, false, r.code, &r.why, 0);
}

RunValues cmd_run_look_ahead(int argc, char **argv, uint64_t *ret_usec, bool *ret_here) {
        RunValues f = {};
        int o, index;
        Diag d;

        *ret_usec = 0;
        *ret_here = false;
        opterr = 0;
        optind = 0; /* makes getopt reset its state */
        while (index = -1, (o = getopt_long(argc, argv, RUN_LETTERS, options, &index)) != -1 && o != RUN_EXEC) {
                run_values_take(&f, o == 't' ? RUN_TTY : o == 'd' ? RUN_DETACH : o == 'h' ? RUN_NO_TTY : o, optarg);
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

/* For this process, and for the daemon that may get the request. */
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

/* The result of run-option.h. Returns -1 to go on, else the exit code. */
static int cmd_run_took_file(const RunCommand *c, int e, const Diag *d) {
        return e == 0 ? -1 : cmd_run_request_failed(c, NULL, e == RUN_OPTION_E_FILE ? REQUEST_E_BAD : e, d);
}

/* The options of the profile come first, so that those of the command line count. */
static int cmd_run_take_profile(RunCommand *c, const RunValues *ahead, bool here) {
        const char *name = run_value(ahead, RUN_PROFILE);
        Diag d = {};
        int e = name ? run_option_profile(name, here, cmd_run_take_option, c, &c->profile, &d) : 0;

        return cmd_run_took_file(c, e, &d);
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

/* The option that was meant: a swap, or one or two letters away. */
static const char *cmd_run_near(const char *word) {
        const char *near = NULL;
        unsigned best = 3;

        if (strncmp(word, "--", 2) != 0)
                return NULL;
        for (const struct option *o = options; o->name; o++) {
                const unsigned away = run_option_away(o->name, word + 2, strcspn(word + 2, "="));

                if (away < best && away < strlen(o->name) / 2) {
                        best = away;
                        near = o->name;
                }
        }
        return near;
}

static int cmd_run_unknown(RunCommand *c, char **argv) {
        const char *option = "", *near = cmd_run_near(argv[optind - 1]), *words = optopt && optopt < 256 ? run_option_of_letter(optopt, &option) : NULL;

        if (words)
                return cmd_run_wrong(c, "-%c (--%s) is no option of %s: %s", optopt, option, cli_run_verb(), words);
        if (optopt && optopt < 256)
                return cmd_run_wrong(c, "-%c is no option of %s", optopt, cli_run_verb());
        if (near)
                return cmd_run_wrong(c, "%s is no option of %s; fix: --%s", argv[optind - 1], cli_run_verb(), near);
        return cmd_run_wrong(c, "%s is no option of %s (options of the skill stand behind %s)", argv[optind - 1],
                             cli_run_verb(), cli_run_is_turn() ? "SESSION" : "SKILL");
}

static int cmd_run_take_env_file(RunCommand *c, const char *file) {
        Diag d = {};
        int e = run_option_env_file(file, cmd_run_take_option, c, &d);

        return cmd_run_took_file(c, e, &d);
}

/* --here. Returns as cmd_run_take_inside(). */
static int cmd_run_take_here(RunCommand *c, const char *mode) {
        Diag d = {};
        int e;

        if (cli_run_is_turn())
                return cmd_run_wrong(c, "--here does not go with a turn: the session has its files");
        if (!*c->folder)
                return cmd_run_wrong(c, "--here: the working folder has no path");
        e = cmd_run_take_option(c, "here", mode ?: "ro", &d);
        return e == 0 ? -1 : cmd_run_request_failed(c, NULL, e, &d);
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
        e = cmd_run_take_option(c, "exec", program, &d);
        return e == 0 ? -1 : cmd_run_request_failed(c, NULL, e, &d);
}

/* The region has a terminal, and programs in it ask TERM for its commands: the caller's, unless -e says another. */
static int cmd_run_take_terminal(RunCommand *c, Diag *reterr) {
        const char *term = getenv("TERM");
        int e = cmd_run_take_option(c, "tty", NULL, reterr);

        for (char **v = c->ask.request.env; v && *v; v++)
                if (strncmp(*v, "TERM=", 5) == 0)
                        term = NULL;
        if (e != 0 || !term || !*term || strspn(term, TERM_LETTERS) != strlen(term))
                return e;
        return cmd_run_take_option(c, "env", "TERM", reterr);
}

int cmd_run_parse(int argc, char **argv, RunCommand *c) {
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
                                   : o == 'p'   ? "publish"
                                   : index >= 0 ? options[index].name
                                                : "";

                switch (o) {
                case 'h':
                        return cli_help(cli_run_verb(), cli_run_is_turn()  ? cmd_run_help_turn
                                                        : cli_run_is_map() ? cmd_run_help_map
                                                                           : cmd_run_help);
                case ':':
                        return cmd_run_wrong(c, "%s lacks its value", argv[optind - 1]);
                case '?':
                        return cmd_run_unknown(c, argv);
                case 'i':
                case 't':
                case 'd':
                        run_values_take(&c->values, o == 'i' ? RUN_INTERACTIVE : o == 't' ? RUN_TTY : RUN_DETACH, NULL);
                        break;
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
                        if (o == 'p' && cli_run_is_map())
                                return cmd_run_wrong(c, "--publish does not go with map: many regions cannot share a port");
                        e = cmd_run_take_option(c, name, optarg, &d);
                        if (e != 0)
                                return cmd_run_request_failed(c, NULL, e, &d);
                        /* bwrap's --proc has a place, and there is one place here */
                        optind += o == RUN_POLICY && strcmp(name, "proc") == 0 && optind < argc &&
                                  strcmp(argv[optind], "/proc") == 0;
                }
        }
        if (e >= 0 && !c->exec)
                return e;
        cmd_run_settle(c);
        store = cmd_run_value(c, RUN_STORE);
        if ((cmd_run_has_terminal || (cmd_run_value(c, RUN_DETACH) && cmd_run_value(c, RUN_TTY))) &&
            (e = cmd_run_take_terminal(c, &d)) != 0)
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
        if (cmd_run_value(c, RUN_DETACH) && (c->run.receipt || c->ask.foreign || cmd_run_value(c, RUN_APPLY) || cli_run_is_turn() ||
                                             cli_run_is_map()))
                return cmd_run_wrong(c, "--detach goes with 'lethe run' alone, without --receipt, --apply and --foreign: 'lethe wait', "
                                        "'lethe logs' and 'lethe why' have what became of the region");
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
