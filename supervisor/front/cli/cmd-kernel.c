/* Runs: CLI. */
#include "cli/actions.h"
#include "engine/scope.h"
#include "memory/ruleset.h"
#include "memory/records.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe kernel status\n"
        "       lethe kernel show agent|world [--at VERSION]\n"
        "       lethe kernel diff agent|world FROM [TO]\n"
        "       lethe kernel patch agent|world PATCH|- --base VERSION\n"
        "       lethe kernel merge agent|world PATCH|- --base VERSION [--resolve JSON]\n"
        "       lethe kernel log agent|world\n\n"
        "The two kernels of a scope: rules that are core truth, which no cleanup touches. They change by a\n"
        "patch over a base version: {\"set\":[{\"id\",\"statement\",\"lifecycle\"}],\"remove\":[\"id\"],\"refs\":[...]}.\n"
        "Where others were faster, patch is refused and says what they changed; merge puts both together,\n"
        "unless both changed the same rule: then it shows the three sides, and --resolve says which is meant.\n"
        "Nothing overwrites by force.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --at VERSION      with show: as it was then\n"
        "  --base VERSION    with patch and merge: which the patch was made for\n"
        "  --resolve JSON    with merge: {\"id\":\"mine\"|\"theirs\"}\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 refused, or a conflict, which is printed; 2 usage.\n";

#define PATCH_MAX (1024 * 1024)

typedef struct Call {
        ActionArgs *a;
        const char *scope;
        Kind kind;
        uint64_t from, to, base;
        bool merge;
        json_t *patch, *resolve, *found, *refs, *conflicts;
        Mutated m;
} Call;

static int begin(ActionArgs *a, Call *ret) {
        *ret = (Call){.a = a, .scope = a->option['S'] ? a->option['S'] : SCOPE_DEFAULT};
        if (a->argc > 0 && !(ret->kind = ruleset_from_name(a->argv[0])))
                return cli_usage(a->verb, "'%s' is neither agent nor world", a->argv[0]);
        return EXIT_OK;
}

/* Versions are counted from 1. */
static int version_number(const ActionArgs *a, const char *what, const char *text, uint64_t *ret) {
        int r = action_number(a, what, text, ret);

        return r == EXIT_OK && *ret == 0 ? cli_usage(a->verb, "%s: '%s': versions are counted from 1", what, text) : r;
}

static int do_status(Txn *t, void *user, Diag *reterr) {
        static const char *const names[] = {"agent", "world"};
        Call *c = user;

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
                if (json_array_append_new(c->found, json_pack("{s:s, s:o, s:i, s:i, s:i}", "kernel", names[i], "kernel_version", json_u64(version), "rules",
                                                              (int)json_array_size(rules), "active", (int)active, "refs", (int)json_array_size(refs))) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static int status(ActionArgs *a) {
        json_t *o;
        size_t i;
        Call c;
        int r = begin(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, do_status, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", c.scope, "kernels", c.found));
        json_array_foreach(c.found, i, o)
                printf("%s  version %lld  %lld rules, %lld active, %lld refs\n", json_text(json_object_get(o, "kernel")),
                       json_integer_value(json_object_get(o, "kernel_version")), json_integer_value(json_object_get(o, "rules")),
                       json_integer_value(json_object_get(o, "active")), json_integer_value(json_object_get(o, "refs")));
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int do_show(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return ruleset_rules(t, c->scope, c->kind, c->from, &c->found, &c->refs, &c->to, reterr);
}

static int show(ActionArgs *a) {
        Call c;
        int r = begin(a, &c);
        json_t *o;

        if (r == EXIT_OK && a->option['A'])
                r = version_number(a, "--at", a->option['A'], &c.from);
        if (r == EXIT_OK)
                r = action_read(a, do_show, &c);
        if (r != EXIT_OK)
                return r;
        o = json_pack("{s:s, s:s, s:o, s:o, s:o}", "scope", c.scope, "kernel", kind_name(c.kind), "kernel_version", json_u64(c.to), "rules", c.found, "refs",
                      c.refs);
        return a->o.json ? action_print(a, o) : action_dump(a, o);
}

static int do_diff(Txn *t, void *user, Diag *reterr) {
        _cleanup_json_ json_t *from = NULL, *to = NULL;
        Call *c = user;
        uint64_t version;
        int r = ruleset_rules(t, c->scope, c->kind, c->from, &from, NULL, &version, reterr);

        if (r == 0)
                r = ruleset_rules(t, c->scope, c->kind, c->to, &to, NULL, &c->to, reterr);
        return r == 0 ? ruleset_diff(from, to, &c->found) : r;
}

static int diff(ActionArgs *a) {
        Call c;
        int r = begin(a, &c);

        if (r == EXIT_OK)
                r = version_number(a, "FROM", a->argv[1], &c.from);
        if (r == EXIT_OK && a->argc > 2)
                r = version_number(a, "TO", a->argv[2], &c.to);
        if (r == EXIT_OK)
                r = action_read(a, do_diff, &c);
        if (r != EXIT_OK)
                return r;
        if (!a->o.json)
                return action_dump(a, c.found);
        return action_print(a, json_pack("{s:o, s:o, s:o}", "from", json_u64(c.from), "to", json_u64(c.to), "changes", c.found));
}

static int do_patch(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        int r = ruleset_patch(t, &(RulesetPatch){.scope = c->scope, .kind = c->kind, .base = c->base, .patch = c->patch, .merge = c->merge,
                                               .resolve = c->resolve, .who = action_who()}, &c->m, &c->conflicts, reterr);

        if (c->conflicts && !(c->a->more = json_pack("{s:s, s:O}", "kernel", kind_name(c->kind), "conflicts", c->conflicts)))
                return -ENOMEM;
        return r;
}

static int commit(ActionArgs *a, bool merge) {
        Call c;
        int r = begin(a, &c);

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
                r = action_write(a, do_patch, &c);
        json_decref(c.patch);
        json_decref(c.resolve);
        if (c.conflicts && !a->o.json) /* what was in the way is the answer */
                action_dump(a, json_incref(c.conflicts));
        json_decref(c.conflicts);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o, s:o}", "kernel", kind_name(c.kind), "kernel_version", json_u64(c.m.version), "seq",
                                                 json_u64(c.m.seq)));
        printf("%s is at version %" PRIu64 " (seq %" PRIu64 ")\n", kind_name(c.kind), c.m.version, c.m.seq);
        return cli_done(a->verb, EXIT_OK);
}

static int patch(ActionArgs *a) {
        return commit(a, false);
}

static int merge(ActionArgs *a) {
        return commit(a, true);
}

static int do_log(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return ruleset_log(t, c->scope, c->kind, &c->found, reterr);
}

static int show_log(ActionArgs *a) {
        Call c;
        int r = begin(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, do_log, &c);
        if (r != EXIT_OK)
                return r;
        return a->o.json ? action_print(a, json_pack("{s:s, s:o}", "kernel", kind_name(c.kind), "log", c.found)) : action_dump(a, c.found);
}

int cmd_kernel(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,
                                                {"scope", required_argument, NULL, 'S'},
                                                {"at", required_argument, NULL, 'A'},
                                                {"base", required_argument, NULL, 'B'},
                                                {"resolve", required_argument, NULL, 'R'},
                                                {0}};
        static const Action actions[] = {
                {"status", "", 0, 0, "S", status},
                {"show", "agent or world", 1, 1, "SA", show},
                {"diff", "agent or world, FROM and maybe TO", 2, 3, "S", diff},
                {"patch", "agent or world, and PATCH|-", 2, 2, "SB", patch},
                {"merge", "agent or world, and PATCH|-", 2, 2, "SBR", merge},
                {"log", "agent or world", 1, 1, "S", show_log},
        };

        return actions_main("kernel", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
