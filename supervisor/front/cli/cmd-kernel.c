/* Runs: CLI. */
#include "cli/actions.h"
#include "engine/claim.h"
#include "engine/scope.h"
#include "memory/ruleset.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

static const char help[] =
        "Usage: lethe kernel status\n"
        "       lethe kernel show agent|world [--at VERSION] [--section NAME]\n"
        "       lethe kernel diff agent|world FROM [TO]\n"
        "       lethe kernel patch agent|world PATCH|- --base VERSION\n"
        "       lethe kernel merge agent|world PATCH|- --base VERSION [--resolve JSON]\n"
        "       lethe kernel state agent|world ID SUBJECT PREDICATE OBJECT --section NAME --source SOURCE --base VERSION\n"
        "       lethe kernel log agent|world\n\n"
        "The two kernels of a scope: rules that are core truth; no cleanup touches them. A kernel changes by a\n"
        "patch over a base version: {\"set\":[{\"id\",\"statement\",\"lifecycle\"}],\"remove\":[\"id\"],\"refs\":[...]}.\n"
        "When another patch came first, patch is refused and shows the changes; merge combines both patches,\n"
        "unless both changed the same rule: then merge shows the three sides, and --resolve chooses a side.\n"
        "No change overwrites by force.\n"
        "state is a patch that sets one typed statement: what the agent knows of itself or of its world. The SOURCE is\n"
        "KIND/ID of a record or row, or a text.\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --at VERSION      with show: as of VERSION\n"
        "  --section NAME    with state: the statement's section; with show: only that section\n"
        "  --source SOURCE   with state: where it comes from\n"
        "  --base VERSION    with patch, merge and state: the version that the patch is based on\n"
        "  --resolve JSON    with merge: {\"id\":\"mine\"|\"theirs\"}\n"
        HELP_JSON "\nExit status: 0; 1 refused, or a printed conflict; 2 usage.\n";

#define PATCH_MAX (1024 * 1024)

static int kernel_named(const ActionArgs *a, Kind *ret) {
        *ret = ruleset_from_name(a->argv[0]);
        return *ret ? EXIT_OK : cli_usage(a->verb, "'%s' is neither agent nor world", a->argv[0]);
}

/* Versions are counted from 1. NULL leaves *ret. */
static int kernel_version(const ActionArgs *a, const char *what, const char *text, uint64_t *ret) {
        int r = action_number(a, what, text, ret);

        if (r != EXIT_OK || !text || *ret > 0)
                return r;
        return cli_usage(a->verb, "%s: '%s': versions are counted from 1", what, text);
}

static int kernel_read_status(ActionArgs *a, json_t *list) {
        static const char *const names[] = {"agent", "world"};

        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_json_ json_t *rules = NULL, *refs = NULL;
                json_t *rule;
                uint64_t version;
                size_t n, active = 0;
                int r = ruleset_rules(a->t, action_scope(a), ruleset_from_name(names[i]), 0, &rules, &refs, &version,
                                      &a->d);

                if (r != 0)
                        return r;
                json_array_foreach(rules, n, rule)
                        active += json_text_is(json_object_get(rule, "lifecycle"), "active");
                if (json_array_append_new(list,
                                          json_pack("{s:s, s:o, s:i, s:i, s:i}", "kernel", names[i], "kernel_version",
                                                    json_u64(version), "rules", (int)json_array_size(rules), "active",
                                                    (int)active, "refs", (int)json_array_size(refs))) < 0)
                        return -ENOMEM;
        }
        return 0;
}

static void kernel_print(const json_t *o) {
        printf("%s  version %lld  %lld rules, %lld active, %lld refs\n", cli_text(o, "kernel"),
               cli_integer(o, "kernel_version"), cli_integer(o, "rules"), cli_integer(o, "active"),
               cli_integer(o, "refs"));
}

static int kernel_status(ActionArgs *a) {
        _cleanup_json_ json_t *list = json_array();
        int r = action_begin(a, false) ?: action_end(a, kernel_read_status(a, list));

        return r ?: action_rows(a, json_pack("{s:s, s:O}", "scope", action_scope(a), "kernels", list), "kernels",
                                kernel_print);
}

/* Adds "disputed" to the rules of the present version. */
static int kernel_read(ActionArgs *a, Kind kind, uint64_t at, json_t **rules, json_t **refs, uint64_t *version) {
        uint64_t scope, newest = 0;
        _cleanup_json_ json_t *now = NULL;
        json_t *rule;
        size_t i;
        int r = scope_find(a->t, action_scope(a), &scope, &a->d)
                        ?: ruleset_rules(a->t, action_scope(a), kind, at, rules, refs, version, &a->d)
                        ?: ruleset_rules(a->t, action_scope(a), kind, 0, &now, NULL, &newest, &a->d);
        RecordKey key = record_key_of(r == 0 ? scope : 0, kind, RULESET_ID);

        if (r == 0 && *version == newest)
                json_array_foreach(*rules, i, rule)
                        if (r == 0)
                                r = disputes_put_rule(a->t, &key, json_str(rule, "id"), rule);
        return r;
}

static int kernel_show(ActionArgs *a) {
        json_t *rules = NULL, *refs = NULL;
        uint64_t at = 0, version = 0;
        Kind kind;
        const char *section = a->o.value['N'];
        int r = kernel_named(a, &kind)
                        ?: kernel_version(a, "--at", a->o.value['A'], &at)
                        ?: action_begin(a, false)
                        ?: action_end(a, kernel_read(a, kind, at, &rules, &refs, &version));

        for (size_t i = json_array_size(rules); r == EXIT_OK && section && i-- > 0;)
                if (!json_text_is(json_object_get(json_array_get(rules, i), "section"), section))
                        json_array_remove(rules, i);
        return r ?: action_dump(a, json_pack("{s:s, s:s, s:o, s:o, s:o}", "scope", action_scope(a), "kernel",
                                             kind_name(kind), "kernel_version", json_u64(version), "rules", rules,
                                             "refs", refs));
}

/* Compares version `from` with version *to; 0: the current version, whose number is set. */
static int kernel_compare(ActionArgs *a, Kind kind, uint64_t from, uint64_t *to, json_t **ret) {
        _cleanup_json_ json_t *before = NULL, *after = NULL;
        uint64_t version;
        int r = ruleset_rules(a->t, action_scope(a), kind, from, &before, NULL, &version, &a->d)
                        ?: ruleset_rules(a->t, action_scope(a), kind, *to, &after, NULL, to, &a->d);

        return r ?: ruleset_diff(before, after, ret);
}

static int kernel_diff(ActionArgs *a) {
        uint64_t from, to = 0;
        json_t *found = NULL;
        Kind kind;
        int r = kernel_named(a, &kind) ?: kernel_version(a, "FROM", a->argv[1], &from);

        if (r == EXIT_OK && a->argc > 2)
                r = kernel_version(a, "TO", a->argv[2], &to);
        r = r ?: action_begin(a, false) ?: action_end(a, kernel_compare(a, kind, from, &to, &found));
        if (r != EXIT_OK || !a->o.json)
                return r ?: action_dump(a, found);
        return action_print(
                a, json_pack("{s:o, s:o, s:o}", "from", json_u64(from), "to", json_u64(to), "changes", found));
}

/* Takes p->patch from the caller. */
static int kernel_commit(ActionArgs *a, RulesetPatch *p) {
        _cleanup_json_ json_t *conflicts = NULL;
        Mutated m = {0};
        int r = action_begin(a, true);

        if (r == EXIT_OK) {
                int e = ruleset_patch(a->t, p, &m, &conflicts, &a->d);

                if (conflicts &&
                    !(a->more = json_pack("{s:s, s:O}", "kernel", kind_name(p->kind), "conflicts", conflicts)))
                        e = -ENOMEM;
                r = action_end(a, e);
        }
        if (conflicts && !a->o.json) /* the conflicts are the answer */
                action_dump(a, json_incref(conflicts));
        return r ?: action_tell(a,
                                json_pack("{s:s, s:o, s:o}", "kernel", kind_name(p->kind), "kernel_version",
                                          json_u64(m.version), "seq", json_u64(m.seq)),
                                "%s is at version %" PRIu64 " (seq %" PRIu64 ")", kind_name(p->kind), m.version, m.seq);
}

static int kernel_take_base(ActionArgs *a, RulesetPatch *p) {
        int r = kernel_named(a, &p->kind);

        if (r == EXIT_OK && !a->o.value['B'])
                return cli_usage(a->verb, "%s needs --base VERSION", a->action);
        return r ?: action_number(a, "--base", a->o.value['B'], &p->base);
}

/* "patch" and "merge". */
static int kernel_patch(ActionArgs *a) {
        _cleanup_json_ json_t *patch = NULL, *resolve = NULL;
        RulesetPatch p = {.scope = action_scope(a), .merge = *a->action == 'm', .who = action_who()};
        int r = kernel_take_base(a, &p)
                        ?: action_json(a, "the patch", a->argv[1], PATCH_MAX, &patch)
                        ?: action_json(a, "--resolve", a->o.value['R'], PATCH_MAX, &resolve);

        p.patch = patch;
        p.resolve = resolve;
        return r ?: kernel_commit(a, &p);
}

/* "KIND/ID" of a record or row, else words. */
static json_t *kernel_source(const char *text) {
        const char *slash = strchr(text, '/');
        char kind[64];

        if (slash && slash[1]) {
                snprintf(kind, sizeof(kind), "%.*s", (int)MIN((size_t)(slash - text), sizeof(kind) - 1), text);
                if (kind_from_name(kind))
                        return json_pack("{s:s, s:s}", "kind", kind, "id", slash + 1);
        }
        return json_pack("{s:s}", "text", text);
}

/* A patch that sets one typed statement (M-68). */
static int kernel_state(ActionArgs *a) {
        _cleanup_json_ json_t *patch = NULL;
        RulesetPatch p = {.scope = action_scope(a), .who = action_who()};
        int r = kernel_take_base(a, &p);

        if (r == EXIT_OK && !(a->o.value['N'] && a->o.value['C']))
                return cli_usage(a->verb, "state needs --section NAME and --source SOURCE");
        if (r == EXIT_OK) {
                patch = json_pack("{s:[{s:s, s:s, s:s, s:s, s:s, s:s, s:[o]}]}", "set", "id", a->argv[1], "section",
                                  a->o.value['N'], "subject", a->argv[2], "predicate", a->argv[3], "object", a->argv[4],
                                  "lifecycle", "active", "sources", kernel_source(a->o.value['C']));
                if (!patch)
                        return cli_usage(a->verb, "state: an argument is not UTF-8");
        }
        p.patch = patch;
        return r ?: kernel_commit(a, &p);
}

static int kernel_log(ActionArgs *a) {
        json_t *log = NULL;
        Kind kind;
        int r = kernel_named(a, &kind)
                        ?: action_begin(a, false)
                        ?: action_end(a, ruleset_log(a->t, action_scope(a), kind, &log, &a->d));

        if (r != EXIT_OK || !a->o.json)
                return r ?: action_dump(a, log);
        return action_print(a, json_pack("{s:s, s:o}", "kernel", kind_name(kind), "log", log));
}

int cmd_kernel(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,       OPTION("scope", 'S'),   OPTION("at", 'A'),
                                                OPTION("base", 'B'), OPTION("resolve", 'R'),
                                                OPTION("section", 'N'), OPTION("source", 'C'), {0}};
        static const Action actions[] = {
                {"status", "", 0, 0, "S", kernel_status},
                {"show", "agent or world", 1, 1, "SAN", kernel_show},
                {"diff", "agent or world, FROM and maybe TO", 2, 3, "S", kernel_diff},
                {"patch", "agent or world, and PATCH|-", 2, 2, "SB", kernel_patch},
                {"merge", "agent or world, and PATCH|-", 2, 2, "SBR", kernel_patch},
                {"state", "agent or world, ID, SUBJECT, PREDICATE and OBJECT", 5, 5, "SBNC", kernel_state},
                {"log", "agent or world", 1, 1, "S", kernel_log},
        };

        return actions_main("kernel", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
