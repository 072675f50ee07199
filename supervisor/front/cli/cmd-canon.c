/* Runs: CLI. */
#include "belief/belief.h"
#include "cli/actions.h"
#include "engine/payload.h"
#include "engine/scope.h"

static const char help[] =
        "Usage: lethe canon list [--scope SCOPE] [--bucket BUCKET] [--state STATE]\n"
        "       lethe canon show BUCKET ID [--scope SCOPE]\n"
        "       lethe canon history BUCKET ID [--scope SCOPE]\n\n"
        "Shared belief: the rows that notes became by promotion. list shows the rows, show a single row,\n"
        "history each change of a row with the note behind the change, the other candidates, and the reason\n"
        "for the choice. Buckets: plan, constraints, issues, decisions, results, task_state, learnings.\n"
        "Only `lethe promote` and `lethe pending bind` write shared belief.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --bucket BUCKET   with list: only rows of the bucket\n"
        "  --state STATE     with list: open, resolved, active, invalidated or superseded\n"
        HELP_JSON "\nExit status: 0; 1 no such row or scope; 2 usage.\n";

typedef struct CanonCall {
        ActionArgs *a;
        Kind bucket;
        RecordState state;
        int (*read)(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr);
        json_t *found;
} CanonCall;

static int canon_scope(Txn *t, const ActionArgs *a, uint64_t *ret, Diag *reterr) {
        return scope_find(t, a->option['S'] ? a->option['S'] : SCOPE_DEFAULT, ret, reterr);
}

static int canon_bucket(const ActionArgs *a, const char *name, Kind *ret) {
        *ret = kind_from_name(name);
        if (kind_class(*ret) != CLASS_CANON)
                return cli_usage(
                        a->verb,
                        "'%s' is not a bucket: plan, constraints, issues, decisions, results, task_state, learnings",
                        name);
        return EXIT_OK;
}

static int canon_list_txn(Txn *t, void *user, Diag *reterr) {
        CanonCall *c = user;
        uint64_t scope;
        int r = canon_scope(t, c->a, &scope, reterr);

        return r ? r : belief_list(t, scope, c->bucket, c->state, &c->found);
}

static void canon_print_row(const json_t *row) {
        const char *bucket = cli_text(row, "bucket");
        Kind k = kind_from_name(bucket);
        const json_t *payload = json_object_get(row, "payload"),
                     *text = json_object_get(payload,
                                             payload_main(k, kind_has_op(k, OP_UPSERT) ? OP_UPSERT : OP_APPEND));

        printf("%-11s %-11s %-32s ", bucket, cli_text(row, "state"), cli_text(row, "id"));
        if (json_is_string(text))
                print_safe(stdout, json_bytes(text), json_string_length(text));
        putchar('\n');
}

static int canon_list(ActionArgs *a) {
        CanonCall c = {.a = a};
        json_t *row;
        size_t i;
        int r = a->option['B'] ? canon_bucket(a, a->option['B'], &c.bucket) : EXIT_OK;

        if (r == EXIT_OK && a->option['T'] && !(c.state = record_state_from_name(a->option['T'])))
                r = cli_usage(a->verb, "--state: '%s' is no state of a row", a->option['T']);
        if (r == EXIT_OK)
                r = action_read(a, canon_list_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "rows", c.found));
        json_array_foreach(c.found, i, row)
                canon_print_row(row);
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int canon_read_txn(Txn *t, void *user, Diag *reterr) {
        CanonCall *c = user;
        uint64_t scope;
        int r = canon_scope(t, c->a, &scope, reterr);

        return r ? r : c->read(t, scope, c->bucket, c->a->argv[1], &c->found, reterr);
}

static int canon_show(ActionArgs *a) {
        CanonCall c = {.a = a, .read = belief_get};
        int r = canon_bucket(a, a->argv[0], &c.bucket);

        if (r == EXIT_OK)
                r = action_read(a, canon_read_txn, &c);
        if (r != EXIT_OK || !a->o.json)
                return r != EXIT_OK ? r : action_dump(a, c.found);
        /* "version" is the version of the JSON form, as in every answer */
        if (json_object_set(c.found, "row_version", json_object_get(c.found, "version")) < 0) {
                json_decref(c.found);
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        }
        return action_print(a, c.found);
}

static int canon_history(ActionArgs *a) {
        CanonCall c = {.a = a, .read = belief_history};
        int r = canon_bucket(a, a->argv[0], &c.bucket);

        if (r == EXIT_OK)
                r = action_read(a, canon_read_txn, &c);
        return r == EXIT_OK ? action_answer(a, "changes", c.found) : r;
}

int cmd_canon(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE, OPTION("scope", 'S'), OPTION("bucket", 'B'), OPTION("state", 'T'), {0}};
        static const Action actions[] = {
                {"list", "", 0, 0, "SBT", canon_list},
                {"show", "BUCKET ID", 2, 2, "S", canon_show},
                {"history", "BUCKET ID", 2, 2, "S", canon_history},
        };

        return actions_main("canon", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
