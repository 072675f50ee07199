/* Runs: CLI. */
#include "base/clock.h"
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
        "       lethe memory load FAMILY ID\n"
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
        "  --limit N         with search: at most 100 (default: 20)\n"
        "  --depth N         with refs: records within N steps, 1 to 16\n"
        "  --incoming        with --depth: against the direction of the references\n"
        "  --cascade         with delete: also the records that hold on to the record\n"
        "  --check           with delete: only show the records that depend on the record\n"
        "  --reason TEXT     with delete: why, for the history\n"
        "  --socket PATH     with working: where `lethe serve` listens\n"
        HELP_JSON "\nExit status: 0; 1 refused, or no such record or scope; 2 usage.\n";

typedef int (*MemoryReadFn)(Txn *t, const char *scope, Kind kind, const char *id, json_t **ret, Diag *reterr);

typedef struct MemoryCall {
        ActionArgs *a;
        const char *scope, *id;
        Kind kind;
        json_t *payload, *refs, *found;
        MemoryReadFn read;
        uint64_t expect, number;
        Mutated m;
        MemoryQuery query;
        RecordFilter filter;
} MemoryCall;

static const char *cmd_memory_scope(const ActionArgs *a) {
        return a->option['S'] ? a->option['S'] : SCOPE_DEFAULT;
}

/* Reads the family and the id, the first arguments of most actions. */
static int cmd_memory_named(ActionArgs *a, MemoryCall *ret) {
        Diag d = {0};
        int r;

        *ret = (MemoryCall){.a = a, .scope = cmd_memory_scope(a)};
        r = memory_family(a->argv[0], &ret->kind, &d);
        if (r != 0)
                return action_refused(a, engine_code_name((EngineCode)r), d.text);
        ret->id = a->argc > 1 ? a->argv[1] : NULL;
        return EXIT_OK;
}

static int cmd_memory_save_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        return engine_mutate(t,
                             &(Mutation){.scope = c->scope, .kind = c->kind, .op = OP_SAVE, .id = c->a->option['I'],
                                         .type = c->a->option['T'], .expect = c->expect, .payload = c->payload,
                                         .refs = c->refs, .who = action_who()},
                             &c->m, reterr);
}

static int cmd_memory_save(ActionArgs *a) {
        MemoryCall c;
        int r = cmd_memory_named(a, &c);

        c.expect = MUTATION_ANY;
        if (r == EXIT_OK && a->option['E'])
                r = action_number(a, "--expect", a->option['E'], &c.expect);
        if (r == EXIT_OK)
                r = action_json(a, "the payload", a->argv[1], MUTATION_BODY_MAX, &c.payload);
        if (r == EXIT_OK && a->option['R'])
                r = action_json(a, "--refs", a->option['R'], MUTATION_BODY_MAX, &c.refs);
        if (r == EXIT_OK)
                r = action_write(a, cmd_memory_save_txn, &c);
        json_decref(c.payload);
        json_decref(c.refs);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(
                        a, json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", "scope", c.scope, "kind", kind_name(c.kind),
                                     "id", c.m.id, "record_version", json_u64(c.m.version), "seq", json_u64(c.m.seq),
                                     "created", (int)c.m.created));
        printf("%s %s is %s, version %" PRIu64 " (seq %" PRIu64 ")\n", kind_name(c.kind), c.m.id,
               c.m.created ? "created" : "updated", c.m.version, c.m.seq);
        return cli_done(a->verb, EXIT_OK);
}

static int cmd_memory_read_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        return c->read(t, c->scope, c->kind, c->id, &c->found, reterr);
}

static int cmd_memory_bad_query(ActionArgs *a, int r, const Diag *d) {
        return r > 0 ? action_refused(a, engine_code_name(ENGINE_E_BAD_QUERY), d->text)
                     : cli_fail(a->verb, EXIT_NOT, "%s", strerror(-r));
}

/* Reads with `read`, and prints the result under the name `as`. */
static int cmd_memory_show(ActionArgs *a, const char *as, MemoryReadFn read) {
        MemoryCall c;
        int r = cmd_memory_named(a, &c);

        c.read = read;
        if (r == EXIT_OK)
                r = action_read(a, cmd_memory_read_txn, &c);
        return r == EXIT_OK ? action_answer(a, as, c.found) : r;
}

static int cmd_memory_load(ActionArgs *a) {
        return cmd_memory_show(a, "record", memory_load);
}

static int cmd_memory_history(ActionArgs *a) {
        return cmd_memory_show(a, "changes", memory_history);
}

static int cmd_memory_view(ActionArgs *a) {
        return cmd_memory_show(a, "view", memory_view);
}

static int cmd_memory_print_rows(const ActionArgs *a, json_t *list) {
        json_t *o;
        size_t i;

        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "records", list));
        json_array_foreach(list, i, o) {
                const json_t *text = json_object_get(o, "text");

                printf("%-21s %-9s %-32s ", cli_text(o, "kind"), cli_text(o, "state"),
                       cli_text(o, "id"));
                print_safe(stdout, json_bytes(text), json_string_length(text));
                putchar('\n');
        }
        json_decref(list);
        return cli_done(a->verb, EXIT_OK);
}

static int cmd_memory_list_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        return memory_list(t, c->scope, &c->filter, &c->found, reterr);
}

static int cmd_memory_list(ActionArgs *a) {
        MemoryCall c = {.a = a, .scope = cmd_memory_scope(a)};
        Diag d = {0};
        int r = a->argc > 0 ? filter_parse(a->argv[0], strlen(a->argv[0]), clock_real_usec(), &c.filter, &d) : 0;

        if (r != 0)
                return cmd_memory_bad_query(a, r, &d);
        r = action_read(a, cmd_memory_list_txn, &c);
        return r == EXIT_OK ? cmd_memory_print_rows(a, c.found) : r;
}

static int cmd_memory_search_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        return memory_search(t, c->scope, &c->query, &c->found, reterr);
}

static int cmd_memory_search(ActionArgs *a) {
        MemoryCall c = {.a = a, .scope = cmd_memory_scope(a)};
        uint64_t limit = 0;
        Diag d = {0};
        int r = a->option['L'] ? cli_number(a->verb, "--limit", a->option['L'], 1, QUERY_LIMIT_MAX, &limit) : EXIT_OK;

        if (r != EXIT_OK)
                return r;
        r = query_parse(a->argv[0], strlen(a->argv[0]), limit, clock_real_usec(), &c.query, &d);
        r = r != 0 ? cmd_memory_bad_query(a, r, &d) : EXIT_OK;
        if (r == EXIT_OK)
                r = action_read(a, cmd_memory_search_txn, &c);
        query_deinit(&c.query);
        return r == EXIT_OK ? cmd_memory_print_rows(a, c.found) : r;
}

static int cmd_memory_refs_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        if (!c->id)
                return memory_broken(t, c->scope, &c->found, reterr);
        return c->number ? memory_reach(t, c->scope, c->kind, c->id, c->a->option['i'], (unsigned)c->number, &c->found,
                                        reterr)
                         : memory_refs(t, c->scope, c->kind, c->id, &c->found, reterr);
}

static int cmd_memory_refs(ActionArgs *a) {
        MemoryCall c = {.a = a, .scope = cmd_memory_scope(a)};
        int r = EXIT_OK;

        if (a->argc == 1)
                return cli_usage(a->verb, "refs takes FAMILY ID, or no argument for all broken references");
        if (a->argc > 0) {
                c.kind = kind_from_name(a->argv[0]); /* a kernel has references, too */
                c.id = a->argv[1];
                if (kind_class(c.kind) != CLASS_KERNEL)
                        r = cmd_memory_named(a, &c);
        }
        if (r == EXIT_OK && a->option['D'])
                r = action_number(a, "--depth", a->option['D'], &c.number);
        if (r == EXIT_OK && a->option['D'] && (c.number == 0 || c.number > REFS_DEPTH_MAX))
                return cli_usage(a->verb, "--depth: '%s' is not a number from 1 to %d", a->option['D'], REFS_DEPTH_MAX);
        if (r == EXIT_OK)
                r = action_read(a, cmd_memory_refs_txn, &c);
        return r == EXIT_OK ? action_answer(a, "refs", c.found) : r;
}

static int cmd_memory_check_txn(Txn *t, void *user, Diag *reterr) {
        _cleanup_record_ Record rec = RECORD_NULL;
        MemoryCall *c = user;
        int r = memory_find(t, c->scope, c->kind, c->id, &rec, reterr);

        return r == 0 ? memory_dependents(t, &rec.key, &c->found) : r;
}

/* steps; deeper levels are printed as a number, so that a chain of n records takes n lines and not n squared blanks */
#define INDENT_MOST 16

static void cmd_memory_print_dependents(const json_t *list) {
        json_t *o;
        size_t i;

        json_array_foreach(list, i, o) {
                json_int_t depth = cli_integer(o, "depth");

                printf("%*s", (int)(2 * MIN(depth, INDENT_MOST)), "");
                if (depth > INDENT_MOST)
                        printf("[%" JSON_INTEGER_FORMAT "] ", depth);
                printf("%s %s (%s, %s)%s\n", cli_text(o, "kind"), cli_text(o, "id"), cli_text(o, "strength"),
                       cli_text(o, "state"), json_is_true(json_object_get(o, "holds")) ? "  holds" : "");
        }
}

static int cmd_memory_check(ActionArgs *a) {
        MemoryCall c;
        int r = cmd_memory_named(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, cmd_memory_check_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "dependents", c.found));
        if (json_array_size(c.found) == 0)
                printf("no record depends on the record\n");
        cmd_memory_print_dependents(c.found);
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int cmd_memory_delete_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        RecordKey key;
        uint64_t scope;
        int r = engine_delete(t,
                              &(Deletion){.scope = c->scope, .kind = c->kind, .id = c->id, .cascade = c->a->option['C'],
                                          .reason = c->a->option['W'], .who = action_who()},
                              &c->found, reterr),
            e;

        if (r != ENGINE_E_DEPENDENTS)
                return r;
        /* M-54: a refusal lists all dependents */
        e = scope_get(t, c->scope, &scope);
        if (e == 0) {
                key = record_key_of(scope, c->kind, c->id);
                e = memory_dependents(t, &key, &c->found);
        }
        if (e == 0 && !(c->a->more = json_pack("{s:O}", "dependents", c->found)))
                e = -ENOMEM;
        return e < 0 ? e : r;
}

static int cmd_memory_delete(ActionArgs *a) {
        json_t *o;
        size_t i;
        MemoryCall c;
        int r;

        if (a->option['K'])
                return cmd_memory_check(a);
        r = action_line(a, "--reason", a->option['W']);
        if (r != EXIT_OK)
                return r;
        r = cmd_memory_named(a, &c);
        if (r == EXIT_OK)
                r = action_write(a, cmd_memory_delete_txn, &c);
        if (r != EXIT_OK) {
                if (!a->o.json)
                        cmd_memory_print_dependents(c.found);
                json_decref(c.found);
                return r;
        }
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", c.scope, "deleted", c.found));
        json_array_foreach(c.found, i, o)
                printf("%s %s is deleted\n", cli_text(o, "kind"), cli_text(o, "id"));
        printf("`lethe compact` removes the deleted bytes from the file\n");
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int cmd_memory_restore_txn(Txn *t, void *user, Diag *reterr) {
        MemoryCall *c = user;

        return engine_mutate(t,
                             &(Mutation){.scope = c->scope, .kind = c->kind, .op = OP_RESTORE, .id = c->id,
                                         .expect = MUTATION_ANY, .who = action_who()},
                             &c->m, reterr);
}

static int cmd_memory_restore(ActionArgs *a) {
        MemoryCall c;
        int r = cmd_memory_named(a, &c);

        if (r == EXIT_OK)
                r = action_write(a, cmd_memory_restore_txn, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(
                        a, json_pack("{s:s, s:s, s:s, s:o, s:o}", "scope", c.scope, "kind", kind_name(c.kind), "id",
                                     c.id, "record_version", json_u64(c.m.version), "seq", json_u64(c.m.seq)));
        printf("%s %s is active again, version %" PRIu64 " (seq %" PRIu64 ")\n", kind_name(c.kind), c.id, c.m.version,
               c.m.seq);
        return cli_done(a->verb, EXIT_OK);
}

#define WORKING_VALUE_MAX (64 * 1024)

/* Names the store of the command line in the request: a daemon of another store has another scope with the same
 * name, and refuses. */
static int cmd_memory_working_params(ActionArgs *a, const char *value, json_t **ret) {
        _cleanup_free_ char *path = NULL, *real = NULL;
        _cleanup_json_ json_t *v = NULL;
        Diag d = {0};
        int r = value ? action_json(a, "the value", value, WORKING_VALUE_MAX, &v) : EXIT_OK;

        if (r != EXIT_OK)
                return r;
        path = path_of_store(a->o.store, &d);
        if (!path)
                return cli_usage(a->verb, "%s", *d.text ? d.text : "out of memory");
        real = realpath(path, NULL);
        if (!real)
                return cli_refuse(a->verb, EXIT_NOT, "no_store", "store %s: %s", path, strerror(errno));
        *ret = json_pack("{s:s, s:s, s:O*}", "store", real, "scope", a->option['S'] ? a->option['S'] : SCOPE_DEFAULT, "value", v);
        return *ret ? EXIT_OK : cli_fail(a->verb, EXIT_NOT, "out of memory");
}

static int cmd_memory_working_ask(ActionArgs *a, const char *method, json_t *params, json_t **ret) {
        _cleanup_free_ char *path = NULL;
        _cleanup_close_ int fd = -1;
        const json_t *error;
        Diag d = {0};
        int r;

        path = path_of_socket(a->option['P'], &d);
        fd = path ? path_ask(path) : -ENOENT;
        if (fd == -EPERM) {
                json_decref(params);
                return cli_refuse(a->verb, EXIT_NOT, "other_user",
                                  "socket %s: another user listens there, whom root does not ask", path);
        }
        if (fd < 0) {
                json_decref(params);
                return cli_refuse(a->verb, EXIT_NOT, "no_serve",
                                  "`lethe serve` keeps working state in its memory, and no daemon answers%s%s",
                                  path ? " at " : "", path ? path : "");
        }
        r = serve_call(fd, path, method, params, ret);
        if (r < 0)
                return cli_fail(a->verb, EXIT_NOT, "lethe serve: %s", strerror(-r));
        error = json_object_get(*ret, "error");
        if (!error)
                return EXIT_OK;
        return action_refused(a, cli_text(json_object_get(error, "data"), "code") ?: "failed",
                              cli_text(error, "message") ?: "lethe serve refused the request");
}

/* The working state of a scope, kept only in a running `lethe serve` (M-9). */
static int cmd_memory_working(ActionArgs *a) {
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
        r = cmd_memory_working_params(a, a->argc == 2 ? a->argv[1] : NULL, &params);
        if (r == EXIT_OK)
                r = cmd_memory_working_ask(a, method, params, &answer);
        if (r != EXIT_OK)
                return r;
        value = json_object_get(json_object_get(answer, "result"), "value");
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:O*}", "scope",
                                                 a->option['S'] ? a->option['S'] : SCOPE_DEFAULT, "value", value));
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
                                                {0}};
        static const Action actions[] = {
                {"save", "FAMILY PAYLOAD|-", 2, 2, "SITRE", cmd_memory_save, true},
                {"load", "FAMILY ID", 2, 2, "S", cmd_memory_load},
                {"list", "at most one FILTER", 0, 1, "S", cmd_memory_list},
                {"search", "QUERY", 1, 1, "SL", cmd_memory_search},
                {"history", "FAMILY ID", 2, 2, "S", cmd_memory_history},
                {"view", "FAMILY ID", 2, 2, "S", cmd_memory_view},
                {"refs", "FAMILY ID, or nothing", 0, 2, "SDi", cmd_memory_refs},
                {"delete", "FAMILY ID", 2, 2, "SCKW", cmd_memory_delete},
                {"restore", "FAMILY ID", 2, 2, "S", cmd_memory_restore},
                {"working", "get, clear, or set VALUE|-", 1, 2, "SP", cmd_memory_working},
        };

        return actions_main("memory", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
