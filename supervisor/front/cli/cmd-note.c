/* Runs: CLI. */
#include "belief/own-notes.h"
#include "cli/actions.h"
#include "engine/scope.h"

#include <errno.h>
#include <inttypes.h>

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

static int note_begin(ActionArgs *a) {
        NoteRun run = {0};
        int r;

        if (!a->o.value['A'])
                return cli_usage(a->verb, "begin needs --agent NAME");
        r = action_begin(a, true) ?: action_end(a, engine_run_begin(a->t, action_who(), NULL, NULL, a->o.value['A'],
                                                                    a->o.value['S'], &run, &a->d));
        return r ?: action_tell(a, json_pack("{s:s, s:s}", "run", run.id, "agent", run.agent), "%s", run.id);
}

static int note_add(ActionArgs *a) {
        _cleanup_free_ char *text = NULL;
        NoteRole role = NOTE_AGENT;
        uint64_t number = 0;
        size_t n;
        int r;

        if (a->o.value['R'] && !(role = note_role_from_name(a->o.value['R'])))
                return cli_usage(a->verb, "--role: '%s' is neither agent nor tool_result", a->o.value['R']);
        r = action_text(a, a->argv[1], NOTE_TEXT_MAX, &text, &n)
                    ?: action_begin(a, true)
                    ?: action_end(a, engine_note_add(a->t, a->argv[0], role, text, n, NULL, &number, &a->d));
        return r ?: action_tell(a, json_pack("{s:s, s:o}", "run", a->argv[0], "note", json_u64(number)),
                                "note %" PRIu64, number);
}

static int note_read_list(Txn *t, const char *id, NoteRun *ret_run, json_t *list, Diag *reterr) {
        _cleanup_note_ Note n = NOTE_NULL;
        int r = engine_run_get(t, id, ret_run, reterr);

        for (uint64_t from = 1; r == 0 && (r = engine_note_next(t, ret_run->id, from, false, &n)) == 0;
             from = n.number + 1) {
                json_t *o = NULL;

                r = own_note_show(&n, &o);
                if (r == 0 && json_array_append_new(list, o) < 0)
                        r = -ENOMEM;
        }
        return r == -ENOENT ? 0 : r;
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
        _cleanup_json_ json_t *list = json_array();
        NoteRun run = {0};
        int r = action_begin(a, false) ?: action_end(a, note_read_list(a->t, a->argv[0], &run, list, &a->d));

        return r ?: action_rows(a, json_pack("{s:s, s:s, s:O}", "run", run.id, "agent", run.agent, "notes", list),
                                "notes", note_print);
}

static int note_read_runs(Txn *t, json_t *list) {
        _cleanup_free_ NoteRun *runs = NULL;
        size_t n;
        int r = engine_run_list(t, &runs, &n);

        for (size_t i = 0; r == 0 && i < n; i++) {
                char scope[SCOPE_NAME_MAX];

                r = scope_name_of(t, runs[i].scope, scope);
                if (r == 0 && json_array_append_new(list, json_pack("{s:s, s:s, s:s, s:o, s:o}", "run", runs[i].id,
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
        _cleanup_json_ json_t *list = json_array();
        int r = action_begin(a, false) ?: action_end(a, note_read_runs(a->t, list));

        return r ?: action_rows(a, json_pack("{s:O}", "runs", list), "runs", note_print_run);
}

static int note_end(ActionArgs *a) {
        uint64_t dropped = 0;
        int r = action_begin(a, true) ?: action_end(a, engine_run_end(a->t, action_who(), NULL, a->argv[0],
                                                                      a->o.value['D'] != NULL, &dropped, &a->d));

        return r ?: action_tell(a, json_pack("{s:s, s:o}", "run", a->argv[0], "dropped", json_u64(dropped)),
                                "ended, %" PRIu64 " dropped", dropped);
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
