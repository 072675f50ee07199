/* Runs: CLI. */
#include "base/clock.h"
#include "cli/actions.h"
#include "cli/session-state.h"
#include "engine/delete.h"
#include "engine/mutate.h"
#include "memory/records.h"
#include "memory/refs.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
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
        "Typed memory: records of memory, knowledge and skill (how something is done; saving one makes nothing\n"
        "runnable), as schema/memory.md has them. save makes a record or writes a new version of it, whole;\n"
        "load shows what is stored, view what follows from who refers to it now, history each change.\n"
        "delete removes for ever, after a look at what depends on the record; what a digest archived, restore\n"
        "brings back. Working state is of the moment: kept by `lethe serve`, in no file.\n"
        "FILTER and QUERY: fields (kind: type: state: id: ref: created: prefix:), in a query words and \"phrases\".\n\n" HELP_STORE
        "  --scope SCOPE     (default: default)\n"
        "  --id ID           with save: of the record; without it a new one is made\n"
        "  --type TYPE       with save of a memory record: episodic, semantic or observational\n"
        "  --refs JSON       with save: [{\"kind\",\"id\",\"strength\":\"strong\"|\"weak\",\"role\"}], in place of all it had\n"
        "  --expect VERSION  with save: only over that version; 0: only when it is not there\n"
        "  --limit N         with search: at most 100 (default: 20)\n"
        "  --depth N         with refs: what is reached within N steps, 1 to 16\n"
        "  --incoming        with --depth: against the direction of the references\n"
        "  --cascade         with delete: with all that holds on to it\n"
        "  --check           with delete: only say what depends on it\n"
        "  --reason TEXT     with delete: why, for the history\n"
        "  --socket PATH     with working: where `lethe serve` listens\n"
        "  --json            print JSON\n"
        "  -h, --help        this text\n\n"
        "Exit status: 0; 1 refused, or there is no such record or scope; 2 usage.\n";

typedef struct Call {
        ActionArgs *a;
        const char *scope, *id;
        Kind kind;
        json_t *payload, *refs, *found;
        uint64_t expect, number;
        Mutated m;
        Query query;
        RecordFilter filter;
} Call;

static const char *scope_of(const ActionArgs *a) {
        return a->option['S'] ? a->option['S'] : SCOPE_DEFAULT;
}

/* The family and the id that most actions begin with. */
static int named(ActionArgs *a, Call *ret) {
        Diag d = {0};
        int r;

        *ret = (Call){.a = a, .scope = scope_of(a)};
        r = memory_family(a->argv[0], &ret->kind, &d);
        if (r != 0)
                return action_refused(a, engine_code_name((EngineCode)r), d.text);
        ret->id = a->argc > 1 ? a->argv[1] : NULL;
        return EXIT_OK;
}

static int do_save(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return engine_mutate(t, &(Mutation){.scope = c->scope, .kind = c->kind, .op = OP_SAVE, .id = c->a->option['I'], .type = c->a->option['T'],
                                            .expect = c->expect,
                                            .payload = c->payload, .refs = c->refs, .who = action_who()}, &c->m, reterr);
}

static int save(ActionArgs *a) {
        Call c;
        int r = named(a, &c);

        c.expect = MUTATION_ANY;
        if (r == EXIT_OK && a->option['E'])
                r = action_number(a, "--expect", a->option['E'], &c.expect);
        if (r == EXIT_OK)
                r = action_json(a, "the payload", a->argv[1], MUTATION_BODY_MAX, &c.payload);
        if (r == EXIT_OK && a->option['R'])
                r = action_json(a, "--refs", a->option['R'], MUTATION_BODY_MAX, &c.refs);
        if (r == EXIT_OK)
                r = action_write(a, do_save, &c);
        json_decref(c.payload);
        json_decref(c.refs);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:s, s:s, s:o, s:o, s:b}", "scope", c.scope, "kind", kind_name(c.kind), "id", c.m.id, "record_version",
                                                 json_u64(c.m.version), "seq", json_u64(c.m.seq), "created", (int)c.m.created));
        printf("%s %s is %s, version %" PRIu64 " (seq %" PRIu64 ")\n", kind_name(c.kind), c.m.id, c.m.created ? "created" : "updated", c.m.version, c.m.seq);
        return cli_done(a->verb, EXIT_OK);
}

static int do_load(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_load(t, c->scope, c->kind, c->id, &c->found, reterr);
}

static int do_history(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_history(t, c->scope, c->kind, c->id, &c->found, reterr);
}

static int do_view(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_view(t, c->scope, c->kind, c->id, &c->found, reterr);
}

static int bad_query(ActionArgs *a, int r, const Diag *d) {
        return r > 0 ? action_refused(a, engine_code_name(ENGINE_E_BAD_QUERY), d->text) : cli_fail(a->verb, EXIT_NOT, "%s", strerror(-r));
}

/* Reads, and prints what was found under one name. */
static int shown(ActionArgs *a, const char *as, StoreFn fn) {
        Call c;
        int r = named(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, fn, &c);
        if (r != EXIT_OK)
                return r;
        return a->o.json ? action_print(a, json_pack("{s:o}", as, c.found)) : action_dump(a, c.found);
}

static int load(ActionArgs *a) {
        return shown(a, "record", do_load);
}

static int history(ActionArgs *a) {
        return shown(a, "changes", do_history);
}

static int view(ActionArgs *a) {
        return shown(a, "view", do_view);
}

static int print_rows(const ActionArgs *a, json_t *list) {
        json_t *o;
        size_t i;

        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "records", list));
        json_array_foreach(list, i, o) {
                const json_t *text = json_object_get(o, "text");

                printf("%-21s %-9s %-32s ", json_text(json_object_get(o, "kind")), json_text(json_object_get(o, "state")),
                       json_text(json_object_get(o, "id")));
                print_safe(stdout, json_bytes(text), json_string_length(text));
                putchar('\n');
        }
        json_decref(list);
        return cli_done(a->verb, EXIT_OK);
}

static int do_list(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_list(t, c->scope, &c->filter, &c->found, reterr);
}

static int list(ActionArgs *a) {
        Call c = {.a = a, .scope = scope_of(a)};
        Diag d = {0};
        int r = a->argc > 0 ? filter_parse(a->argv[0], strlen(a->argv[0]), clock_real_usec(), &c.filter, &d) : 0;

        if (r != 0)
                return bad_query(a, r, &d);
        r = action_read(a, do_list, &c);
        return r == EXIT_OK ? print_rows(a, c.found) : r;
}

static int do_search(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return memory_search(t, c->scope, &c->query, &c->found, reterr);
}

static int search(ActionArgs *a) {
        Call c = {.a = a, .scope = scope_of(a)};
        uint64_t limit = 0;
        Diag d = {0};
        int r = a->option['L'] ? cli_number(a->verb, "--limit", a->option['L'], 1, QUERY_LIMIT_MAX, &limit) : EXIT_OK;

        if (r != EXIT_OK)
                return r;
        r = query_parse(a->argv[0], strlen(a->argv[0]), limit, clock_real_usec(), &c.query, &d);
        r = r != 0 ? bad_query(a, r, &d) : EXIT_OK;
        if (r == EXIT_OK)
                r = action_read(a, do_search, &c);
        query_deinit(&c.query);
        return r == EXIT_OK ? print_rows(a, c.found) : r;
}

static int do_refs(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        if (!c->id)
                return memory_broken(t, c->scope, &c->found, reterr);
        return c->number ? memory_reach(t, c->scope, c->kind, c->id, c->a->option['i'], (unsigned)c->number, &c->found, reterr)
                         : memory_refs(t, c->scope, c->kind, c->id, &c->found, reterr);
}

static int refs(ActionArgs *a) {
        Call c = {.a = a, .scope = scope_of(a)};
        int r = EXIT_OK;

        if (a->argc == 1)
                return cli_usage(a->verb, "refs takes FAMILY ID, or nothing for all that is broken");
        if (a->argc > 0) {
                c.kind = kind_from_name(a->argv[0]); /* kernels, too, refer to something */
                c.id = a->argv[1];
                if (kind_class(c.kind) != CLASS_KERNEL)
                        r = named(a, &c);
        }
        if (r == EXIT_OK && a->option['D'])
                r = action_number(a, "--depth", a->option['D'], &c.number);
        if (r == EXIT_OK && a->option['D'] && (c.number == 0 || c.number > REFS_DEPTH_MAX))
                return cli_usage(a->verb, "--depth: '%s' is not a number from 1 to %d", a->option['D'], REFS_DEPTH_MAX);
        if (r == EXIT_OK)
                r = action_read(a, do_refs, &c);
        if (r != EXIT_OK)
                return r;
        return a->o.json ? action_print(a, json_pack("{s:o}", "refs", c.found)) : action_dump(a, c.found);
}

static int do_check(Txn *t, void *user, Diag *reterr) {
        _cleanup_record_ Record rec = RECORD_NULL;
        Call *c = user;
        int r = memory_find(t, c->scope, c->kind, c->id, &rec, reterr);

        return r == 0 ? memory_dependents(t, &rec.key, &c->found) : r;
}

#define INDENT_MOST 16 /* steps: from there on a number says the depth, so that a chain of n records is n lines and not n squared blanks */

static void print_dependents(const json_t *list) {
        json_t *o;
        size_t i;

        json_array_foreach(list, i, o) {
                json_int_t depth = json_integer_value(json_object_get(o, "depth"));

                printf("%*s", (int)(2 * MIN(depth, INDENT_MOST)), "");
                if (depth > INDENT_MOST)
                        printf("[%" JSON_INTEGER_FORMAT "] ", depth);
                printf("%s %s (%s, %s)%s\n", json_text(json_object_get(o, "kind")), json_text(json_object_get(o, "id")), json_text(json_object_get(o, "strength")),
                       json_text(json_object_get(o, "state")), json_is_true(json_object_get(o, "holds")) ? "  holds" : "");
        }
}

static int check(ActionArgs *a) {
        Call c;
        int r = named(a, &c);

        if (r == EXIT_OK)
                r = action_read(a, do_check, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:o}", "dependents", c.found));
        if (json_array_size(c.found) == 0)
                printf("nothing depends on it\n");
        print_dependents(c.found);
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int do_delete(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        RecordKey key;
        uint64_t scope;
        int r = engine_delete(t, &(Deletion){.scope = c->scope, .kind = c->kind, .id = c->id, .cascade = c->a->option['C'], .reason = c->a->option['W'],
                                             .who = action_who()}, &c->found, reterr), e;

        if (r != ENGINE_E_DEPENDENTS)
                return r;
        /* M-54: refused, and all of them are listed */
        e = scope_get(t, c->scope, &scope);
        if (e == 0) {
                key = record_key_of(scope, c->kind, c->id);
                e = memory_dependents(t, &key, &c->found);
        }
        if (e == 0 && !(c->a->more = json_pack("{s:O}", "dependents", c->found)))
                e = -ENOMEM;
        return e < 0 ? e : r;
}

static int delete (ActionArgs *a) {
        json_t *o;
        size_t i;
        Call c;
        int r;

        if (a->option['K'])
                return check(a);
        r = action_line(a, "--reason", a->option['W']);
        if (r != EXIT_OK)
                return r;
        r = named(a, &c);
        if (r == EXIT_OK)
                r = action_write(a, do_delete, &c);
        if (r != EXIT_OK) {
                if (!a->o.json)
                        print_dependents(c.found);
                json_decref(c.found);
                return r;
        }
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:o}", "scope", c.scope, "deleted", c.found));
        json_array_foreach(c.found, i, o)
                printf("%s %s is deleted\n", json_text(json_object_get(o, "kind")), json_text(json_object_get(o, "id")));
        printf("`lethe compact` takes their bytes out of the file\n");
        json_decref(c.found);
        return cli_done(a->verb, EXIT_OK);
}

static int do_restore(Txn *t, void *user, Diag *reterr) {
        Call *c = user;

        return engine_mutate(t, &(Mutation){.scope = c->scope, .kind = c->kind, .op = OP_RESTORE, .id = c->id, .expect = MUTATION_ANY, .who = action_who()},
                             &c->m, reterr);
}

static int restore(ActionArgs *a) {
        Call c;
        int r = named(a, &c);

        if (r == EXIT_OK)
                r = action_write(a, do_restore, &c);
        if (r != EXIT_OK)
                return r;
        if (a->o.json)
                return action_print(a, json_pack("{s:s, s:s, s:s, s:o, s:o}", "scope", c.scope, "kind", kind_name(c.kind), "id", c.id, "record_version",
                                                 json_u64(c.m.version), "seq", json_u64(c.m.seq)));
        printf("%s %s is active again, version %" PRIu64 " (seq %" PRIu64 ")\n", kind_name(c.kind), c.id, c.m.version, c.m.seq);
        return cli_done(a->verb, EXIT_OK);
}

int cmd_memory(int argc, char **argv) {
        static const struct option options[] = {OPTIONS_STORE,
                                                {"scope", required_argument, NULL, 'S'},
                                                {"id", required_argument, NULL, 'I'},
                                                {"type", required_argument, NULL, 'T'},
                                                {"refs", required_argument, NULL, 'R'},
                                                {"expect", required_argument, NULL, 'E'},
                                                {"limit", required_argument, NULL, 'L'},
                                                {"depth", required_argument, NULL, 'D'},
                                                {"incoming", no_argument, NULL, 'i'},
                                                {"cascade", no_argument, NULL, 'C'},
                                                {"check", no_argument, NULL, 'K'},
                                                {"reason", required_argument, NULL, 'W'},
                                                {"socket", required_argument, NULL, 'P'},
                                                {0}};
        static const Action actions[] = {
                {"save", "FAMILY PAYLOAD|-", 2, 2, "SITRE", save, true},
                {"load", "FAMILY ID", 2, 2, "S", load},
                {"list", "one FILTER at most", 0, 1, "S", list},
                {"search", "QUERY", 1, 1, "SL", search},
                {"history", "FAMILY ID", 2, 2, "S", history},
                {"view", "FAMILY ID", 2, 2, "S", view},
                {"refs", "FAMILY ID, or nothing", 0, 2, "SDi", refs},
                {"delete", "FAMILY ID", 2, 2, "SCKW", delete},
                {"restore", "FAMILY ID", 2, 2, "S", restore},
                {"working", "get, clear, or set VALUE|-", 1, 2, "SP", session_state_action},
        };

        return actions_main("memory", help, actions, ARRAY_SIZE(actions), options, argc, argv);
}
