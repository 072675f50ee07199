/* Runs: CLI. */
#include "base/clock.h"
#include "cli/actions.h"
#include "record/kind.h"
#include "engine/scope.h"
#include "memory/context.h"
#include "memory/records.h"

#include <errno.h>
#include <getopt.h>
#include <string.h>

#define BELIEF_TEXT_MAX 120 /* bytes of a row */
#define ADVISORY_TEXT_MAX 400

static const char help[] =
        "Usage: lethe context [--scope SCOPE] [--query QUERY] [--lane N] [--json] [--store DIR]\n\n"
        "Serves an agent at the beginning of a turn, in tiers that are never mixed: the active rules of\n"
        "the two kernels (core); shared belief, the rows of governed memory that hold now; and what is advice\n"
        "and no more: lanes of memory, knowledge and skill. Never in it: working state, notes, what is pending,\n"
        "what was archived or removed.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --query QUERY     fills the lanes by what this finds (lethe memory search), not by the newest\n"
        "  --lane N          records of each lane, at most 100 (default: 10)\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 no such scope, or the query is malformed; 2 usage.\n";

typedef struct Call {
        const char *scope, *query;
        unsigned lane;
        json_t *found;
} Call;

static int do_context(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_context(t, c->scope, c->query, c->lane, clock_real_usec(), &c->found, reterr);
}

static void print_line(const char *before, const char *id, const json_t *text) {
        printf("  %s%s%s: ", before, *before ? " " : "", id);
        print_safe(stdout, json_bytes(text), json_string_length(text));
        putchar('\n');
}

static void print_text(const json_t *o) {
        const char *bucket;
        json_t *rows, *row, *lane;
        size_t i, k;

        printf("CORE\n");
        json_array_foreach(json_object_get(o, "core"), i, row)
                print_line(json_text(json_object_get(row, "kernel")), json_text(json_object_get(row, "id")), json_object_get(row, "statement"));
        printf("BELIEF\n");
        json_object_foreach(json_object_get(o, "belief"), bucket, rows)
                json_array_foreach(rows, i, row) {
                        _cleanup_json_ json_t *text = memory_text(json_object_get(row, "payload"), BELIEF_TEXT_MAX);

                        print_line(bucket, json_text(json_object_get(row, "id")), text);
                }
        json_array_foreach(json_object_get(o, "advisory"), k, lane) {
                printf("ADVISORY %s (not truth)\n", json_text(json_object_get(lane, "lane")));
                json_array_foreach(json_object_get(lane, "records"), i, row) {
                        _cleanup_json_ json_t *text = memory_text(json_object_get(row, "payload"), ADVISORY_TEXT_MAX);

                        print_line("", json_text(json_object_get(row, "id")), text);
                }
        }
}

int cmd_context(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,
                                                {"scope", required_argument, NULL, 'S'},
                                                {"query", required_argument, NULL, 'Q'},
                                                {"lane", required_argument, NULL, 'L'},
                                                {0}};
        ActionArgs a = {.verb = "context", .action = "context"};
        Call c = {.scope = SCOPE_DEFAULT, .lane = CONTEXT_LANE_STANDARD};
        uint64_t lane = CONTEXT_LANE_STANDARD;
        int opt, r;

        while ((opt = getopt_long(argc, argv, ":h", options, NULL)) >= 0)
                switch (opt) {
                case 'h':
                        fputs(help, stdout);
                        return cli_done("context", EXIT_OK);
                case 'S':
                        c.scope = optarg;
                        break;
                case 'Q':
                        c.query = optarg;
                        break;
                case 'L':
                        r = cli_number("context", "--lane", optarg, 1, CONTEXT_LANE_MAX, &lane);
                        if (r != EXIT_OK)
                                return r;
                        break;
                default:
                        if (!store_option(&a.o, opt, optarg))
                                return store_option_wrong(argv);
                }
        if (optind < argc)
                return cli_usage("context", "'%s': it takes no argument", argv[optind]);
        c.lane = (unsigned)lane;
        r = action_read(&a, do_context, &c);
        if (r != EXIT_OK)
                return r;
        if (a.o.json)
                return action_print(&a, c.found);
        print_text(c.found);
        json_decref(c.found);
        return cli_done("context", EXIT_OK);
}
