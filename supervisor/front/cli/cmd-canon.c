/* Runs: CLI. */
#include "belief/belief.h"
#include "cli/actions.h"
#include "engine/payload.h"
#include "engine/scope.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe canon list [--scope SCOPE] [--bucket BUCKET] [--state STATE]\n"
        "       lethe canon show BUCKET ID [--scope SCOPE]\n"
        "       lethe canon history BUCKET ID [--scope SCOPE]\n\n"
        "Shared belief: the rows that notes became when they were promoted. list shows them, show one of them,\n"
        "history each change of one with the note that it came from, what else it could have been about, and\n"
        "why it was taken for this. Buckets: plan, constraints, issues, decisions, results, task_state, learnings.\n"
        "Nobody writes here but `lethe promote` and `lethe pending bind`.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --bucket BUCKET   with list: of one bucket\n"
        "  --state STATE     with list: open, resolved, active, invalidated or superseded\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 no such row or scope; 2 usage.\n";

typedef struct Call {
        ActionArgs *a;
        Kind bucket;
        RecordState state;
        json_t *found;
} Call;

static int scope_of(Txn *t, const ActionArgs *a, uint64_t *ret, Diag *reterr) {
        return scope_find(t, a->option['S'] ? a->option['S'] : SCOPE_DEFAULT, ret, reterr);
}

static int bucket_of(const ActionArgs *a, const char *name, Kind *ret) {
        *ret = kind_from_name(name);
        if (kind_class(*ret) != CLASS_CANON)
                return cli_usage(a->verb, "'%s' is not a bucket: plan, constraints, issues, decisions, results, task_state, learnings", name);
        return EXIT_OK;
}

static int do_list(Txn *t, void *user, Diag *reterr) {
        Call *c = user;
        uint64_t scope;
        int r = scope_of(t, c->a, &scope, reterr);

        return r ? r : belief_list(t, scope, c->bucket, c->state, &c->found);
}

static void print_row(const json_t *row) {
        const char *bucket = json_text(json_object_get(row, "bucket"));
        Kind k = kind_from_name(bucket);
        const json_t *payload = json_object_get(row, "payload"), *text = json_object_get(payload, payload_main(k, kind_has_op(k, OP_UPSERT) ? OP_UPSERT : OP_APPEND));

        printf("%-11s %-11s %-32s ", bucket, json_text(json_object_get(row, "state")), json_text(json_object_get(row, "id")));
        if (json_is_string(text))
                print_safe(stdout, json_bytes(text), json_string_length(text));
        putchar('\n');
}

static int list(ActionArgs *a) {
        Call c = {.a = a};
        json_t *row;
        size_t i;
        int r = a->option['B'] ? bucket_of(a, a->option['B'], &c.bucket) : EXIT_OK;

        if (r == EXIT_OK && a->option['T'] && !(c.state = record_state_from_name(a->option['T'])))
                r = cli_usage(a->verb, "--state: '%s' is no state of a row", a->option['T']);
        if (r == EXIT_OK)
                r = action_read(a, do_list, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "rows", c.found));
        json_array_foreach(c.found, i, row)
                print_row(row);
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int do_show(Txn *t, void *user, Diag *reterr) {
        Call *c = user;
        uint64_t scope;
        int r = scope_of(t, c->a, &scope, reterr);

        return r ? r : belief_get(t, scope, c->bucket, c->a->argv[1], &c->found, reterr);
}

static int show(ActionArgs *a) {
        Call c = {.a = a};
        int r = bucket_of(a, a->argv[0], &c.bucket);

        if (r == EXIT_OK)
                r = action_read(a, do_show, &c);
        if (r != EXIT_OK || !a->o.json)
                return r != EXIT_OK ? r : action_dump(a, c.found);
        /* "version" is that of the form, here as everywhere */
        if (json_object_set(c.found, "row_version", json_object_get(c.found, "version")) < 0) {
                json_decref(c.found);
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        }
        return action_print(a, c.found);
}

static int do_history(Txn *t, void *user, Diag *reterr) {
        Call *c = user;
        uint64_t scope;
        int r = scope_of(t, c->a, &scope, reterr);

        return r ? r : belief_history(t, scope, c->bucket, c->a->argv[1], &c->found, reterr);
}

static int history(ActionArgs *a) {
        Call c = {.a = a};
        int r = bucket_of(a, a->argv[0], &c.bucket);

        if (r == EXIT_OK)
                r = action_read(a, do_history, &c);
        return r != EXIT_OK ? r : a->o.json ? action_print(a, json_pack("{s:o}", "changes", c.found)) : action_dump(a, c.found);
}

int cmd_canon(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {"scope", required_argument, NULL, 'S'}, {"bucket", required_argument, NULL, 'B'},
                                                {"state", required_argument, NULL, 'T'}, {0}};
        static const Action actions[] = {
                {"list", "", 0, 0, "SBT", list},
                {"show", "BUCKET ID", 2, 2, "S", show},
                {"history", "BUCKET ID", 2, 2, "S", history},
        };

        return actions_main("canon", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
