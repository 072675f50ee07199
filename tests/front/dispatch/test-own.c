/* context.read, kernel.read, note.list, pending.list, memory.view and memory.refs at the dispatch: whose notes they show, and how much of the supervisor's
 * work a region can ask for. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "engine/mutate.h"
#include "engine/note.h"

#include <criterion/criterion.h>
#include <inttypes.h>
#include <stdio.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define SESSION "01hzy3v5q8r6x2m9d4k7c0w1ab"

/* A region of its own, after hello; a turn when `turn` is not NULL. */
static void begin(DispatchFixture *d, const DispatchTurn *turn) {
        dispatch_fixture_region(d);
        if (turn)
                dispatch_use_turn(d->dispatch, turn);
        dispatch_expect(d, DISPATCH_HELLO, NULL);
}

static size_t notes_seen(DispatchFixture *d, json_int_t *ret_next) {
        _cleanup_json_ json_t *o = dispatch_result_of(d, REQUEST("note.list", "{}"));

        if (ret_next)
                *ret_next = json_integer_value(json_object_get(o, "next"));
        return json_array_size(json_object_get(o, "notes"));
}

// G-73 G-75: turns of a session share its run; a region with the same skill, and another session, see none of it
Test(own, notes_are_those_of_the_run) {
        const DispatchTurn turn = {.session = SESSION, .number = 1}, other = {.session = "01hzy3v5q8r6x2m9d4k7c0w1ac", .number = 1};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        char first[REGION_ID_MAX];
        json_int_t from;

        dispatch_fixture_init(&d);
        begin(&d, &turn);
        memcpy(first, d.region, sizeof(first));
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"issue a_b: c\"}"), NULL);
        cr_assert_eq(notes_seen(&d, NULL), 1);
        dispatch_fixture_region_end(&d, true);
        for (size_t i = 0; i < 2; i++) {
                begin(&d, i ? &other : NULL);
                cr_assert_eq(notes_seen(&d, NULL), 0, "%zu", i);
                dispatch_expect(&d, REQUEST("note.list", "{\"run\":\"" SESSION "\"}"), "invalid_params");
                dispatch_expect(&d, REQUEST("pending.list", "{\"scope\":\"default\"}"), "invalid_params");
                dispatch_fixture_region_end(&d, true);
        }
        begin(&d, &turn);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"issue b_c: d\"}"), NULL);
        cr_assert_eq(notes_seen(&d, NULL), 2);
        dispatch_fixture_region_end(&d, true);
        {
                _cleanup_json_ json_t *events = dispatch_events(&d);
                size_t i, reads = 0;
                json_t *e;

                json_array_foreach(events, i, e) {
                        const json_t *span = json_array_get(json_object_get(e, "notes"), 0);

                        if (strcmp(json_string_value(json_object_get(e, "type")), "note.read") != 0)
                                continue;
                        from = json_integer_value(json_object_get(span, "from"));
                        cr_assert(from == 1 && json_integer_value(json_object_get(span, "to")) == 1);
                        cr_assert_str_eq(json_string_value(json_object_get(span, "by")), first);
                        cr_assert_eq(json_array_size(json_object_get(e, "notes")), 1, "its own notes are no reads");
                        reads++;
                }
                cr_assert_eq(reads, 1);
        }
}

// G-73 G-63: a million requests cost the supervisor no more than the bound
Test(own, reads_are_bounded) {
        static const struct {
                const char *line;
                size_t most;
        } rows[] = {{REQUEST("note.list", "{}"), OWN_READS_MAX}, {REQUEST("pending.list", "{\"after\":9007199254740991}"), OWN_READS_MAX},
                    {REQUEST("context.read", "{}"), MEMORY_READS_MAX}, {REQUEST("kernel.read", "{\"kernel\":\"agent\"}"), MEMORY_READS_MAX}};
        _cleanup_dispatch_fixture_ DispatchFixture d;

        dispatch_fixture_init(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                begin(&d, NULL);
                for (size_t k = 0; k < rows[i].most; k++)
                        dispatch_expect(&d, rows[i].line, NULL);
                dispatch_expect(&d, rows[i].line, "too_many");
                dispatch_fixture_region_end(&d, true);
        }
}

// G-73: values of any sort are answered or refused, and a refused request reads nothing
Test(own, hostile_values) {
        static const char *const lines[] = {
                REQUEST("note.list", "{\"after\":-1}"), REQUEST("note.list", "{\"after\":1.5}"), REQUEST("note.list", "{\"after\":\"1\"}"), REQUEST("note.list", "{\"limit\":0}"),
                REQUEST("note.list", "{\"limit\":1001}"), REQUEST("pending.list", "{\"limit\":51}"), REQUEST("pending.list", "{\"after\":null}"), REQUEST("context.read", "{\"bytes\":1023}"),
                REQUEST("context.read", "{\"bytes\":262145}"), REQUEST("context.read", "{\"lane\":0}"), REQUEST("context.read", "{\"lane\":\"1\"}"), REQUEST("context.read", "{\"scope\":1}"),
                REQUEST("context.read", "{\"tiers\":1}"), REQUEST("kernel.read", "{}"), REQUEST("kernel.read", "{\"kernel\":\"agent\",\"limit\":1001}"), REQUEST("kernel.read", "{\"kernel\":\"kernel\"}"),
                REQUEST("kernel.read", "{\"kernel\":\"issues\"}"), REQUEST("kernel.read", "{\"kernel\":\"agent\",\"scope\":\"default\"}"), REQUEST("memory.view", "{\"kind\":\"memory_substrate\"}"),
                REQUEST("memory.refs", "{\"id\":\"x\"}")};
        _cleanup_dispatch_fixture_ DispatchFixture d;

        dispatch_fixture_init(&d);
        begin(&d, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
                dispatch_expect(&d, lines[i], "invalid_params");
        dispatch_expect(&d, REQUEST("context.read", "{\"query\":\"state:archived\"}"), "bad_query");
        dispatch_expect(&d, REQUEST("memory.view", "{\"kind\":\"issues\",\"id\":\"a_b\"}"), "not_granted");
        dispatch_expect(&d, REQUEST("memory.refs", "{\"kind\":\"nothing\",\"id\":\"a_b\"}"), "not_granted");
        dispatch_fixture_region_end(&d, true);
}

static void save(DispatchFixture *d, Txn *t, const char *id, const char *target) {
        _cleanup_json_ json_t *payload = json_pack("{s:s, s:s, s:s}", "subject", id, "predicate", "is", "object", "there"),
                              *refs = target ? json_pack("[{s:s, s:s, s:s}]", "kind", "memory_substrate", "id", target, "strength", "weak") : NULL;
        Mutation m = {.who = "uid:0", .scope = "default", .kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .type = "semantic", .payload = payload, .refs = refs, .expect = MUTATION_ANY};
        Mutated done;

        cr_assert_eq(engine_mutate(t, &m, &done, &d->f.d), 0, "%s", d->f.d.text);
}

// G-73: of a record with more references than the bound there is a part, and no view
Test(own, references_are_bounded) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *o = NULL;
        char id[32];
        Txn *t;

        dispatch_fixture_init(&d);
        t = store_fixture_begin(&d.f, true);
        save(&d, t, "hub", NULL);
        for (size_t i = 0; i <= MEMORY_EDGES_MAX; i++) {
                snprintf(id, sizeof(id), "spoke-%zu", i);
                save(&d, t, id, "hub");
        }
        store_fixture_commit(&d.f, t);
        begin(&d, NULL);
        o = dispatch_result_of(&d, REQUEST("memory.refs", "{\"kind\":\"memory_substrate\",\"id\":\"hub\"}"));
        cr_assert_eq(json_array_size(json_object_get(o, "incoming")), MEMORY_EDGES_MAX);
        cr_assert(json_is_true(json_object_get(o, "cut")));
        dispatch_expect(&d, REQUEST("memory.view", "{\"kind\":\"memory_substrate\",\"id\":\"hub\"}"), "too_large");
        dispatch_expect(&d, REQUEST("memory.view", "{\"kind\":\"memory_substrate\",\"id\":\"spoke-1\"}"), NULL);
        dispatch_fixture_region_end(&d, true);
}

/* The JSON of an answer's parts together. */
static size_t weight(const json_t *o) {
        static const char *const parts[] = {"core", "belief", "advisory"};
        size_t n = 0;

        for (size_t i = 0; i < ARRAY_SIZE(parts); i++)
                n += json_dumpb(json_object_get(o, parts[i]), NULL, 0, JSON_COMPACT);
        return n;
}

// G-73: the newest records of a lane, in the room that there is, whatever the number of records
Test(own, lanes_have_the_newest) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *o = NULL, *part = NULL;
        json_t *rows;
        char id[32];
        Txn *t;

        dispatch_fixture_init(&d);
        t = store_fixture_begin(&d.f, true);
        for (size_t i = 0; i < 3000; i++) {
                snprintf(id, sizeof(id), "row-%04zu", i);
                save(&d, t, id, NULL);
        }
        store_fixture_commit(&d.f, t);
        begin(&d, NULL);
        o = dispatch_result_of(&d, REQUEST("context.read", "{\"lane\":100,\"bytes\":262144}"));
        rows = json_object_get(json_array_get(json_object_get(o, "advisory"), 0), "records");
        cr_assert_eq(json_array_size(rows), 100);
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 0), "id")), "row-2900");
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, 99), "id")), "row-2999");
        cr_assert_eq(json_array_size(json_object_get(o, "cut")), 0);
        part = dispatch_result_of(&d, REQUEST("context.read", "{\"lane\":100,\"bytes\":1024}"));
        rows = json_object_get(json_array_get(json_object_get(part, "advisory"), 0), "records");
        cr_assert(json_array_size(rows) > 0 && json_array_size(rows) < 10);
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(rows, json_array_size(rows) - 1), "id")), "row-2999");
        cr_assert_str_eq(json_string_value(json_array_get(json_object_get(part, "cut"), 0)), "memory");
        cr_assert_leq(weight(part), 1024 + 200, "the names of lanes beside the records");
        dispatch_fixture_region_end(&d, true);
}
