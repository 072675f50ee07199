/* Runs: CLI. `lethe session`: turns that follow one another and share what was carried (I-84..I-87). A turn is a run:
 * cmd-run.c. */
#include "base/id.h"
#include "base/io.h"
#include "cli/actions.h"
#include "cli/serve-call.h"
#include "cli/session-host.h"
#include "engine/scope.h"
#include "engine/session.h"
#include "recover/recover.h"
#include "request/paths.h"
#include "schema/limits.h"
#include "schema/serve.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <string.h>

static const char help[] =
        "Usage: lethe session open [OPTIONS] SKILL|DIR\n"
        "       lethe session turn [OPTIONS] SESSION [--] [ARGS...]\n"
        "       lethe session carry SESSION SECTION [VALUE|-]\n"
        "       lethe session show SESSION\n"
        "       lethe session list\n"
        "       lethe session close [--erase] SESSION\n\n"
        "A session is a region that lives over many turns of one skill. Each turn runs in a region of its own, with the\n"
        "options, exit code and receipt of 'lethe run'; the next turn finds only what a turn wrote with carry.write.\n"
        "A turn that does not end with 0 leaves the session as before. Turns of a session run one after another.\n"
        "carry prints a section's value, or writes VALUE (JSON), or - for standard input.\n"
        "Without 'lethe serve' a process of its own holds the session; the process ends with its last session.\n\n" HELP_STORE
        "  --policy FILE     with open: the operator's policy\n"
        "  --erase           with close: delete the states and the evidence of the session's loop, too\n"
        "  --socket PATH     where 'lethe serve' is looked for\n" HELP_JSON
        "\nExit status: 0; 1 no such session, or refused; 2 usage; of turn: as lethe run.\n";

static int session_place(ActionArgs *a, HostPlace *ret, char **ret_path) {
        Diag d = {};

        *ret_path = path_of_store(a->o.store, &d);
        if (!*ret_path)
                return cli_usage("session", "%s", *d.text ? d.text : "out of memory");
        *ret = (HostPlace){.store = *ret_path, .anchor = a->o.value[STORE_ANCHOR], .policy = a->o.value['P'],
                           .socket = a->o.value['K']};
        return EXIT_OK;
}

static int session_refused(ActionArgs *a, int e, const Diag *d) {
        return action_refused(a, e == HOST_E_NONE   ? "no_session"
                                 : e == HOST_E_DEAD ? "session_ended"
                                                    : "refused",
                              *d->text ? d->text : store_strerror(e));
}

/* e: of serve_call(). *ret: the result, borrowed from answer. */
static int session_answer(ActionArgs *a, int e, const json_t *answer, const json_t **ret) {
        const json_t *error = json_object_get(answer, "error");

        if (e != 0)
                return action_refused(a, "refused", e == -EPIPE ? "the host of the session has ended" : strerror(-e));
        *ret = json_object_get(answer, "result");
        if (!error)
                return EXIT_OK;
        return action_refused(a, cli_text(json_object_get(error, "data"), "code") ?: "refused",
                              cli_text(error, "message") ?: "refused");
}

static int session_id(const char *id) {
        return region_id_valid(id) ? EXIT_OK
                                   : cli_usage("session", "'%s' is not a session's id (%d characters of 0-9 a-z)", id,
                                               REGION_ID_LEN);
}

static int session_open(ActionArgs *a) {
        _cleanup_free_ char *path = NULL, *policy = NULL;
        _cleanup_json_ json_t *answer = NULL;
        _cleanup_close_ int fd = -1;
        char cwd[PATH_MAX];
        const json_t *result;
        HostPlace p;
        Diag d = {};
        int r = session_place(a, &p, &path);

        if (r != EXIT_OK)
                return r;
        if (!getcwd(cwd, sizeof(cwd)))
                return cli_fail("session", EXIT_NOT, "the working folder: %s", strerror(errno));
        r = session_host_any(&p, &fd, &d);
        if (r != 0)
                return session_refused(a, r, &d);
        if (p.policy)
                policy = io_absolute(p.policy);
        r = serve_call(fd, NULL, "session.open",
                       json_pack("{s:s, s:s, s:s*}", "skill", a->argv[0], "cwd", cwd, "policy", policy), &answer);
        r = session_answer(a, r, answer, &result);
        return r ?: action_tell(a, json_pack("{s:O}", "session", json_object_get(result, "session")), "%s",
                                cli_text(result, "session"));
}

static int session_connect(ActionArgs *a, int *ret, int *ret_e) {
        _cleanup_free_ char *path = NULL;
        HostPlace p;
        Diag d = {};
        int r = session_id(a->argv[0]) ?: session_place(a, &p, &path);

        if (r != EXIT_OK)
                return r;
        *ret_e = session_host_of(&p, a->argv[0], ret, &d);
        return *ret_e == 0 || *ret_e == HOST_E_DEAD ? EXIT_OK : session_refused(a, *ret_e, &d);
}

/* Asks the session's present host; takes params. *ret_dead: no host lives. */
static int session_ask_host(ActionArgs *a, const char *method, json_t *params, json_t **ret_answer, const json_t **ret,
                            bool *ret_dead) {
        _cleanup_json_ json_t *taken = params;
        int r = EXIT_OK;

        for (unsigned i = 0; i < SESSION_HOSTS_TRIED; i++) {
                _cleanup_close_ int fd = -1;
                int e = 0;

                r = session_connect(a, &fd, &e);
                *ret_dead = e == HOST_E_DEAD;
                if (r != EXIT_OK || *ret_dead)
                        return r;
                json_decref(*ret_answer);
                *ret_answer = NULL;
                r = serve_call(fd, NULL, method, json_incref(taken), ret_answer);
                if (r != 0 || -cli_integer(json_object_get(*ret_answer, "error"), "code") != SERVE_E_ELSEWHERE)
                        break;
        }
        return session_answer(a, r, *ret_answer, ret);
}

static int session_carry(ActionArgs *a) {
        _cleanup_json_ json_t *answer = NULL, *value = NULL;
        const json_t *result;
        bool dead;
        int r = action_json(a, "VALUE", a->argc > 2 ? a->argv[2] : NULL, SECTION_BYTES_MAX, &value);

        if (r != EXIT_OK)
                return r;
        r = session_ask_host(a, "session.carry",
                             json_pack("{s:s, s:s, s:O*}", "session", a->argv[0], "section", a->argv[1], "value", value),
                             &answer, &result, &dead);
        if (r == EXIT_OK && dead)
                r = action_refused(a, "session_ended", "the session ended with its host, which died");
        if (r != EXIT_OK)
                return r;
        if (value)
                return action_tell(a, json_pack("{s:s, s:O}", "section", a->argv[1], "version",
                                                json_object_get(result, "version")),
                                   "section %s is at version %" JSON_INTEGER_FORMAT, a->argv[1], cli_integer(result, "version"));
        if (json_is_null(json_object_get(result, "version")))
                return action_refused(a, "no_value", "no value was carried in the section yet");
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:O, s:O}", "section", a->argv[1], "value",
                                                 json_object_get(result, "value"), "version",
                                                 json_object_get(result, "version")));
        return cli_write_json("session", NULL, json_incref(json_object_get(result, "value")));
}

static int session_erase_dead(ActionArgs *a, Store *s) {
        _cleanup_txn_ Txn *t = NULL;
        char scope[SCOPE_NAME_MAX];
        uint64_t seq, records;
        Diag d = {};
        int r = store_begin(s, true, &t, &d);

        snprintf(scope, sizeof(scope), SCOPE_CCS "%s", a->argv[0]);
        if (r == 0)
                r = engine_scope_delete(t, action_who(), scope, "the session has ended", &seq, &records, &d);
        if (r == ENGINE_E_NO_SCOPE)
                return EXIT_OK;
        r = r ?: store_commit(TAKE_PTR(t), &d);
        return r == 0 ? EXIT_OK : action_failed(a, s, r, &d);
}

/* The host died: recovery records the end. */
static int session_close_dead(ActionArgs *a) {
        _cleanup_store_ Store *s = NULL;
        Diag d = {};
        int r = with_store("session", &a->o, STORE_SUPERVISE, &s);

        if (r != EXIT_OK)
                return r;
        r = recover_one(s, a->argv[0], &d);
        if (r != 0 && r != RECOVER_E_NONE)
                return cli_fail("session", EXIT_NOT, "%s", *d.text ? d.text : store_strerror(r));
        return a->o.value['E'] ? session_erase_dead(a, s) : EXIT_OK;
}

static int session_close(ActionArgs *a) {
        _cleanup_json_ json_t *answer = NULL;
        const bool erase = a->o.value['E'];
        const json_t *result;
        bool dead;
        int r = session_ask_host(a, "session.close",
                                 json_pack("{s:s, s:o*}", "session", a->argv[0], "erase", erase ? json_true() : NULL),
                                 &answer, &result, &dead);

        if (r == EXIT_OK && dead)
                r = session_close_dead(a);
        return r ?: action_tell(a, json_pack("{s:s}", "session", a->argv[0]), "session %s is closed%s%s", a->argv[0],
                                dead ? ": its host had died" : "",
                                erase ? "; `lethe compact` removes the erased bytes from the file" : "");
}

static int session_none(ActionArgs *a) {
        Diag d;

        diag(&d, 0, "there is no open session %s: `lethe why --session %s` says how a session ended, `lethe session list` "
             "shows the open ones", a->argv[0], a->argv[0]);
        return action_refused(a, "no_session", d.text);
}

/* A session for people and programs, from its row. host_dead: the session ended with its host, or waits for a new
 * host. */
static json_t *session_show_row(Store *s, const RegionRow *row) {
        json_t *o = json_copied(session_of_row(row));

        if (!o || json_object_set_new(o, "session", json_string(row->region)) < 0 ||
            json_object_set(o, "skill", json_object_get(row->detail, "skill")) < 0 ||
            json_object_set_new(o, "host", json_u64(row->supervisor_pid)) < 0 ||
            (store_lock_is_free(s, row->supervisor_lock) && json_object_set_new(o, "host_dead", json_true()) < 0)) {
                json_decref(o);
                return NULL;
        }
        return o;
}

static int session_show(ActionArgs *a) {
        _cleanup_(region_row_deinit) RegionRow row = {};
        int r = session_id(a->argv[0]) ?: action_begin(a, false);

        if (r != EXIT_OK)
                return r;
        r = engine_region_get(a->t, a->argv[0], &row);
        if (r == ENGINE_E_NO_REGION || (r == 0 && !session_of_row(&row)))
                return session_none(a);
        if (r != 0)
                return with_store_failed("session", a->store, r, &a->d);
        return action_dump(a, session_show_row(a->store, &row));
}

static void session_print(const json_t *o) {
        const bool dead = json_object_get(o, "host_dead"), resumes = json_text_is(json_object_get(o, "on_crash"), "resume");

        printf("%s  %-24s  %6" PRIu64 " turns  %s%s\n", cli_text(o, "session"),
               cli_text(json_object_get(o, "skill"), "name") ?: "?", json_number(o, "turns"), cli_text(o, "turn") ?: "-",
               !dead ? "" : resumes ? "  waits for a host" : "  ended with its host");
}

static int session_list(ActionArgs *a) {
        json_t *list = json_array();
        RegionRow *rows = NULL;
        size_t n = 0;
        int r = action_begin(a, false);

        if (r == EXIT_OK && (r = engine_region_list(a->t, &rows, &n)) != 0)
                r = with_store_failed("session", a->store, r, &a->d);
        for (size_t i = 0; i < n; i++)
                if (session_of_row(&rows[i]))
                        json_array_append_new(list, session_show_row(a->store, &rows[i]));
        region_rows_free(rows, n);
        if (r == EXIT_OK)
                return action_rows(a, json_pack("{s:o}", "sessions", list), "sessions", session_print);
        json_decref(list);
        return r;
}

int cmd_session(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("policy", 'P'), OPTION("socket", 'K'),
                                                OPTION_FLAG("erase", 'E'), {0}};
        static const Action actions[] = {
                {"open", "SKILL|DIR", 1, 1, "PK", session_open, true},
                {"carry", "SESSION SECTION [VALUE|-]", 2, 3, "K", session_carry},
                {"show", "SESSION", 1, 1, "", session_show},
                {"list", "", 0, 0, "", session_list},
                {"close", "SESSION", 1, 1, "KE", session_close},
        };

        if (argc > 1 && strcmp(argv[1], "turn") == 0)
                return cmd_run_turn(argc - 1, argv + 1);
        return actions_main("session", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
