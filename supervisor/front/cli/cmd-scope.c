/* Runs: CLI. */
#include "cli/actions.h"
#include "engine/scope.h"

#include <getopt.h>
#include <inttypes.h>

static const char help[] =
        "Usage: lethe scope create NAME\n"
        "       lethe scope list\n"
        "       lethe scope delete NAME [--reason TEXT]\n\n"
        "Each record belongs to one scope, and refers to records of that scope alone. A scope comes with two\n"
        "kernels, empty. delete removes all that it owns; the ledger keeps the events without their\n"
        "payloads, and the name may be used again for a scope that has nothing of the old one. Scope\n"
        "\"default\" is made by the first write that names none.\n\n" HELP_STORE
        "  --reason TEXT     with delete: why, for the ledger\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 no such scope, or refused; 2 usage.\n";

typedef struct Call {
        ActionArgs *a;
        uint64_t seq, records;
        json_t *list;
} Call;

static int do_create(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return engine_scope_create(t, action_who(), c->a->argv[0], &c->seq, reterr);
}

static int create(ActionArgs *a) {
        Call c = {.a = a};
        int r = action_write(a, do_create, &c);

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", a->argv[0], "seq", json_u64(c.seq)));
        printf("scope %s is made (seq %" PRIu64 ")\n", a->argv[0], c.seq);
        return cli_done(a->verb, EXIT_OK);
}

static int do_list(Txn *t, void *user, Diag *reterr) {
        (void)reterr;
        return scope_list(t, &((Call *)user)->list);
}

static int list(ActionArgs *a) {
        Call c = {.a = a};
        int r = action_read(a, do_list, &c);
        json_t *o;
        size_t i;

        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "scopes", c.list));
        json_array_foreach(c.list, i, o)
                printf("%-32s %s\n", json_text(json_object_get(o, "scope")), json_text(json_object_get(o, "time")));
        json_decref(c.list);
        return cli_done(a->verb, EXIT_OK);
}

static int do_delete(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return engine_scope_delete(t, action_who(), c->a->argv[0], c->a->option['R'], &c->seq, &c->records, reterr);
}

static int delete (ActionArgs *a) {
        Call c = {.a = a};
        int r = action_line(a, "--reason", a->option['R']);

        if (r == EXIT_OK)
                r = action_write(a, do_delete, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o, s:o}", "scope", a->argv[0], "seq", json_u64(c.seq), "records", json_u64(c.records)));
        printf("scope %s is deleted with %" PRIu64 " records (seq %" PRIu64 "); `lethe compact` takes their bytes out of the file\n", a->argv[0], c.records,
               c.seq);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_scope(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, {"reason", required_argument, NULL, 'R'}, {0}};
        static const Action actions[] = {
                {"create", "NAME", 1, 1, "", create, true},
                {"list", "", 0, 0, "", list},
                {"delete", "NAME", 1, 1, "R", delete},
        };

        return actions_main("scope", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
