/* Runs: CLI. */
#include "belief/belief.h"
#include "cli/actions.h"
#include "engine/erase-row.h"
#include "engine/payload.h"
#include "engine/scope.h"
#include "dispute/settle-dispute.h"
#include "invoke/run.h"
#include "region/region-key.h"

#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe canon list [--scope SCOPE] [--bucket BUCKET] [--state STATE] [--at MOMENT]\n"
        "       lethe canon show BUCKET ID [--scope SCOPE] [--at MOMENT]\n"
        "       lethe canon history BUCKET ID [--scope SCOPE]\n"
        "       lethe canon erase BUCKET ID [--scope SCOPE] [--cascade] [--reason TEXT] [--check]\n"
        "       lethe canon disputes [--scope SCOPE]\n"
        "       lethe canon settle NAME --keep NAME|--both [--reason TEXT] [--scope SCOPE]\n"
        "       lethe canon settle --rule newest|oldest [--scope SCOPE]\n\n"
        "Shared belief: the rows that notes became by promotion. list shows the rows, show a single row,\n"
        "history each change of a row with the note behind the change, the other candidates, and the reason\n"
        "for the choice. Buckets: plan, constraints, issues, decisions, results, task_state, learnings.\n"
        "Only `lethe promote`, `lethe pending bind` and settle write shared belief. erase removes a row for ever: all\n"
        "versions of its text, the notes and pending items behind the row; the history keeps each change without text.\n"
        "disputes lists the pairs of records that say opposite things, also of memory and kernels, each with a\n"
        "proposal: the younger stays. settle --keep ends the records that say the opposite of NAME, or NAME itself\n"
        "if another is kept; --both lets both stay until either is written anew. NAME is FAMILY/ID, or an ID\n"
        "alone. A row is invalidated, a memory record archived, a rule of a kernel superseded.\n\n"
        HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --bucket BUCKET   with list: only rows of the bucket\n"
        "  --state STATE     with list: open, resolved, active, invalidated or superseded\n"
        "  --at MOMENT       with list and show: as of the number of an event, or a time (2026-11-21T10:29, 7d)\n"
        "  --cascade         with erase: also drop and erase the open pending items that may be about the row\n"
        "  --check           with erase: only show these pending items\n"
        "  --reason TEXT     with erase and settle --keep: why, for the history\n"
        "  --keep NAME       with settle: the record that stays\n"
        "  --both            with settle: all stay\n"
        "  --rule RULE       with settle: of each pair the newest or the oldest stays\n"
        HELP_JSON "\nExit status: 0; 1 refused, or no such row, scope or dispute; 2 usage.\n";

static int canon_bucket(const ActionArgs *a, const char *name, Kind *ret) {
        *ret = kind_from_name(name);
        if (kind_class(*ret) != CLASS_CANON)
                return cli_usage(
                        a->verb,
                        "'%s' is not a bucket: plan, constraints, issues, decisions, results, task_state, learnings",
                        name);
        return EXIT_OK;
}

static int canon_read_list(ActionArgs *a, Kind bucket, RecordState state, json_t **ret) {
        uint64_t scope;
        uint64_t upto;
        int r = scope_find(a->t, action_scope(a), &scope, &a->d) ?: action_moment(a, a->o.value['M'], &upto);

        return r ?: belief_list_at(a->t, scope, bucket, state, upto, ret);
}

static void canon_print_row(const json_t *row) {
        const char *bucket = cli_text(row, "bucket");
        Kind k = kind_from_name(bucket);
        const json_t *payload = json_object_get(row, "payload"),
                     *text = json_object_get(payload,
                                             payload_main(k, kind_has_op(k, OP_UPSERT) ? OP_UPSERT : OP_APPEND));

        printf("%-11s %-11s %-32s", bucket, cli_text(row, "state"), cli_text(row, "id"));
        cli_print_text(" ", text);
        action_show_disputes(row);
}

static int canon_list(ActionArgs *a) {
        Kind bucket = KIND_NONE;
        RecordState state = 0;
        json_t *rows = NULL;
        int r = a->o.value['B'] ? canon_bucket(a, a->o.value['B'], &bucket) : EXIT_OK;

        if (r == EXIT_OK && a->o.value['T'] && !(state = record_state_from_name(a->o.value['T'])))
                r = cli_usage(a->verb, "--state: '%s' is no state of a row: open, resolved, active, invalidated, superseded",
                              a->o.value['T']);
        r = r ?: action_begin(a, false) ?: action_end(a, canon_read_list(a, bucket, state, &rows));
        return r ?: action_rows(a, json_pack("{s:o}", "rows", rows), "rows", canon_print_row);
}

typedef int (*CanonReadFn)(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr);

static int canon_read(ActionArgs *a, CanonReadFn read, Kind bucket, json_t **ret) {
        uint64_t scope;
        int r = scope_find(a->t, action_scope(a), &scope, &a->d);

        return r ?: read(a->t, scope, bucket, a->argv[1], ret, &a->d);
}

/* Reads the row, or its history, that the arguments name. */
static int canon_find(ActionArgs *a, CanonReadFn read, json_t **ret) {
        Kind bucket;

        return canon_bucket(a, a->argv[0], &bucket)
                       ?: action_begin(a, false) ?: action_end(a, canon_read(a, read, bucket, ret));
}

static int canon_read_row(ActionArgs *a, Kind bucket, json_t **ret) {
        uint64_t scope, upto;
        int r = scope_find(a->t, action_scope(a), &scope, &a->d) ?: action_moment(a, a->o.value['M'], &upto);

        return r ?: belief_get_at(a->t, scope, bucket, a->argv[1], upto, ret, &a->d);
}

static int canon_show(ActionArgs *a) {
        json_t *row = NULL;
        Kind bucket;
        int r = canon_bucket(a, a->argv[0], &bucket)
                        ?: action_begin(a, false) ?: action_end(a, canon_read_row(a, bucket, &row));

        if (r != EXIT_OK)
                return r;
        /* "version" is the version of the JSON form, as in every answer */
        if (a->o.json && json_object_set(row, "row_version", json_object_get(row, "version")) < 0) {
                json_decref(row);
                return cli_fail(a->verb, EXIT_NOT, "out of memory");
        }
        return action_dump(a, row);
}

static int canon_history(ActionArgs *a) {
        json_t *changes = NULL;

        return canon_find(a, belief_history, &changes) ?: action_answer(a, "changes", changes);
}

static void canon_print_item(const json_t *o) {
        printf("pending %lld (%s, %s %s) may be about the row\n", cli_integer(o, "pending"), cli_text(o, "state"),
               cli_text(o, "operation"), cli_text(o, "reason") ?: "");
}

static int canon_read_items(Txn *t, uint64_t scope, Kind bucket, const char *id, json_t **ret, Diag *reterr) {
        _cleanup_json_ json_t *row = NULL;
        int r = belief_get(t, scope, bucket, id, &row, reterr);
        RecordKey key;

        if (r != 0)
                return r;
        key = record_key_of(scope, bucket, id);
        return engine_row_items(t, &key, ret);
}

static int canon_check(ActionArgs *a) {
        json_t *items = NULL;
        int r = canon_find(a, canon_read_items, &items);

        if (r == EXIT_OK && !a->o.json && json_array_size(items) == 0)
                printf("no open pending item may be about the row\n");
        return r ?: action_rows(a, json_pack("{s:o}", "items", items), "items", canon_print_item);
}

static int canon_erase(ActionArgs *a) {
        RowErasure e = {.scope = action_scope(a), .id = a->argv[1], .cascade = a->o.value['C'],
                        .reason = a->o.value['W'], .who = action_who()};
        json_t *done = NULL;
        size_t items;
        int r;

        if (a->o.value['K'])
                return canon_check(a);
        r = action_line(a, "--reason", a->o.value['W'])
                    ?: canon_bucket(a, a->argv[0], &e.kind)
                    ?: action_begin(a, true) ?: action_end(a, engine_row_erase(a->t, &e, &done, &a->d));
        if (r != EXIT_OK || a->o.json)
                return r ?: action_print(a, done);
        items = json_array_size(json_object_get(done, "items"));
        printf("%s %s is erased (seq %" PRIu64 "): %" PRIu64 " texts of its history, %zu pending item%s, %" PRIu64
               " notes of open runs\n`lethe compact` removes the erased bytes from the file\n", a->argv[0], e.id,
               cli_u64(done, "seq"), cli_u64(done, "erased"), items, items == 1 ? "" : "s", cli_u64(done, "notes"));
        json_decref(done);
        return cli_done(a->verb, EXIT_OK);
}

static int canon_read_disputes(ActionArgs *a, json_t **ret) {
        return dispute_list(a->t, action_scope(a), ret, &a->d);
}

static void canon_print_pair(const json_t *pair) {
        printf("%s  says the opposite of  %s", cli_text(pair, "a"), cli_text(pair, "b"));
        action_show(pair, "keep", "  proposal: keep ");
        putchar('\n');
}

static int canon_disputes(ActionArgs *a) {
        json_t *found = NULL;
        int r = action_begin(a, false) ?: action_end(a, canon_read_disputes(a, &found));

        return r ?: action_rows(a, found, "disputes", canon_print_pair);
}

static void canon_print_settled(const json_t *o) {
        const char *ended = json_text(json_object_get(o, "ended"));

        printf("%s stays, %s %s (seq %" JSON_INTEGER_FORMAT ")\n", cli_text(o, "kept"),
               ended ? ended : cli_text(o, "with"), ended ? "has ended" : "stays, too", cli_integer(o, "seq"));
}

static int canon_settle(ActionArgs *a) {
        _cleanup_policy_ Policy *own = NULL;
        ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;
        const char *rule = a->o.value['R'];
        const Trying by = {.policy = &policy, .who = action_who(), .keys = &region_keys};
        Settlement s = {.scope = action_scope(a), .name = a->argc > 0 ? a->argv[0] : NULL, .keep = a->o.value['P'],
                        .both = a->o.value['O'], .why = a->o.value['W'], .by = &by};
        json_t *found = NULL;
        int r;

        if (rule && strcmp(rule, "newest") != 0 && strcmp(rule, "oldest") != 0)
                return cli_usage(a->verb, "--rule: '%s' is neither newest nor oldest", rule);
        if ((rule != NULL) + (s.keep != NULL) + s.both != 1 || (rule != NULL) == (s.name != NULL))
                return cli_usage(a->verb, "settle takes NAME and one of --keep and --both, or --rule without a name");
        if (s.why && !s.keep)
                return cli_usage(a->verb, "--reason goes with --keep: nothing else ends a record by name");
        r = policy_load(NULL, &own, &a->d);
        if (r != 0)
                return cli_refuse(a->verb, EXIT_NOT, "policy", "%s", r > 0 ? a->d.text : strerror(-r));
        policy = run_resolve_policy(own);
        r = action_line(a, "--reason", s.why) ?: action_begin(a, true);
        if (r == EXIT_OK)
                r = action_end(a, rule ? dispute_settle_by_age(a->t, s.scope, *rule == 'n', &by, &found, &a->d)
                                       : dispute_settle(a->t, &s, &found, &a->d));
        return r ?: action_rows(a, found, "settled", canon_print_settled);
}

int cmd_canon(int argc, char **argv) {
        static const struct option options[] = {
                OPTIONS_STORE,
                OPTION("scope", 'S'),
                OPTION("bucket", 'B'),
                OPTION("state", 'T'),
                OPTION_FLAG("cascade", 'C'),
                OPTION_FLAG("check", 'K'),
                OPTION("reason", 'W'),
                OPTION("at", 'M'),
                OPTION("keep", 'P'),
                OPTION_FLAG("both", 'O'),
                OPTION("rule", 'R'),
                {0}};
        static const Action actions[] = {
                {"list", "", 0, 0, "SBTM", canon_list},
                {"show", "BUCKET ID", 2, 2, "SM", canon_show},
                {"history", "BUCKET ID", 2, 2, "S", canon_history},
                {"erase", "BUCKET ID", 2, 2, "SCKW", canon_erase},
                {"disputes", "", 0, 0, "S", canon_disputes},
                {"settle", "at most one NAME", 0, 1, "SPOWR", canon_settle},
        };

        return actions_main("canon", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
