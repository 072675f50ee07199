/* Runs: CLI. */
#include "belief/promote.h"
#include "cli/actions.h"
#include "engine/scope.h"
#include "engine/wait.h"
#include "region/region-key.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe pending list [--scope SCOPE] [--all]\n"
        "       lethe pending show ID\n"
        "       lethe pending retry [--scope SCOPE] [--most N]\n"
        "       lethe pending bind ID TARGET\n"
        "       lethe pending drop ID --reason TEXT\n\n"
        "Requests for changes that could not be decided yet: their row is not clear. After each change they are\n"
        "looked at again when it touches them; after 20 attempts an item is stuck, and stays here. retry looks at\n"
        "all open ones now. bind says which row an item is about, drop that it is about none: a person decides,\n"
        "and the ledger says who.\n\n" HELP_STORE
        "  --scope SCOPE     with list and retry: of one scope (default: all)\n"
        "  --all             with list: also those that were resolved or dropped\n"
        "  --most N          with retry: at most N, oldest first\n"
        "  --reason TEXT     with drop\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 refused, or no such item; 2 usage.\n";

typedef struct Call {
        ActionArgs *a;
        uint64_t id, most, seq;
        Retried retried;
        json_t *found;
        Applied applied;
} Call;

static int scope_of(Txn *t, const ActionArgs *a, uint64_t *ret, Diag *reterr) {
        *ret = 0;
        return a->option['S'] ? scope_find(t, a->option['S'], ret, reterr) : 0;
}

static int do_list(Txn *t, void *user, Diag *reterr) {
        uint64_t scope, from = 0;
        Call *c = user;
        Wait w;
        int r = scope_of(t, c->a, &scope, reterr);

        for (; r == 0 && (r = wait_next(t, from, scope, 0, &w)) == 0; from = w.id + 1) {
                json_t *o = NULL;

                if (!c->a->option['L'] && w.state != WAIT_OPEN && w.state != WAIT_STUCK)
                        continue;
                r = wait_show(t, &w, &o);
                if (r == 0 && json_array_append_new(c->found, o) < 0)
                        r = -ENOMEM;
        }
        return r == -ENOENT ? 0 : r;
}

static int list(ActionArgs *a) {
        _cleanup_json_ json_t *items = json_array();
        Call c = {.a = a, .found = items};
        json_t *o;
        size_t i;
        int r = items ? action_read(a, do_list, &c) : cli_fail(a->verb, EXIT_NOT, "%s", strerror(ENOMEM));

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:O}", "items", items));
        json_array_foreach(items, i, o) {
                const json_t *note = json_object_get(o, "note");

                printf("%8" JSON_INTEGER_FORMAT " %-8s %-11s %-10s %-13s %2" JSON_INTEGER_FORMAT "  ", json_integer_value(json_object_get(o, "pending")),
                       json_text(json_object_get(o, "state")), json_text(json_object_get(o, "kind")),
                       json_text(json_object_get(o, "operation")), json_text(json_object_get(o, "reason")),
                       json_integer_value(json_object_get(o, "attempts")));
                print_safe(stdout, json_bytes(note), json_string_length(note));
                putchar('\n');
        }
        return cli_done(a->verb, EXIT_OK);
}

static int no_item(uint64_t id, Diag *reterr) {
        return diag(reterr, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, id);
}

static int do_show(Txn *t, void *user, Diag *reterr) {
        Call *c = user;
        Wait w;
        int r = wait_get(t, c->id, &w);

        return r == -ENOENT ? no_item(c->id, reterr) : r < 0 ? r : wait_show(t, &w, &c->found);
}

static int show(ActionArgs *a) {
        Call c = {.a = a};
        int r = action_number(a, "ID", a->argv[0], &c.id);

        if (r == EXIT_OK)
                r = action_read(a, do_show, &c);
        return r != EXIT_OK ? r : a->o.json ? action_print(a, c.found) : action_dump(a, c.found);
}

/* A person, by the thresholds that are built in. */
static Trying by_person(void) {
        static const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;

        return (Trying){.policy = &policy, .who = action_who(), .keys = &region_keys};
}

static int do_retry(Txn *t, void *user, Diag *reterr) {
        Call *c = user;
        const Trying by = by_person();
        uint64_t scope;
        int r = scope_of(t, c->a, &scope, reterr);

        return r ? r : belief_retry(t, scope, c->most, &by, &c->retried, reterr);
}

static int retry(ActionArgs *a) {
        Call c = {.a = a};
        int r = a->option['M'] ? action_number(a, "--most", a->option['M'], &c.most) : EXIT_OK;

        if (r == EXIT_OK && a->option['M'] && c.most == 0) /* which is how all of them are asked for, below */
                r = cli_usage(a->verb, "--most: '%s' is not a number from 1", a->option['M']);
        if (r == EXIT_OK)
                r = action_write(a, do_retry, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o, s:o, s:o}", "tried", json_u64(c.retried.tried), "resolved", json_u64(c.retried.resolved), "damaged",
                                                 json_u64(c.retried.damaged)));
        printf("%" PRIu64 " looked at, %" PRIu64 " resolved\n", c.retried.tried, c.retried.resolved);
        if (c.retried.damaged)
                printf("%" PRIu64 " cannot be decided, as they or rows that they may be about cannot be read: `lethe verify` says what is damaged\n",
                       c.retried.damaged);
        return cli_done(a->verb, EXIT_OK);
}

static int do_bind(Txn *t, void *user, Diag *reterr) {
        const Trying by = by_person();
        Call *c = user;

        return belief_bind(t, c->id, c->a->argv[1], &by, &c->applied, reterr);
}

static int bind_to(ActionArgs *a) {
        Call c = {.a = a};
        int r = action_number(a, "ID", a->argv[0], &c.id);

        if (r == EXIT_OK)
                r = action_write(a, do_bind, &c);
        if (r == EXIT_OK && c.applied.outcome != NOTE_COMMITTED)
                r = action_refused(a, c.applied.code, c.applied.why.text);
        else if (r == EXIT_OK && a->o.json)
                r = action_print(a, applied_json(&c.applied));
        else if (r == EXIT_OK) {
                printf("%s %s is %s, event %" PRIu64 "\n", kind_name(c.applied.kind), c.applied.id, record_state_name(c.applied.state), c.applied.seq);
                r = cli_done(a->verb, EXIT_OK);
        }
        applied_deinit(&c.applied);
        return r;
}

static int do_drop(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return engine_wait_drop(t, action_who(), c->id, c->a->option['R'], &c->seq, reterr);
}

static int drop(ActionArgs *a) {
        Call c = {.a = a};
        int r = action_number(a, "ID", a->argv[0], &c.id);

        if (r == EXIT_OK && !a->option['R'])
                r = cli_usage(a->verb, "drop needs --reason TEXT");
        if (r == EXIT_OK)
                r = action_line(a, "--reason", a->option['R']);
        if (r == EXIT_OK)
                r = action_write(a, do_drop, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o, s:o}", "pending", json_u64(c.id), "seq", json_u64(c.seq)));
        printf("dropped, event %" PRIu64 "\n", c.seq);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_pending(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {"scope", required_argument, NULL, 'S'}, {"all", no_argument, NULL, 'L'},
                                                {"most", required_argument, NULL, 'M'}, {"reason", required_argument, NULL, 'R'}, {0}};
        static const Action actions[] = {
                {"list", "", 0, 0, "SL", list},        {"show", "ID", 1, 1, "", show},  {"retry", "", 0, 0, "SM", retry},
                {"bind", "ID TARGET", 2, 2, "", bind_to}, {"drop", "ID", 1, 1, "R", drop},
        };

        return actions_main("pending", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
