/* Runs: CLI. */
#include "belief/promote.h"
#include "cli/actions.h"
#include "engine/scope.h"
#include "engine/wait.h"
#include "region/region-key.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe pending list [--scope SCOPE] [--all]\n"
        "       lethe pending show ID\n"
        "       lethe pending retry [--scope SCOPE] [--most N]\n"
        "       lethe pending bind ID TARGET\n"
        "       lethe pending drop ID --reason TEXT\n\n"
        "Requests for changes without a decision: the row that each request means is not clear. A change that\n"
        "touches a request's row starts a new attempt; after 20 attempts an item is stuck. retry tries all\n"
        "open items now. bind names the row of an item, drop states that no row fits: a person decides, and\n"
        "the ledger records the person.\n\n" HELP_STORE
        "  --scope SCOPE     with list and retry: items of the scope (default: all)\n"
        "  --all             with list: also resolved and dropped items\n"
        "  --most N          with retry: at most N, oldest first\n"
        "  --reason TEXT     with drop\n"
        HELP_JSON "\nExit status: 0; 1 refused, or no such item; 2 usage.\n";

typedef struct PendingCall {
        ActionArgs *a;
        uint64_t id, most, seq;
        Retried retried;
        json_t *found;
        Applied applied;
} PendingCall;

static int pending_scope(Txn *t, const ActionArgs *a, uint64_t *ret, Diag *reterr) {
        *ret = 0;
        return a->option['S'] ? scope_find(t, a->option['S'], ret, reterr) : 0;
}

static int pending_list_txn(Txn *t, void *user, Diag *reterr) {
        uint64_t scope, from = 0;
        PendingCall *c = user;
        Wait w;
        int r = pending_scope(t, c->a, &scope, reterr);

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

static int pending_list(ActionArgs *a) {
        _cleanup_json_ json_t *items = json_array();
        PendingCall c = {.a = a, .found = items};
        json_t *o;
        size_t i;
        int r = items ? action_read(a, pending_list_txn, &c) : cli_fail(a->verb, EXIT_NOT, "%s", strerror(ENOMEM));

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:O}", "items", items));
        json_array_foreach(items, i, o) {
                const json_t *note = json_object_get(o, "note");

                printf("%8" JSON_INTEGER_FORMAT " %-8s %-11s %-10s %-13s %2" JSON_INTEGER_FORMAT "  ",
                       cli_integer(o, "pending"), cli_text(o, "state"), cli_text(o, "kind"), cli_text(o, "operation"),
                       cli_text(o, "reason"), cli_integer(o, "attempts"));
                print_safe(stdout, json_bytes(note), json_string_length(note));
                putchar('\n');
        }
        return cli_done(a->verb, EXIT_OK);
}

static int pending_no_item(uint64_t id, Diag *reterr) {
        return diag(reterr, ENGINE_E_NO_RECORD, "there is no pending item %" PRIu64, id);
}

static int pending_show_txn(Txn *t, void *user, Diag *reterr) {
        PendingCall *c = user;
        Wait w;
        int r = wait_get(t, c->id, &w);

        return r == -ENOENT ? pending_no_item(c->id, reterr) : r < 0 ? r : wait_show(t, &w, &c->found);
}

static int pending_show(ActionArgs *a) {
        PendingCall c = {.a = a};
        int r = action_number(a, "ID", a->argv[0], &c.id);

        if (r == EXIT_OK)
                r = action_read(a, pending_show_txn, &c);
        return r != EXIT_OK ? r : a->o.json ? action_print(a, c.found) : action_dump(a, c.found);
}

/* A decision of a person, with the built-in thresholds. */
static Trying pending_by_person(void) {
        static const ResolvePolicy policy = RESOLVE_POLICY_DEFAULT;

        return (Trying){.policy = &policy, .who = action_who(), .keys = &region_keys};
}

static int pending_retry_txn(Txn *t, void *user, Diag *reterr) {
        PendingCall *c = user;
        const Trying by = pending_by_person();
        uint64_t scope;
        int r = pending_scope(t, c->a, &scope, reterr);

        return r ? r : belief_retry(t, scope, c->most, &by, &c->retried, reterr);
}

static int pending_retry(ActionArgs *a) {
        PendingCall c = {.a = a};
        int r = a->option['M'] ? action_number(a, "--most", a->option['M'], &c.most) : EXIT_OK;

        if (r == EXIT_OK && a->option['M'] && c.most == 0) /* 0 means all items, in belief_retry() */
                r = cli_usage(a->verb, "--most: '%s' is not a number from 1", a->option['M']);
        if (r == EXIT_OK)
                r = action_write(a, pending_retry_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o, s:o, s:o}", "tried", json_u64(c.retried.tried), "resolved",
                                                 json_u64(c.retried.resolved), "damaged", json_u64(c.retried.damaged)));
        printf("%" PRIu64 " looked at, %" PRIu64 " resolved\n", c.retried.tried, c.retried.resolved);
        if (c.retried.damaged)
                printf("%" PRIu64
                       " cannot be decided, because the items or their candidate rows cannot be read: `lethe verify` names the damage\n",
                       c.retried.damaged);
        return cli_done(a->verb, EXIT_OK);
}

static int pending_bind_txn(Txn *t, void *user, Diag *reterr) {
        const Trying by = pending_by_person();
        PendingCall *c = user;

        return belief_bind(t, c->id, c->a->argv[1], &by, &c->applied, reterr);
}

static int pending_bind(ActionArgs *a) {
        PendingCall c = {.a = a};
        int r = action_number(a, "ID", a->argv[0], &c.id);

        if (r == EXIT_OK)
                r = action_write(a, pending_bind_txn, &c);
        if (r == EXIT_OK && c.applied.outcome != NOTE_COMMITTED)
                r = action_refused(a, c.applied.code, c.applied.why.text);
        else if (r == EXIT_OK && a->o.json)
                r = action_print(a, applied_json(&c.applied));
        else if (r == EXIT_OK) {
                printf("%s %s is %s, event %" PRIu64 "\n", kind_name(c.applied.kind), c.applied.id,
                       record_state_name(c.applied.state), c.applied.seq);
                r = cli_done(a->verb, EXIT_OK);
        }
        applied_deinit(&c.applied);
        return r;
}

static int pending_drop_txn(Txn *t, void *user, Diag *reterr) {
        PendingCall *c = user;

        return engine_wait_drop(t, action_who(), c->id, c->a->option['R'], &c->seq, reterr);
}

static int pending_drop(ActionArgs *a) {
        PendingCall c = {.a = a};
        int r = action_number(a, "ID", a->argv[0], &c.id);

        if (r == EXIT_OK && !a->option['R'])
                r = cli_usage(a->verb, "drop needs --reason TEXT");
        if (r == EXIT_OK)
                r = action_line(a, "--reason", a->option['R']);
        if (r == EXIT_OK)
                r = action_write(a, pending_drop_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o, s:o}", "pending", json_u64(c.id), "seq", json_u64(c.seq)));
        printf("dropped, event %" PRIu64 "\n", c.seq);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_pending(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,       OPTION("scope", 'S'),  OPTION_FLAG("all", 'L'),
                                                OPTION("most", 'M'), OPTION("reason", 'R'), {0}};
        static const Action actions[] = {
                {"list", "", 0, 0, "SL", pending_list},   {"show", "ID", 1, 1, "", pending_show},
                {"retry", "", 0, 0, "SM", pending_retry}, {"bind", "ID TARGET", 2, 2, "", pending_bind},
                {"drop", "ID", 1, 1, "R", pending_drop},
        };

        return actions_main("pending", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
