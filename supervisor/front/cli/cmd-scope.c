/* Runs: CLI. */
#include "cli/actions.h"
#include "engine/scope.h"

#include <inttypes.h>

static const char help[] =
        "Usage: lethe scope create NAME\n"
        "       lethe scope list\n"
        "       lethe scope delete NAME [--reason TEXT]\n\n"
        "Each record belongs to a single scope, and refers only to records of the scope. A scope comes with\n"
        "two empty kernels. delete removes all data of the scope; the ledger keeps the events without their\n"
        "payloads, and a new scope with the same name has nothing of the deleted scope. Scope\n"
        "\"default\" is made by the first write that names no scope.\n\n" HELP_STORE
        "  --reason TEXT     with delete: why, for the ledger\n"
        HELP_JSON "\nExit status: 0; 1 no such scope, or refused; 2 usage.\n";

typedef struct ScopeCall {
        ActionArgs *a;
        uint64_t seq, records;
        json_t *list;
} ScopeCall;

static int scope_create_txn(Txn *t, void *user, Diag *reterr) {
        ScopeCall *c = user;

        return engine_scope_create(t, action_who(), c->a->argv[0], &c->seq, reterr);
}

static int scope_create(ActionArgs *a) {
        ScopeCall c = {.a = a};
        int r = action_write(a, scope_create_txn, &c);

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", a->argv[0], "seq", json_u64(c.seq)));
        printf("scope %s is made (seq %" PRIu64 ")\n", a->argv[0], c.seq);
        return cli_done(a->verb, EXIT_OK);
}

static int scope_list_txn(Txn *t, void *user, Diag *reterr) {
        (void)reterr;
        return scope_list(t, &((ScopeCall *)user)->list);
}

static int cmd_scope_list(ActionArgs *a) {
        ScopeCall c = {.a = a};
        int r = action_read(a, scope_list_txn, &c);
        json_t *o;
        size_t i;

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "scopes", c.list));
        json_array_foreach(c.list, i, o)
                printf("%-32s %s\n", cli_text(o, "scope"), cli_text(o, "time"));
        json_decref(c.list);
        return cli_done(a->verb, EXIT_OK);
}

static int scope_delete_txn(Txn *t, void *user, Diag *reterr) {
        ScopeCall *c = user;

        return engine_scope_delete(t, action_who(), c->a->argv[0], c->a->option['R'], &c->seq, &c->records, reterr);
}

static int scope_delete(ActionArgs *a) {
        ScopeCall c = {.a = a};
        int r = action_line(a, "--reason", a->option['R']);

        if (r == EXIT_OK)
                r = action_write(a, scope_delete_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o, s:o}", "scope", a->argv[0], "seq", json_u64(c.seq),
                                                 "records", json_u64(c.records)));
        printf("scope %s is deleted with %" PRIu64 " records (seq %" PRIu64
               "); `lethe compact` removes the deleted bytes from the file\n",
               a->argv[0], c.records, c.seq);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_scope(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("reason", 'R'), {0}};
        static const Action actions[] = {
                {"create", "NAME", 1, 1, "", scope_create, true},
                {"list", "", 0, 0, "", cmd_scope_list},
                {"delete", "NAME", 1, 1, "R", scope_delete},
        };

        return actions_main("scope", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
