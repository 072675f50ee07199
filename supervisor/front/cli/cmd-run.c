/* Runs: CLI, with the supervisor in it. */
#include "cli/cmd-run.h"

#include "base/io.h"
#include "base/path-lookup.h"
#include "base/watchdog.h"
#include "cli/cmd-apply.h"
#include "cli/cmd-map.h"
#include "cli/front.h"
#include "cli/serve-client-detach.h"
#include "cli/session-host.h"
#include "cli/terminal.h"
#include "recover/recover.h"
#include "request/paths.h"
#include "ledger/anchor.h"
#include "policy/grant.h"

#include <errno.h>
#include <malloc.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEAP_BYTES (512 * 1024)
#define RUN_AGAIN (-2) /* in a child of front.h: the child would read a file that another process serves */

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

static int cmd_run_detached(RunCommand *c, int signals) {
        const char *policy = cmd_run_value(c, RUN_POLICY_FILE), *said = policy ?: getenv("LETHE_POLICY");
        /* a private daemon has another working folder */
        _cleanup_free_ char *path = said && *said ? io_absolute(said) : NULL,
                            *anchor = anchor_said() ? io_absolute(anchor_said()) : NULL;
        const DetachAsked asked = {.alone = policy || cmd_run_value(c, RUN_NO_SERVE),
                                   .interactive = cmd_run_value(c, RUN_INTERACTIVE) || cmd_run_value(c, RUN_TTY),
                                   .remove = cmd_run_value(c, RUN_RM),
                                   .place = {.store = c->path, .anchor = anchor, .policy = path,
                                             .socket = cmd_run_value(c, RUN_SOCKET)}};

        if ((said && *said && !path) || (anchor_said() && !anchor))
                return cli_fail("run", EXIT_LETHE, "%s", strerror(ENOMEM));
        return serve_client_detach(&c->through, &c->ask, c->exec, &c->run, &asked, signals);
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
        if (cmd_run_value(c, RUN_DETACH) && !dry_run)
                return cmd_run_detached(c, signals);
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

bool cmd_run_has_terminal;

static bool cmd_run_wants_terminal(const RunValues *f) {
        return !run_value(f, RUN_NO_TTY) && !run_value(f, RUN_DETACH) &&
               (run_value(f, RUN_TTY) || (terminal_is_in_front() && !cmd_run_may_go_abroad(f)));
}

int cmd_run(int argc, char **argv) {
        RunValues f;
        uint64_t usec;
        bool here;

        if (cli_run_is_turn() || cli_run_is_map() || !terminal_is_there())
                return cmd_run_alone(argc, argv);
        f = cmd_run_look_ahead(argc, argv, &usec, &here);
        if (!cmd_run_wants_terminal(&f))
                return cmd_run_alone(argc, argv);
        cmd_run_has_terminal = true;
        return run_value(&f, RUN_DRY_RUN) ? cmd_run_alone(argc, argv) : terminal_run(cmd_run_alone, argc, argv);
}

int cmd_map(int argc, char **argv) {
        cli_run_as_map();
        return cmd_run(argc, argv);
}

int cmd_run_turn(int argc, char **argv) {
        cli_run_as_turn();
        return cmd_run(argc, argv);
}
