/* Runs: CLI. */
#include "base/clock.h"
#include "cli/actions.h"
#include "memory/context.h"
#include "memory/records.h"
#include "schema/limits.h"

#define BELIEF_TEXT_MAX 120 /* bytes of a row */
#define ADVISORY_TEXT_MAX 400

static const char help[] =
        "Usage: lethe context [--scope SCOPE] [--query QUERY] [--lane N] [--bytes N] [--at MOMENT] [--json] [--store DIR]\n\n"
        "Serves an agent at the beginning of a turn, in tiers that are never mixed: the active rules of\n"
        "the two kernels (core); shared belief, the valid rows of governed memory; and lanes of memory,\n"
        "knowledge and skill, which are only advice. Never served: working state, notes, pending requests,\n"
        "archived and removed records.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --query QUERY     fills the lanes with the results of the query (lethe memory search), not the newest\n"
        "  --lane N          records of each lane, at most 100 (default: 10)\n"
        "  --bytes N         JSON of all rules, rows and records at most, 1024 to 262144 (default: no limit); what has no\n"
        "                    room is named in \"cut\"\n"
        "  --at MOMENT       as of the number of an event, or a time (2026-11-21T10:29, 7d); not with --query\n"
        HELP_JSON "\nExit status: 0; 1 no such scope, or the query is malformed; 2 usage.\n";

static void context_print_line(const char *before, const json_t *row, const json_t *text) {
        printf("  %s%s%s", before, *before ? " " : "", cli_text(row, "id"));
        cli_print_text(": ", text);
        action_show_disputes(row);
}

/* A rule, or a typed statement with its section and triple (M-68). */
static void context_print_rule(const json_t *row) {
        _cleanup_json_ json_t *triple = NULL;

        if (!json_object_get(row, "subject")) {
                context_print_line(cli_text(row, "kernel"), row, json_object_get(row, "statement"));
                return;
        }
        triple = json_sprintf("[%s] %s %s %s", cli_text(row, "section"), cli_text(row, "subject"),
                              cli_text(row, "predicate"), cli_text(row, "object"));
        context_print_line(cli_text(row, "kernel"), row, triple);
}

static void context_print_text(const json_t *o) {
        const char *bucket;
        json_t *rows, *row, *lane, *part;
        size_t i, k;

        printf("CORE\n");
        json_array_foreach(json_object_get(o, "core"), i, row)
                context_print_rule(row);
        printf("BELIEF\n");
        json_object_foreach(json_object_get(o, "belief"), bucket, rows)
                json_array_foreach(rows, i, row) {
                        _cleanup_json_ json_t *text = memory_text(json_object_get(row, "payload"), BELIEF_TEXT_MAX);

                        context_print_line(bucket, row, text);
                }
        json_array_foreach(json_object_get(o, "advisory"), k, lane) {
                printf("ADVISORY %s (not truth)\n", cli_text(lane, "lane"));
                json_array_foreach(json_object_get(lane, "records"), i, row) {
                        _cleanup_json_ json_t *text = memory_text(json_object_get(row, "payload"), ADVISORY_TEXT_MAX);

                        context_print_line("", row, text);
                }
        }
        json_array_foreach(json_object_get(o, "cut"), i, part)
                printf("CUT %s: --bytes has no room for more\n", json_text(part));
}

static int context_read(ActionArgs *a, ContextAsk *ask, json_t **ret) {
        int r = a->o.value['M'] ? action_moment(a, a->o.value['M'], &ask->upto) : 0;

        return r ?: memory_context(a->t, ask, ret, &a->d);
}

int cmd_context(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE,        OPTION("scope", 'S'), OPTION("query", 'Q'), OPTION("lane", 'L'),
                OPTION("bytes", 'B'), OPTION("at", 'M'),    {0}};
        ActionArgs a = {.verb = "context", .action = "context", .o = {.help = help, .no_arguments = true}};
        uint64_t lane = CONTEXT_LANE_STANDARD, bytes = 0;
        ContextAsk ask = {.tiers = CONTEXT_ALL, .bytes = SIZE_MAX, .look = SIZE_MAX,
                          .upto = PAST_NOW};
        json_t *found = NULL;
        int r;

        if (store_options(&a.o, argc, argv, options) < 0)
                return a.o.code;
        r = cli_number("context", "--lane", a.o.value['L'], 1, CONTEXT_LANE_MAX, &lane)
                    ?: cli_number("context", "--bytes", a.o.value['B'], CONTEXT_BYTES_MIN, CONTEXT_BYTES_MAX, &bytes)
                    ?: action_begin(&a, false);
        ask.scope = action_scope(&a);
        ask.query = a.o.value['Q'];
        ask.lane = (unsigned)lane;
        ask.now_usec = clock_real_usec();
        if (a.o.value['B'])
                ask.bytes = (size_t)bytes;
        r = r ?: action_end(&a, context_read(&a, &ask, &found));
        if (r != EXIT_OK || a.o.json)
                return r ?: action_print(&a, found);
        context_print_text(found);
        json_decref(found);
        return cli_done("context", EXIT_OK);
}
