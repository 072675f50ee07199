/* Runs: CLI. */
#include "cli/actions.h"
#include "engine/scope.h"
#include "memory/ruleset.h"
#include "memory/records.h"

#include <errno.h>
#include <inttypes.h>

static const char help[] =
        "Usage: lethe kernel status\n"
        "       lethe kernel show agent|world [--at VERSION]\n"
        "       lethe kernel diff agent|world FROM [TO]\n"
        "       lethe kernel patch agent|world PATCH|- --base VERSION\n"
        "       lethe kernel merge agent|world PATCH|- --base VERSION [--resolve JSON]\n"
        "       lethe kernel log agent|world\n\n"
        "The two kernels of a scope: rules that are core truth; no cleanup touches them. A kernel changes by a\n"
        "patch over a base version: {\"set\":[{\"id\",\"statement\",\"lifecycle\"}],\"remove\":[\"id\"],\"refs\":[...]}.\n"
        "When another patch came first, patch is refused and shows the changes; merge combines both patches,\n"
        "unless both changed the same rule: then merge shows the three sides, and --resolve chooses a side.\n"
        "No change overwrites by force.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --at VERSION      with show: as of VERSION\n"
        "  --base VERSION    with patch and merge: the version that the patch is based on\n"
        "  --resolve JSON    with merge: {\"id\":\"mine\"|\"theirs\"}\n"
        HELP_JSON "\nExit status: 0; 1 refused, or a printed conflict; 2 usage.\n";

#define PATCH_MAX (1024 * 1024)

typedef struct KernelCall {
        ActionArgs *a;
        const char *scope;
        Kind kind;
        uint64_t from, to, base;
        bool merge;
        json_t *patch, *resolve, *found, *refs, *conflicts;
        Mutated m;
} KernelCall;

static int kernel_begin(ActionArgs *a, KernelCall *ret) {
        *ret = (KernelCall){.a = a, .scope = a->option['S'] ? a->option['S'] : SCOPE_DEFAULT};
        if (a->argc > 0 && !(ret->kind = ruleset_from_name(a->argv[0])))
                return cli_usage(a->verb, "'%s' is neither agent nor world", a->argv[0]);
        return EXIT_OK;
}

/* Versions are counted from 1. */
static int kernel_version(const ActionArgs *a, const char *what, const char *text, uint64_t *ret) {
        int r = action_number(a, what, text, ret);

        return r == EXIT_OK && *ret == 0 ? cli_usage(a->verb, "%s: '%s': versions are counted from 1", what, text) : r;
}

static int kernel_status_txn(Txn *t, void *user, Diag *reterr) {
        static const char *const names[] = {"agent", "world"};
        KernelCall *c = user;

        c->found = json_array();
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_json_ json_t *rules = NULL, *refs = NULL;
                json_t *rule;
                uint64_t version;
                size_t n, active = 0;
                int r = ruleset_rules(t, c->scope, ruleset_from_name(names[i]), 0, &rules, &refs, &version, reterr);

                if (r != 0)
                        return r;
                json_array_foreach(rules, n, rule)
                        active += json_text_is(json_object_get(rule, "lifecycle"), "active");
                if (json_array_append_new(c->found,
                                          json_pack("{s:s, s:o, s:i, s:i, s:i}", "kernel", names[i], "kernel_version",
                                                    json_u64(version), "rules", (int)json_array_size(rules), "active",
                                                    (int)active, "refs", (int)json_array_size(refs))) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int kernel_status(ActionArgs *a) {
        json_t *o;
        size_t i;
        KernelCall c;
        int r = kernel_begin(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, kernel_status_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", c.scope, "kernels", c.found));
        json_array_foreach(c.found, i, o)
                printf("%s  version %lld  %lld rules, %lld active, %lld refs\n", cli_text(o, "kernel"),
                       cli_integer(o, "kernel_version"), cli_integer(o, "rules"),
                       cli_integer(o, "active"), cli_integer(o, "refs"));
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int kernel_show_txn(Txn *t, void *user, Diag *reterr) {
        KernelCall *c = user;

        return ruleset_rules(t, c->scope, c->kind, c->from, &c->found, &c->refs, &c->to, reterr);
}

static int kernel_show(ActionArgs *a) {
        KernelCall c;
        int r = kernel_begin(a, &c);
        json_t *o;

        if (r == EXIT_OK && a->option['A'])
                r = kernel_version(a, "--at", a->option['A'], &c.from);
        if (r == EXIT_OK)
                r = action_read(a, kernel_show_txn, &c);
        if (r != EXIT_OK)
                return r;
        o = json_pack("{s:s, s:s, s:o, s:o, s:o}", "scope", c.scope, "kernel", kind_name(c.kind), "kernel_version",
                      json_u64(c.to), "rules", c.found, "refs", c.refs);
        return a->o.json ? action_print(a, o) : action_dump(a, o);
}

static int kernel_diff_txn(Txn *t, void *user, Diag *reterr) {
        _cleanup_json_ json_t *from = NULL, *to = NULL;
        KernelCall *c = user;
        uint64_t version;
        int r = ruleset_rules(t, c->scope, c->kind, c->from, &from, NULL, &version, reterr);

        if (r == 0)
                r = ruleset_rules(t, c->scope, c->kind, c->to, &to, NULL, &c->to, reterr);
        return r == 0 ? ruleset_diff(from, to, &c->found) : r;
}

static int kernel_diff(ActionArgs *a) {
        KernelCall c;
        int r = kernel_begin(a, &c);

        if (r == EXIT_OK)
                r = kernel_version(a, "FROM", a->argv[1], &c.from);
        if (r == EXIT_OK && a->argc > 2)
                r = kernel_version(a, "TO", a->argv[2], &c.to);
        if (r == EXIT_OK)
                r = action_read(a, kernel_diff_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (!a->o.json)
                return action_dump(a, c.found);
        return action_print(
                a, json_pack("{s:o, s:o, s:o}", "from", json_u64(c.from), "to", json_u64(c.to), "changes", c.found));
}

static int kernel_patch_txn(Txn *t, void *user, Diag *reterr) {
        KernelCall *c = user;

        int r = ruleset_patch(t,
                              &(RulesetPatch){.scope = c->scope, .kind = c->kind, .base = c->base, .patch = c->patch,
                                              .merge = c->merge, .resolve = c->resolve, .who = action_who()},
                              &c->m, &c->conflicts, reterr);

        if (c->conflicts &&
            !(c->a->more = json_pack("{s:s, s:O}", "kernel", kind_name(c->kind), "conflicts", c->conflicts)))
                return -ENOMEM;
        return r;
}

static int kernel_commit(ActionArgs *a, bool merge) {
        KernelCall c;
        int r = kernel_begin(a, &c);

        if (r == EXIT_OK && !a->option['B'])
                return cli_usage(a->verb, "%s needs --base VERSION", a->action);
        if (r == EXIT_OK)
                r = action_number(a, "--base", a->option['B'], &c.base);
        if (r == EXIT_OK)
                r = action_json(a, "the patch", a->argv[1], PATCH_MAX, &c.patch);
        if (r == EXIT_OK && a->option['R'])
                r = action_json(a, "--resolve", a->option['R'], PATCH_MAX, &c.resolve);
        c.merge = merge;
        if (r == EXIT_OK)
                r = action_write(a, kernel_patch_txn, &c);
        json_decref(c.patch);
        json_decref(c.resolve);
        if (c.conflicts && !a->o.json) /* the conflicts are the answer */
                action_dump(a, json_incref(c.conflicts));
        json_decref(c.conflicts);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o, s:o}", "kernel", kind_name(c.kind), "kernel_version",
                                                 json_u64(c.m.version), "seq", json_u64(c.m.seq)));
        printf("%s is at version %" PRIu64 " (seq %" PRIu64 ")\n", kind_name(c.kind), c.m.version, c.m.seq);
        return cli_done(a->verb, EXIT_OK);
}

static int kernel_patch(ActionArgs *a) {
        return kernel_commit(a, false);
}

static int kernel_merge(ActionArgs *a) {
        return kernel_commit(a, true);
}

static int kernel_log_txn(Txn *t, void *user, Diag *reterr) {
        KernelCall *c = user;

        return ruleset_log(t, c->scope, c->kind, &c->found, reterr);
}

static int kernel_log(ActionArgs *a) {
        KernelCall c;
        int r = kernel_begin(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, kernel_log_txn, &c);
        if (r != EXIT_OK)
                return r;
        return a->o.json ? action_print(a, json_pack("{s:s, s:o}", "kernel", kind_name(c.kind), "log", c.found))
                         : action_dump(a, c.found);
}

int cmd_kernel(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,       OPTION("scope", 'S'),   OPTION("at", 'A'),
                                                OPTION("base", 'B'), OPTION("resolve", 'R'), {0}};
        static const Action actions[] = {
                {"status", "", 0, 0, "S", kernel_status},
                {"show", "agent or world", 1, 1, "SA", kernel_show},
                {"diff", "agent or world, FROM and maybe TO", 2, 3, "S", kernel_diff},
                {"patch", "agent or world, and PATCH|-", 2, 2, "SB", kernel_patch},
                {"merge", "agent or world, and PATCH|-", 2, 2, "SBR", kernel_merge},
                {"log", "agent or world", 1, 1, "S", kernel_log},
        };

        return actions_main("kernel", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
