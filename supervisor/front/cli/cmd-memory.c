/* Runs: CLI. */
#include "base/clock.h"
#include "base/size.h"
#include "cli/actions.h"
#include "cli/serve-call.h"
#include "engine/delete.h"
#include "engine/mutate.h"
#include "memory/records.h"
#include "memory/refs.h"
#include "request/paths.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const char help[] =
        "Usage: lethe memory save FAMILY PAYLOAD|- [--id ID] [--type TYPE] [--refs JSON] [--expect VERSION]\n"
        "       lethe memory load FAMILY ID [--version VERSION | --at MOMENT]\n"
        "       lethe memory list [FILTER]\n"
        "       lethe memory search QUERY [--limit N]\n"
        "       lethe memory history FAMILY ID\n"
        "       lethe memory view FAMILY ID\n"
        "       lethe memory refs [FAMILY ID [--depth N] [--incoming]]\n"
        "       lethe memory delete FAMILY ID [--cascade] [--reason TEXT] [--check]\n"
        "       lethe memory restore FAMILY ID\n"
        "       lethe memory working get|set|clear [VALUE|-]\n\n"
        "Typed memory: records of memory, knowledge and skill (how a task is done; a saved record makes nothing\n"
        "runnable), in the forms of schema/memory.md. save makes a record or writes a whole new version;\n"
        "load shows the stored record, view the consequences of current references, history each change.\n"
        "delete removes for ever, after a check of the records that depend on the record; restore brings back a\n"
        "record that a digest archived. Working state is of the moment: kept by `lethe serve`, in no file.\n"
        "FILTER and QUERY: fields (kind: type: state: id: ref: created: prefix:), in a query words and \"phrases\".\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --id ID           with save: the record's id; without --id a new record is made\n"
        "  --type TYPE       with save of a memory record: episodic, semantic or observational\n"
        "  --refs JSON       with save: [{\"kind\",\"id\",\"strength\":\"strong\"|\"weak\",\"role\"}], replaces all references\n"
        "  --expect VERSION  with save: only over VERSION; 0: only a new record\n"
        "  --version VERSION with load: an earlier version, until its content is erased\n"
        "  --at MOMENT       with load: as of the number of an event, or a time (2026-11-21T10:29, 7d)\n"
        "  --limit N         with search: at most 100 (default: 20)\n"
        "  --depth N         with refs: records within N steps, 1 to 16\n"
        "  --incoming        with --depth: against the direction of the references\n"
        "  --cascade         with delete: also the records that hold on to the record\n"
        "  --check           with delete: only show the records that depend on the record\n"
        "  --reason TEXT     with delete: why, for the history\n"
        "  --socket PATH     with working: where `lethe serve` listens\n"
        HELP_JSON "\nExit status: 0; 1 refused, or no such record or scope; 2 usage.\n";

typedef int (*MemoryReadFn)(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);

/* Reads the family, the first argument of most actions. */
static int memory_named(ActionArgs *a, Kind *ret) {
        int r = memory_family(a->argv[0], ret, &a->d);

        return r == 0 ? EXIT_OK : action_refused(a, engine_code_name((EngineCode)r), a->d.text);
}

static int memory_save(ActionArgs *a) {
        _cleanup_json_ json_t *payload = NULL, *refs = NULL;
        Mutation m = {.scope = action_scope(a), .op = OP_SAVE, .id = a->o.value['I'], .type = a->o.value['T'],
                      .expect = MUTATION_ANY, .who = action_who()};
        Mutated done = {0};
        int r = memory_named(a, &m.kind)
                        ?: action_number(a, "--expect", a->o.value['E'], &m.expect)
                        ?: action_json(a, "the payload", a->argv[1], MUTATION_BODY_MAX, &payload)
                        ?: action_json(a, "--refs", a->o.value['R'], MUTATION_BODY_MAX, &refs);

        m.payload = payload;
        m.refs = refs;
        r = r ?: action_begin(a, true) ?: action_end(a, engine_mutate(a->t, &m, &done, &a->d));
        return r ?: action_tell(a,
                                json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", "scope", m.scope, "kind", kind_name(m.kind),
                                          "id", done.id, "record_version", json_u64(done.version), "seq",
                                          json_u64(done.seq), "created", (int)done.created),
                                "%s %s is %s, version %" PRIu64 " (seq %" PRIu64 ")", kind_name(m.kind), done.id,
                                done.created ? "created" : "updated", done.version, done.seq);
}

static int memory_bad_query(ActionArgs *a, int r) {
        return r > 0 ? action_refused(a, engine_code_name(ENGINE_E_BAD_QUERY), a->d.text)
                     : cli_fail(a->verb, EXIT_NOT, "%s", strerror(-r));
}

/* Reads with `read`, and prints the result under the name `as`. */
static int memory_show(ActionArgs *a, const char *as, MemoryReadFn read) {
        json_t *found = NULL;
        Kind kind;
        int r = memory_named(a, &kind)
                        ?: action_begin(a, false)
                        ?: action_end(a, read(a->t, action_scope(a), kind, a->argv[1], &found, &a->d));

        return r ?: action_answer(a, as, found);
}

static int memory_read_past(ActionArgs *a, Kind kind, uint64_t version, json_t **ret) {
        uint64_t upto;

        return action_moment(a, a->o.value['M'], &upto)
                       ?: memory_load_past(a->t, action_scope(a), kind, a->argv[1], version, upto, ret, &a->d);
}

static int memory_show_record(ActionArgs *a) {
        uint64_t version = 0;
        json_t *found = NULL;
        Kind kind;
        int r;

        if (!a->o.value['V'] && !a->o.value['M'])
                return memory_show(a, "record", memory_load);
        if (a->o.value['V'] && a->o.value['M'])
                return cli_usage(a->verb, "load takes --version or --at, not both");
        r = memory_named(a, &kind)
                    ?: cli_number(a->verb, "--version", a->o.value['V'], 1, COUNT_MOST, &version)
                    ?: action_begin(a, false) ?: action_end(a, memory_read_past(a, kind, version, &found));
        return r ?: action_answer(a, "record", found);
}

static int memory_show_history(ActionArgs *a) {
        return memory_show(a, "changes", memory_history);
}

static int memory_show_view(ActionArgs *a) {
        return memory_show(a, "view", memory_view);
}

static void memory_print_row(const json_t *o) {
        printf("%-21s %-9s %-32s", cli_text(o, "kind"), cli_text(o, "state"), cli_text(o, "id"));
        cli_print_text(" ", json_object_get(o, "text"));
        action_show_disputes(o);
}

static int memory_print_list(ActionArgs *a) {
        RecordFilter filter = {0};
        json_t *rows = NULL;
        int r = a->argc > 0 ? filter_parse(a->argv[0], strlen(a->argv[0]), clock_real_usec(), &filter, &a->d) : 0;

        if (r != 0)
                return memory_bad_query(a, r);
        r = action_begin(a, false) ?: action_end(a, memory_list(a->t, action_scope(a), &filter, &rows, &a->d));
        return r ?: action_rows(a, json_pack("{s:o}", "records", rows), "records", memory_print_row);
}

static int memory_print_found(ActionArgs *a) {
        _cleanup_query_ MemoryQuery query = QUERY_NULL;
        uint64_t limit = 0;
        json_t *rows = NULL;
        int r = cli_number(a->verb, "--limit", a->o.value['L'], 1, QUERY_LIMIT_MAX, &limit);

        if (r != EXIT_OK)
                return r;
        r = query_parse(a->argv[0], strlen(a->argv[0]), limit, clock_real_usec(), &query, &a->d);
        if (r != 0)
                return memory_bad_query(a, r);
        r = action_begin(a, false) ?: action_end(a, memory_search(a->t, action_scope(a), &query, &rows, &a->d));
        return r ?: action_rows(a, json_pack("{s:o}", "records", rows), "records", memory_print_row);
}

static int memory_read_refs(ActionArgs *a, Kind kind, unsigned depth, json_t **ret) {
        const char *scope = action_scope(a);

        return a->argc == 0 ? memory_broken(a->t, scope, ret, &a->d)
               : depth      ? memory_reach(a->t, scope, kind, a->argv[1], a->o.value['i'], depth, ret, &a->d)
                            : memory_refs(a->t, scope, kind, a->argv[1], ret, &a->d);
}

static int memory_show_refs(ActionArgs *a) {
        Kind kind = KIND_NONE;
        uint64_t depth = 0;
        int r = EXIT_OK;
        json_t *found = NULL;

        if (a->argc == 1)
                return cli_usage(a->verb, "refs takes FAMILY ID, or no argument for all broken references");
        if (a->argc > 0 && kind_class(kind = kind_from_name(a->argv[0])) != CLASS_KERNEL) /* a kernel has references, too */
                r = memory_named(a, &kind);
        r = r ?: action_number(a, "--depth", a->o.value['D'], &depth);
        if (r == EXIT_OK && a->o.value['D'] && (depth == 0 || depth > REFS_DEPTH_MAX))
                return cli_usage(a->verb, "--depth: '%s' is not a number from 1 to %d", a->o.value['D'],
                                 REFS_DEPTH_MAX);
        r = r ?: action_begin(a, false) ?: action_end(a, memory_read_refs(a, kind, (unsigned)depth, &found));
        return r ?: action_answer(a, "refs", found);
}

/* steps; deeper levels are printed as a number, so that a chain of n records takes n lines and not n squared blanks */
#define INDENT_MOST 16

static void memory_print_dependent(const json_t *o) {
        json_int_t depth = cli_integer(o, "depth");

        printf("%*s", (int)(2 * MIN(depth, INDENT_MOST)), "");
        if (depth > INDENT_MOST)
                printf("[%" JSON_INTEGER_FORMAT "] ", depth);
        printf("%s %s (%s, %s)%s\n", cli_text(o, "kind"), cli_text(o, "id"), cli_text(o, "strength"),
               cli_text(o, "state"), json_is_true(json_object_get(o, "holds")) ? "  holds" : "");
}

static int memory_read_dependents(ActionArgs *a, Kind kind, json_t **ret) {
        _cleanup_record_ Record rec = RECORD_NULL;
        int r = memory_find(a->t, action_scope(a), kind, a->argv[1], &rec, &a->d);

        return r ?: memory_dependents(a->t, &rec.key, ret);
}

static int memory_check(ActionArgs *a) {
        json_t *found = NULL;
        Kind kind;
        int r = memory_named(a, &kind)
                        ?: action_begin(a, false) ?: action_end(a, memory_read_dependents(a, kind, &found));

        if (r == EXIT_OK && !a->o.json && json_array_size(found) == 0)
                printf("no record depends on the record\n");
        return r ?: action_rows(a, json_pack("{s:o}", "dependents", found), "dependents", memory_print_dependent);
}

/* *ret: the deleted records; or after a refusal all dependents (M-54). */
static int memory_remove(ActionArgs *a, Kind kind, json_t **ret) {
        const Deletion deletion = {.scope = action_scope(a), .kind = kind, .id = a->argv[1], .cascade = a->o.value['C'],
                                   .reason = a->o.value['W'], .who = action_who()};
        uint64_t scope;
        RecordKey key;
        int r = engine_delete(a->t, &deletion, ret, &a->d), e;

        if (r != ENGINE_E_DEPENDENTS)
                return r;
        e = scope_get(a->t, deletion.scope, &scope);
        if (e == 0) {
                key = record_key_of(scope, kind, deletion.id);
                e = memory_dependents(a->t, &key, ret);
        }
        if (e == 0 && !(a->more = json_pack("{s:O}", "dependents", *ret)))
                e = -ENOMEM;
        return e < 0 ? e : r;
}

static void memory_print_deleted(const json_t *o) {
        printf("%s %s is deleted\n", cli_text(o, "kind"), cli_text(o, "id"));
}

static int memory_delete(ActionArgs *a) {
        _cleanup_json_ json_t *found = NULL;
        json_t *o;
        size_t i;
        Kind kind;
        int r;

        if (a->o.value['K'])
                return memory_check(a);
        r = action_line(a, "--reason", a->o.value['W'])
                    ?: memory_named(a, &kind)
                    ?: action_begin(a, true) ?: action_end(a, memory_remove(a, kind, &found));
        if (r != EXIT_OK && !a->o.json)
                json_array_foreach(found, i, o)
                        memory_print_dependent(o);
        r = r ?: action_rows(a, json_pack("{s:s, s:O}", "scope", action_scope(a), "deleted", found), "deleted",
                             memory_print_deleted);
        if (r != EXIT_OK || a->o.json)
                return r;
        printf("`lethe compact` removes the deleted bytes from the file\n");
        return cli_done(a->verb, EXIT_OK);
}

static int memory_restore(ActionArgs *a) {
        Mutation m = {.scope = action_scope(a), .op = OP_RESTORE, .id = a->argv[1], .expect = MUTATION_ANY,
                      .who = action_who()};
        Mutated done = {0};
        int r = memory_named(a, &m.kind)
                        ?: action_begin(a, true) ?: action_end(a, engine_mutate(a->t, &m, &done, &a->d));

        return r ?: action_tell(a,
                                json_pack("{s:s, s:s, s:s, s:o, s:o}", "scope", m.scope, "kind", kind_name(m.kind),
                                          "id", m.id, "record_version", json_u64(done.version), "seq",
                                          json_u64(done.seq)),
                                "%s %s is active again, version %" PRIu64 " (seq %" PRIu64 ")", kind_name(m.kind), m.id,
                                done.version, done.seq);
}

#define WORKING_VALUE_MAX (64 * 1024)

/* Names the store of the command line in the request: a daemon of another store has another scope with the same
 * name, and refuses. */
static int memory_working_params(ActionArgs *a, const char *value, json_t **ret) {
        _cleanup_free_ char *path = NULL, *real = NULL;
        _cleanup_json_ json_t *v = NULL;
        Diag d = {0};
        int r = action_json(a, "the value", value, WORKING_VALUE_MAX, &v);

        if (r != EXIT_OK)
                return r;
        path = path_of_store(a->o.store, &d);
        if (!path)
                return cli_usage(a->verb, "%s", *d.text ? d.text : "out of memory");
        real = realpath(path, NULL);
        if (!real)
                return cli_refuse(a->verb, EXIT_NOT, "no_store", "store %s: %s", path, strerror(errno));
        *ret = json_pack("{s:s, s:s, s:O*}", "store", real, "scope", action_scope(a), "value", v);
        return *ret ? EXIT_OK : cli_fail(a->verb, EXIT_NOT, "out of memory");
}

static int memory_working_ask(ActionArgs *a, const char *method, json_t *params, json_t **ret) {
        _cleanup_json_ json_t *owned = params;
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -1;
        const json_t *error;
        int r;

        path = path_of_socket(a->o.value['P'], &a->d);
        fd = path ? path_ask(path) : -ENOENT;
        if (fd == -EPERM)
                return cli_refuse(a->verb, EXIT_NOT, "other_user",
                                  "socket %s: another user listens there, whom root does not ask", path);
        if (fd < 0)
                return cli_refuse(a->verb, EXIT_NOT, "no_serve",
                                  "`lethe serve` keeps working state in its memory, and no daemon answers%s%s",
                                  path ? " at " : "", path ? path : "");
        r = serve_call(fd, path, method, TAKE_PTR(owned), ret);
        if (r < 0)
                return cli_fail(a->verb, EXIT_NOT, "lethe serve: %s", strerror(-r));
        error = json_object_get(*ret, "error");
        if (!error)
                return EXIT_OK;
        return action_refused(a, cli_text(json_object_get(error, "data"), "code") ?: "failed",
                              cli_text(error, "message") ?: "lethe serve refused the request");
}

/* The working state of a scope, kept only in a running `lethe serve` (M-9). */
static int memory_working(ActionArgs *a) {
        static const char *const methods[] = {"working.get", "working.set", "working.clear"};
        _cleanup_json_ json_t *answer = NULL;
        json_t *params = NULL, *value;
        const char *method = NULL;
        int r;

        for (size_t i = 0; i < ARRAY_SIZE(methods); i++)
                if (strcmp(strchr(methods[i], '.') + 1, a->argv[0]) == 0)
                        method = methods[i];
        if (!method || (a->argc == 2) != (strcmp(a->argv[0], "set") == 0))
                return cli_usage(a->verb, "working takes get, clear, or set VALUE|-");
        r = memory_working_params(a, a->argc == 2 ? a->argv[1] : NULL, &params)
                    ?: memory_working_ask(a, method, params, &answer);
        if (r != EXIT_OK)
                return r;
        value = json_object_get(json_object_get(answer, "result"), "value");
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:O*}", "scope",
                                                 action_scope(a), "value", value));
        if (strcmp(a->argv[0], "get") == 0)
                print_json(stdout, value);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_memory(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE, OPTION("scope", 'S'), OPTION("id", 'I'),
                                                OPTION("type", 'T'), OPTION("refs", 'R'), OPTION("expect", 'E'),
                                                OPTION("limit", 'L'), OPTION("depth", 'D'),
                                                OPTION_FLAG("incoming", 'i'), OPTION_FLAG("cascade", 'C'),
                                                OPTION_FLAG("check", 'K'), OPTION("reason", 'W'), OPTION("socket", 'P'),
                                                OPTION("version", 'V'), OPTION("at", 'M'), {0}};
        static const Action actions[] = {
                {"save", "FAMILY PAYLOAD|-", 2, 2, "SITRE", memory_save, true},
                {"load", "FAMILY ID", 2, 2, "SVM", memory_show_record},
                {"list", "at most one FILTER", 0, 1, "S", memory_print_list},
                {"search", "QUERY", 1, 1, "SL", memory_print_found},
                {"history", "FAMILY ID", 2, 2, "S", memory_show_history},
                {"view", "FAMILY ID", 2, 2, "S", memory_show_view},
                {"refs", "FAMILY ID, or nothing", 0, 2, "SDi", memory_show_refs},
                {"delete", "FAMILY ID", 2, 2, "SCKW", memory_delete},
                {"restore", "FAMILY ID", 2, 2, "S", memory_restore},
                {"working", "get, clear, or set VALUE|-", 1, 2, "SP", memory_working},
        };

        return actions_main("memory", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
