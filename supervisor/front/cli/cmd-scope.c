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

static int scope_create(ActionArgs *a) {
        uint64_t seq = 0;
        int r = action_begin(a, true) ?: action_end(a, engine_scope_create(a->t, action_who(), a->argv[0], &seq, &a->d));

        return r ?: action_tell(a, json_pack("{s:s, s:o}", "scope", a->argv[0], "seq", json_u64(seq)),
                                "scope %s is made (seq %" PRIu64 ")", a->argv[0], seq);
}

static void scope_print(const json_t *o) {
        printf("%-32s %s\n", cli_text(o, "scope"), cli_text(o, "time"));
}

static int cmd_scope_list(ActionArgs *a) {
        json_t *list = NULL;
        int r = action_begin(a, false) ?: action_end(a, scope_list(a->t, &list));

        return r ?: action_rows(a, json_pack("{s:o}", "scopes", list), "scopes", scope_print);
}

static int scope_delete(ActionArgs *a) {
        uint64_t seq = 0, records = 0;
        int r = action_line(a, "--reason", a->o.value['R'])
                        ?: action_begin(a, true)
                        ?: action_end(a, engine_scope_delete(a->t, action_who(), a->argv[0], a->o.value['R'], &seq,
                                                             &records, &a->d));

        return r ?: action_tell(a,
                                json_pack("{s:s, s:o, s:o}", "scope", a->argv[0], "seq", json_u64(seq), "records",
                                          json_u64(records)),
                                "scope %s is deleted with %" PRIu64 " records (seq %" PRIu64
                                "); `lethe compact` removes the deleted bytes from the file",
                                a->argv[0], records, seq);
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
