/* Runs: CLI. */
#include "base/clock.h"
#include "cli/actions.h"
#include "engine/note.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe note begin --agent NAME [--scope SCOPE]\n"
        "       lethe note add RUN TEXT|- [--role agent|tool_result]\n"
        "       lethe note list RUN\n"
        "       lethe note runs\n"
        "       lethe note end RUN [--drop]\n\n"
        "Notes are the working memory of a run of an agent: begin makes a run and prints its id, add puts a\n"
        "note into the run (- reads standard input), list shows the run's notes and their outcomes. Only the\n"
        "run reads its notes; `lethe promote RUN` makes them shared belief. end ends the run and deletes the\n"
        "notes; while some notes have no outcome, end needs --drop.\n\n" HELP_STORE
        "  --agent NAME      with begin: the run's agent\n"
        "  --scope SCOPE     with begin: the scope of the notes (default: default)\n"
        "  --role ROLE       with add: agent (default), or tool_result for a tool's output\n"
        "  --drop            with end: also drop notes without an outcome; the drop is recorded\n"
        HELP_JSON "\nExit status: 0; 1 refused, or no such run; 2 usage.\n";

typedef struct NoteCall {
        ActionArgs *a;
        NoteRun run;
        NoteRole role;
        char *text;
        size_t n;
        uint64_t number;
        json_t *list;
} NoteCall;

static int note_begin_txn(Txn *t, void *user, Diag *reterr) {
        NoteCall *c = user;

        return engine_run_begin(t, action_who(), NULL, NULL, c->a->option['A'], c->a->option['S'], &c->run, reterr);
}

static int note_begin(ActionArgs *a) {
        NoteCall c = {.a = a};
        int r;

        if (!a->option['A'])
                return cli_usage(a->verb, "begin needs --agent NAME");
        r = action_write(a, note_begin_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:s}", "run", c.run.id, "agent", c.run.agent));
        printf("%s\n", c.run.id);
        return cli_done(a->verb, EXIT_OK);
}

static int note_add_txn(Txn *t, void *user, Diag *reterr) {
        NoteCall *c = user;

        return engine_note_add(t, c->a->argv[0], c->role, c->text, c->n, NULL, &c->number, reterr);
}

static int note_add(ActionArgs *a) {
        NoteCall c = {.a = a, .role = NOTE_AGENT};
        int r;

        if (a->option['R'] && !(c.role = note_role_from_name(a->option['R'])))
                return cli_usage(a->verb, "--role: '%s' is neither agent nor tool_result", a->option['R']);
        r = action_text(a, a->argv[1], NOTE_TEXT_MAX, &c.text, &c.n);
        if (r == EXIT_OK)
                r = action_write(a, note_add_txn, &c);
        free(c.text);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "run", a->argv[0], "note", json_u64(c.number)));
        printf("note %" PRIu64 "\n", c.number);
        return cli_done(a->verb, EXIT_OK);
}

static int note_list_txn(Txn *t, void *user, Diag *reterr) {
        NoteCall *c = user;
        _cleanup_note_ Note n = NOTE_NULL;
        int r = engine_run_get(t, c->a->argv[0], &c->run, reterr);

        for (uint64_t from = 1; r == 0 && (r = engine_note_next(t, c->run.id, from, false, &n)) == 0;
             from = n.number + 1) {
                char time[CLOCK_TEXT_MAX];

                json_object_del(n.row, "usec");
                if (json_object_set_new(n.row, "note", json_u64(n.number)) < 0 ||
                    json_object_set_new(n.row, "time", json_string(clock_format(n.usec, time))) < 0 ||
                    (n.outcome == NOTE_UNPROCESSED &&
                     json_object_set_new(n.row, "outcome", json_string(note_outcome_name(n.outcome))) < 0) ||
                    json_array_append(c->list, n.row) < 0)
                        return -ENOMEM;
        }
        return r == -ENOENT ? 0 : r;
}

/* Prints the objects that fn appends to c->list: a line each, or with --json an object with all under `name`, and
 * the run if fn read one. */
static int note_print_list(NoteCall *c, StoreFn fn, const char *name, void (*line)(const json_t *)) {
        _cleanup_json_ json_t *all = c->list = json_array();
        int r = all ? action_read(c->a, fn, c) : cli_fail(c->a->verb, EXIT_NOT, "%s", strerror(ENOMEM));
        json_t *o;
        size_t i;

        if (r != EXIT_OK)
                return r;
        if (c->a->o.json)
                return action_print(c->a, json_pack("{s:s*, s:s*, s:O}", "run", *c->run.id ? c->run.id : NULL, "agent",
                                                    *c->run.agent ? c->run.agent : NULL, name, all));
        json_array_foreach(all, i, o)
                line(o);
        return cli_done(c->a->verb, EXIT_OK);
}

static void note_print(const json_t *o) {
        printf("%4" JSON_INTEGER_FORMAT " ", cli_integer(o, "note"));
        action_show(o, "outcome", "");
        action_show(o, "code", " ");
        action_show(o, "id", " ");
        action_show(o, "text", "  ");
        putchar('\n');
}

static int note_list(ActionArgs *a) {
        return note_print_list(&(NoteCall){.a = a}, note_list_txn, "notes", note_print);
}

static int note_runs_txn(Txn *t, void *user, Diag *reterr) {
        NoteCall *c = user;
        _cleanup_free_ NoteRun *runs = NULL;
        size_t n;
        int r = engine_run_list(t, &runs, &n);

        (void)reterr;
        for (size_t i = 0; r == 0 && i < n; i++) {
                char scope[SCOPE_NAME_MAX];

                r = scope_name_of(t, runs[i].scope, scope);
                if (r == 0 && json_array_append_new(c->list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "run", runs[i].id,
                                                                       "agent", runs[i].agent, "scope", scope, "notes",
                                                                       json_u64(runs[i].notes), "processed",
                                                                       json_u64(runs[i].processed))) < 0)
                        r = -ENOMEM;
        }
        return r;
}

static void note_print_run(const json_t *o) {
        printf("%s  %-16s %-16s %" JSON_INTEGER_FORMAT " notes, %" JSON_INTEGER_FORMAT " looked at\n",
               cli_text(o, "run"), cli_text(o, "agent"), cli_text(o, "scope"), cli_integer(o, "notes"),
               cli_integer(o, "processed"));
}

static int note_runs(ActionArgs *a) {
        return note_print_list(&(NoteCall){.a = a}, note_runs_txn, "runs", note_print_run);
}

static int note_end_txn(Txn *t, void *user, Diag *reterr) {
        NoteCall *c = user;

        return engine_run_end(t, action_who(), NULL, c->a->argv[0], c->a->option['D'] != NULL, &c->number, reterr);
}

static int note_end(ActionArgs *a) {
        NoteCall c = {.a = a};
        int r = action_write(a, note_end_txn, &c);

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "run", a->argv[0], "dropped", json_u64(c.number)));
        printf("ended, %" PRIu64 " dropped\n", c.number);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_note(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,       OPTION("agent", 'A'),     OPTION("scope", 'S'),
                                                OPTION("role", 'R'), OPTION_FLAG("drop", 'D'), {0}};
        static const Action actions[] = {
                {"begin", "", 0, 0, "AS", note_begin, true}, {"add", "RUN TEXT", 2, 2, "R", note_add},
                {"list", "RUN", 1, 1, "", note_list},        {"runs", "", 0, 0, "", note_runs},
                {"end", "RUN", 1, 1, "D", note_end},
        };

        return actions_main("note", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
