/* Runs: CLI, with the supervisor in it. */
#include "base/log.h"
#include "base/quiet.h"
#include "base/waiting.h"
#include "cli/cli.h"
#include "cli/front.h"
#include "cli/serve-client.h"
#include "request/resolve-request.h"
#include "recover/recover.h"
#include "request/paths.h"
#include "invoke/receipt.h"
#include "invoke/run.h"
#include "request/secrets.h"
#include "ledger/anchor.h"
#include "policy/grant.h"

#include <errno.h>
#include <getopt.h>
#include <malloc.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

static const char help[] =
        "Usage: lethe run [OPTIONS] SKILL|DIR [--] [ARGS...]\n"
        "       lethe run [OPTIONS] --exec PROGRAM [ARGS...]\n\n"
        "Runs a skill, or one program, in a region of its own. Options stand before SKILL.\n\n"
        "  --store DIR           the store (default: $LETHE_STORE, else the XDG state folder)\n"
        "  --anchor FILE         the checkpoint copy that the store must not be behind\n"
        "  --receipt FILE        write how it ended there, as JSON\n"
        "  --policy FILE         the operator's policy\n"
        "  --entry NAME          the manifest's entry, or a file of the folder (default: main)\n"
        "  --name NAME           by which other verbs find the region\n"
        "  --exec PROGRAM        a program instead of a skill; what follows is its own\n"
        "  -v, --volume SRC:DST[:ro|rw]\n"
        "                        a file or folder of the host, read-only unless rw is said\n"
        "  -e, --env NAME[=VALUE]\n"
        "                        a variable of the environment; NAME alone passes the caller's on\n"
        "  -w, --workdir DIR     working folder in the region (default: /work)\n"
        "  --memory SIZE         of the whole process tree, with its scratch\n"
        "  --timeout TIME        wall time, or none; then it ends with 124\n"
        "  --cpu-time TIME       of the whole process tree, or none (default: 30s, or --timeout's)\n"
        "  --idle TIME           end it with 124 when for so long it neither reads, writes nor computes\n"
        "  --pids-limit N        processes and threads\n"
        "  --nofile N            open files of each process\n"
        "  --file-size SIZE      the largest file\n"
        "  --scratch SIZE        /work and /tmp together\n"
        "  --output-limit SIZE   standard output and error together, or none\n"
        "  --network MODE        none, private or host (default: none)\n"
        "  --connect HOST:PORT   allow TCP connections to this address\n"
        "  --tier TIER           namespaces or landlock: exactly this one\n"
        "  --proc                give the region a /proc of its own processes\n"
        "  --discipline NAME     zero, multipass, multipass:N or none: how its memory is overwritten\n"
        "  --socket PATH         where 'lethe serve' is looked for\n"
        "  --no-serve            do not look for it\n"
        "  --foreign             run DIR although another user can change it (no daemon runs it then)\n"
        "  --promote             promote the notes that it kept when it has ended, as 'lethe promote' would\n"
        "  --dry-run             print the effective policy and run nothing\n"
        "  --json                with --dry-run: as JSON\n"
        "  --quiet               say nothing but errors\n"
        "  --verbose             say a line also when all went well, and what the skill logs\n"
        "  -h, --help            this text\n";

/* Those that request_option() knows have the value OPTION_POLICY; its name is the long one. */
enum { OPTION_POLICY = 256, OPTION_STORE, OPTION_ANCHOR, OPTION_RECEIPT, OPTION_POLICY_FILE, OPTION_EXEC, OPTION_DRY_RUN, OPTION_JSON,
       OPTION_QUIET, OPTION_VERBOSE, OPTION_CPUS, OPTION_SOCKET, OPTION_NO_SERVE, OPTION_PROMOTE, OPTION_FOREIGN };

static const struct option options[] = {
        {"store", required_argument, NULL, OPTION_STORE},
        {"anchor", required_argument, NULL, OPTION_ANCHOR},
        {"receipt", required_argument, NULL, OPTION_RECEIPT},
        {"policy", required_argument, NULL, OPTION_POLICY_FILE},
        {"exec", required_argument, NULL, OPTION_EXEC},
        {"promote", no_argument, NULL, OPTION_PROMOTE},
        {"dry-run", no_argument, NULL, OPTION_DRY_RUN},
        {"json", no_argument, NULL, OPTION_JSON},
        {"quiet", no_argument, NULL, OPTION_QUIET},
        {"verbose", no_argument, NULL, OPTION_VERBOSE},
        {"cpus", required_argument, NULL, OPTION_CPUS},
        {"socket", required_argument, NULL, OPTION_SOCKET},
        {"no-serve", no_argument, NULL, OPTION_NO_SERVE},
        {"foreign", no_argument, NULL, OPTION_FOREIGN},
        {"help", no_argument, NULL, 'h'},
        {"volume", required_argument, NULL, 'v'},
        {"env", required_argument, NULL, 'e'},
        {"workdir", required_argument, NULL, 'w'},
        {"entry", required_argument, NULL, OPTION_POLICY},
        {"name", required_argument, NULL, OPTION_POLICY},
        {"memory", required_argument, NULL, OPTION_POLICY},
        {"timeout", required_argument, NULL, OPTION_POLICY},
        {"cpu-time", required_argument, NULL, OPTION_POLICY},
        {"idle", required_argument, NULL, OPTION_POLICY},
        {"pids-limit", required_argument, NULL, OPTION_POLICY},
        {"nofile", required_argument, NULL, OPTION_POLICY},
        {"file-size", required_argument, NULL, OPTION_POLICY},
        {"scratch", required_argument, NULL, OPTION_POLICY},
        {"output-limit", required_argument, NULL, OPTION_POLICY},
        {"network", required_argument, NULL, OPTION_POLICY},
        {"connect", required_argument, NULL, OPTION_POLICY},
        {"tier", required_argument, NULL, OPTION_POLICY},
        {"proc", no_argument, NULL, OPTION_POLICY},
        {"discipline", required_argument, NULL, OPTION_POLICY},
        {}};

#define HEAP_BYTES (512 * 1024)
#define AGAIN (-2) /* under the eyes of a process above: it reads what somebody else serves (cli/front.h) */

typedef struct Command {
        SkillRequest ask;
        RunOptions run;
        ServeClient through;
        const char *store, *policy, *exec, *socket;
        char *path;                         /* of the store, owned */
        bool dry_run, json, no_serve;
} Command;

static int refuse(const Command *c, const char *name, bool by_policy, int code, const Diag *d, int e) {
        const char *text = *d->text ? d->text : strerror(e < 0 ? -e : EIO);

        cli_fail("run", code, "%s", text);
        return run_refused(&c->run, name, NULL, by_policy, code, text);
}

/* A wrong command line ran nothing either: 125 and not 2, which is the skill's to end with. */
static int wrong(const Command *c, const char *fmt, ...) _printf_(2, 3);
static int wrong(const Command *c, const char *fmt, ...) {
        char text[sizeof(((Diag *)NULL)->text)];
        va_list ap;

        va_start(ap, fmt);
        vsnprintf(text, sizeof(text), fmt, ap);
        va_end(ap);
        cli_usage("run", "%s", text);
        return run_refused(&c->run, skill_request_name(&c->ask) ?: c->exec, NULL, false, EXIT_LETHE, text);
}

static int refused(const Command *c, const Refusal *r) {
        return r->usage ? wrong(c, "%s", r->why.text) : refuse(c, skill_request_name(&c->ask), r->by_policy, r->code, &r->why, 0);
}

static int request_failed(const Command *c, const char *name, int e, const Diag *d) {
        Refusal r = {.why = *d};

        skill_request_failed(e, &r);
        return r.usage ? wrong(c, "%s", r.why.text) : refuse(c, name, false, r.code, &r.why, 0);
}

/* Options that count before all others are read. The receipt tells of a mistake that stands before it, too: else an earlier run's would be taken for this
 * run's. */
typedef struct Hook {
        const char *receipt, *store, *anchor, *policy, *socket;
        uint64_t usec; /* the run's own time, or 0 */
} Hook;

static Hook look_ahead(int argc, char **argv) {
        Hook f = {};
        int o, index;
        Diag d;

        opterr = 0;
        optind = 0; /* getopt's own state is made anew */
        while (index = -1, (o = getopt_long(argc, argv, "+:hv:e:w:", options, &index)) != -1 && o != OPTION_EXEC) {
                const char **field = o == OPTION_RECEIPT ? &f.receipt : o == OPTION_STORE ? &f.store : o == OPTION_ANCHOR ? &f.anchor
                                     : o == OPTION_POLICY_FILE ? &f.policy : o == OPTION_SOCKET ? &f.socket : NULL;

                if (field)
                        *field = optarg;
                for (size_t i = 0; i < BUDGET_FIELDS && o == OPTION_POLICY && index >= 0 && strcmp(options[index].name, "timeout") == 0; i++)
                        if (strcmp(budget_fields[i].option, "timeout") == 0 && budget_parse(&budget_fields[i], optarg, &f.usec, &d) != 0)
                                f.usec = 0;
        }
        optind = 0;
        return f;
}

/* Returns -1 when the command is complete, else the exit code. */
static int parse(int argc, char **argv, Command *c) {
        const char *traceparent;
        int o, index, e;
        Diag d = {};

        c->run.receipt = look_ahead(argc, argv).receipt;
        if (c->run.receipt && receipt_check(c->run.receipt, &d) < 0)
                return cli_fail("run", EXIT_LETHE, "%s", d.text);
        while (!c->exec && (index = -1, o = getopt_long(argc, argv, "+:hv:e:w:", options, &index)) != -1) {
                const char *name = o == 'v' ? "volume" : o == 'e' ? "env" : o == 'w' ? "workdir" : index >= 0 ? options[index].name : "";

                switch (o) {
                case 'h':
                        fputs(help, stdout);
                        return cli_done("run", EXIT_OK);
                case ':':
                        return wrong(c, "%s lacks its value", argv[optind - 1]);
                case '?':
                        if (optopt && optopt < 256)
                                return wrong(c, "-%c is not one of its options", optopt);
                        return wrong(c, "%s is not one of its options (options of the skill stand behind it)", argv[optind - 1]);
                case OPTION_STORE:
                        c->store = optarg;
                        break;
                case OPTION_ANCHOR:
                        anchor_set_path(optarg);
                        break;
                case OPTION_RECEIPT: /* found before */
                        break;
                case OPTION_POLICY_FILE:
                        c->policy = optarg;
                        break;
                case OPTION_EXEC:
                        c->exec = optarg;
                        break;
                case OPTION_PROMOTE:
                        c->run.promote = true;
                        break;
                case OPTION_DRY_RUN:
                        c->dry_run = true;
                        break;
                case OPTION_JSON:
                        c->json = true;
                        break;
                case OPTION_QUIET:
                        c->run.quiet = true;
                        break;
                case OPTION_VERBOSE:
                        c->run.verbose = true;
                        log_set_level(LOG_LEVEL_DEBUG); /* what the skill says with log and progress */
                        break;
                case OPTION_SOCKET:
                        c->socket = optarg;
                        secrets_set_socket(optarg);
                        break;
                case OPTION_NO_SERVE:
                        c->no_serve = true;
                        break;
                case OPTION_FOREIGN: /* a daemon decides for itself which folders it runs */
                        c->ask.foreign = c->no_serve = true;
                        break;
                case OPTION_CPUS:
                        return wrong(c, "--cpus is not there: a share of processors cannot be promised on every machine; --cpu-time bounds CPU time");
                default:
                        e = request_option(&c->ask.request, name, optarg, &d);
                        if (e != 0)
                                return request_failed(c, NULL, e, &d);
                        serve_client_option(&c->through, name, optarg);
                }
        }
        if (c->json && !c->dry_run)
                return wrong(c, "--json goes with --dry-run; what a run has to tell goes to --receipt FILE");
        c->path = path_of_store(c->store, &d);
        c->through.named_store = c->store || *(getenv("LETHE_STORE") ?: "");
        if (!c->path)
                return wrong(c, "%s", *d.text ? d.text : "out of memory");
        c->ask.request.store_dir = c->dry_run ? NULL : c->path; /* --dry-run changes nothing */
        traceparent = getenv("TRACEPARENT");
        e = traceparent ? trace_take_in(traceparent, &c->ask.request.trace) : 0;
        if (e == -EIO)
                return wrong(c, "no random numbers are to be had");
        if (!c->exec) {
                if (optind >= argc)
                        return wrong(c, "what to run is missing: SKILL, DIR or --exec PROGRAM");
                c->ask.skill = argv[optind++];
                if (!*c->ask.skill)
                        return wrong(c, "SKILL is empty");
                if (optind < argc && strcmp(argv[optind], "--") == 0)
                        optind++;
        }
        c->ask.request.args = argv + optind;
        return -1;
}

static int show(const Command *c, const Grant *g) {
        if (c->json) {
                _cleanup_json_ json_t *o = grant_show_json(g);

                if (!o || json_dumpf(o, stdout, JSON_INDENT(2)) < 0 || putchar('\n') == EOF)
                        return cli_fail("run", EXIT_LETHE, "cannot print the policy");
        } else {
                _cleanup_free_ char *text = grant_show_text(g);

                if (!text || fputs(text, stdout) == EOF)
                        return cli_fail("run", EXIT_LETHE, "cannot print the policy");
        }
        return cli_done("run", EXIT_OK);
}

/* A signal that came before the loop which heeds them: it has ended a wait, and so the run. */
static int signalled(int signals, int code) {
        struct signalfd_siginfo si;

        return code == EXIT_LETHE && read(signals, &si, sizeof(si)) == (ssize_t)sizeof(si) ? 128 + (int)si.ssi_signo : code;
}

static int run_it(Command *c, int signals) {
        _cleanup_store_ Store *store = NULL;
        _cleanup_policy_ Policy *policy = NULL;
        _cleanup_grant_ Grant grant = {};
        Refusal refusal = {};
        Diag d = {};
        int e;

        if (!c->dry_run && !c->policy && !c->no_serve && (e = serve_client_run(&c->through, &c->ask, c->exec, &c->run, c->path, c->socket, signals)) >= 0)
                return e;
        Waiting store_waits = waiting_for("the store", c->path), anchor_waits = anchor_said() ? waiting_for("the anchor", anchor_said()) : (Waiting){};
        if (c->exec && (e = request_exec(&c->ask.request, c->exec, &d)) != 0)
                return quiet_was_remote() ? AGAIN : request_failed(c, c->exec, e, &d);
        store_set_fault_exit(EXIT_LETHE, EXIT_LETHE);
        /* A skill is looked up in the store's registry first, copies are in the store, and what is mounted must not show the store, which is to be there for
         * that. --dry-run changes nothing, and needs no store but for these. */
        e = 0;
        if (c->ask.skill || c->ask.request.n_mounts > 0 || request_exec_lacks_copy(&c->ask.request) || front_is_child())
                e = store_open(c->path, c->dry_run ? STORE_READ : STORE_SUPERVISE, &store, &d);
        if (e != 0 && !(c->dry_run && e == STORE_E_MISSING))
                return refuse(c, skill_request_name(&c->ask), false, EXIT_LETHE, &d, e);
        if (request_exec_lacks_copy(&c->ask.request) && (e = request_exec_copy(&c->ask.request, &d)) != 0)
                return request_failed(c, c->exec, e, &d);
        e = policy_load(c->policy, &policy, &d);
        if (e != 0)
                return refuse(c, skill_request_name(&c->ask), false, EXIT_LETHE, &d, e);
        c->run.policy = policy;
        c->run.recover = recover_all;
        c->ask.alone = true;
        if (!resolve_request(&c->ask, store, policy, c->run.quiet, &grant, &refusal))
                return quiet_was_remote() ? AGAIN : refused(c, &refusal);
        if (c->dry_run)
                return show(c, &grant);
        waiting_over(&anchor_waits);
        waiting_over(&store_waits);
        front_take_streams();
        return run_invocation(&c->run, store, c->path, &grant, signals);
}

static int run(Command *c) {
        _cleanup_close_ int signals = run_take_signals();

        return signals < 0 ? cli_fail("run", EXIT_LETHE, "signals: %s", strerror(-signals)) : signalled(signals, run_it(c, signals));
}

/* A run takes and gives back some hundred kilobytes, once: one heap for all threads, made in one piece and given back by the exit. */
static void set_heap(void) {
        mallopt(M_ARENA_MAX, 1);
        mallopt(M_TOP_PAD, HEAP_BYTES);
        mallopt(M_TRIM_THRESHOLD, 64 * HEAP_BYTES);
        mallopt(M_MMAP_THRESHOLD, HEAP_BYTES);
}

static int run_command(int argc, char **argv) {
        Command c = {};
        int code;

        quiet_begin();
        code = parse(argc, argv, &c);
        if (c.json && c.dry_run) /* else standard output is the program's */
                cli_wants_json();
        if (code < 0)
                code = run(&c);
        request_deinit(&c.ask.request);
        serve_client_deinit(&c.through);
        free(c.path);
        return code;
}

static const char *front_receipt; /* or NULL */

static void refused_in_front(const char *why) {
        run_refused(&(RunOptions){.receipt = front_receipt}, NULL, NULL, false, EXIT_LETHE, why);
}

int cmd_run(int argc, char **argv) {
        const Hook f = look_ahead(argc, argv);
        _cleanup_free_ char *store = path_of_store(f.store, &(Diag){}), *socket = path_of_socket(f.socket, &(Diag){});
        const char *names[] = {store, socket, f.receipt, f.anchor ?: getenv("LETHE_ANCHOR"), f.policy ?: getenv("LETHE_POLICY")};
        bool any;
        int code;

        set_heap();
        quiet_begin();
        if (!front_is_needed(names, ARRAY_SIZE(names), &any)) {
                quiet_read_local_alone(any);
                code = run_command(argc, argv);
                if (code != AGAIN)
                        return code;
                quiet_read_local_alone(false);
        }
        front_receipt = f.receipt;
        return front_run(run_command, argc, argv, f.usec > 0 ? MIN((uint64_t)FRONT_USEC, MAX(f.usec, (uint64_t)FRONT_LEAST_USEC)) : FRONT_USEC,
                         f.receipt ? refused_in_front : NULL);
}
