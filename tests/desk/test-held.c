/* What a region saves and deletes of typed memory is held by its desk until its end: I-24 with M-10, M-11, M-16, M-52. */
#include "tests/desk/desk-fixture.h"

#include "desk/desk-internal.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "memory/records.h"

#include <criterion/criterion.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define SAVE(more) REQUEST("memory.save", "{\"kind\":\"memory_substrate\",\"type\":\"semantic\"," more "}")
#define OF(text) "\"payload\":{\"subject\":\"anna\",\"predicate\":\"was born\",\"object\":\"" text "\"}"
#define ON(method, id) REQUEST(method, "{\"kind\":\"memory_substrate\",\"id\":\"" id "\"}")

static void begin(DeskFixture *d) {
        Txn *t;
        uint64_t n;

        desk_fixture_init(d);
        t = store_fixture_begin(&d->f, true);
        cr_assert_eq(engine_scope_create(t, "uid:0", SCOPE_DEFAULT, &n, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
        desk_fixture_region(d);
        desk_expect(d, DESK_HELLO, NULL);
}

static const char *word(const json_t *o, const char *name) {
        return json_string_value(json_object_get(o, name)) ?: "";
}

/* The record as all others see it: its object, "" when it is not there. Owned. */
static char *seen(DeskFixture *d, const char *id) {
        _cleanup_json_ json_t *record = NULL;
        Txn *t = store_fixture_begin(&d->f, false);
        int r = memory_load(t, SCOPE_DEFAULT, KIND_MEMORY, id, &record, &d->f.d);

        store_abort(t);
        cr_assert(r == 0 || r == ENGINE_E_NO_RECORD, "%d", r);
        return strdup(r == 0 ? word(json_object_get(record, "payload"), "object") : "");
}

#define SEES(d, id, what) do { \
        _cleanup_free_ char *is = seen(d, id); \
        cr_assert_str_eq(is, what, "%s", id); \
} while (0)

/* A save by the operator, as it comes while a region holds something. */
static void operator(DeskFixture *d, const char *id, const char *text) {
        _cleanup_json_ json_t *payload = json_pack("{s:s, s:s, s:s}", "subject", "anna", "predicate", "was born", "object", text);
        Txn *t = store_fixture_begin(&d->f, true);
        Mutated done;

        cr_assert_eq(engine_mutate(t, &(Mutation){.who = "uid:0", .kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .type = "semantic", .expect = MUTATION_ANY, .payload = payload},
                                   &done, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
}

static size_t mutations(DeskFixture *d) {
        _cleanup_json_ json_t *events = desk_events(d);

        return desk_count(events, "memory.save", NULL, NULL) + desk_count(events, "memory.delete", NULL, NULL);
}

// I-24, M-10: what a region saved it sees itself, in every way of reading, and nobody else does; after a breach nobody ever did
Test(held, a_breach_leaves_nothing) {
        _cleanup_desk_fixture_ DeskFixture d;
        _cleanup_json_ json_t *one = NULL, *two = NULL, *own = NULL, *found = NULL, *list = NULL, *history = NULL, *events = NULL;
        json_int_t count;

        begin(&d);
        one = desk_result_of(&d, SAVE(OF("in May") ",\"id\":\"born\",\"expect\":0"));
        cr_assert(json_is_true(json_object_get(one, "created")) && json_is_true(json_object_get(one, "held")));
        cr_assert_null(json_object_get(one, "seq"), "it has no number yet");
        two = desk_result_of(&d, SAVE(OF("in June") ",\"id\":\"born\",\"expect\":1"));
        cr_assert(json_is_false(json_object_get(two, "created")) && json_integer_value(json_object_get(two, "version")) == 2);
        own = desk_result_of(&d, ON("memory.load", "born"));
        cr_assert_str_eq(word(json_object_get(json_object_get(own, "record"), "payload"), "object"), "in June");
        found = desk_result_of(&d, REQUEST("memory.search", "{\"query\":\"june\"}"));
        cr_assert_eq(json_array_size(json_object_get(found, "records")), 1);
        list = desk_result_of(&d, REQUEST("memory.list", "{}"));
        cr_assert_eq(json_array_size(json_object_get(list, "records")), 1);
        history = desk_result_of(&d, ON("memory.history", "born"));
        cr_assert_eq(json_array_size(json_object_get(history, "changes")), 2);
        SEES(&d, "born", "");
        cr_assert_eq(mutations(&d), 0);
        desk_fixture_region_end(&d, false);
        SEES(&d, "born", "");
        cr_assert_eq(mutations(&d), 0);
        events = desk_events(&d);
        cr_assert_eq(desk_count(events, "memory.discarded", NULL, &count), 1);
        cr_assert_eq(count, 2);
}

// I-24, M-10, M-16: a good end commits in order, under the ids that were answered
Test(held, a_good_end_commits) {
        _cleanup_desk_fixture_ DeskFixture d;
        _cleanup_json_ json_t *one = NULL, *two = NULL, *events = NULL;
        _cleanup_free_ char *ref = NULL;
        const json_t *ended;

        begin(&d);
        one = desk_result_of(&d, SAVE(OF("in May")));
        two = desk_result_of(&d, SAVE(OF("in June")));
        cr_assert_str_neq(word(one, "id"), word(two, "id"));
        cr_assert_gt(asprintf(&ref, SAVE(OF("of both") ",\"id\":\"both\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"%s\"}]"), word(one, "id")), 0);
        desk_expect(&d, ref, NULL);
        desk_expect(&d, SAVE(OF("x") ",\"id\":\"far\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"nowhere\"}]"), "bad_ref");
        desk_expect(&d, SAVE(OF("x") ",\"expect\":3"), "conflict");
        operator(&d, "other", "while it runs"); /* takes the numbers that the judgements saw */
        operator(&d, "more", "while it runs");
        {
                Txn *t = store_fixture_begin(&d.f, true);

                cr_assert_eq(desk_memory_end(d.desk, t, true, "exited"), 0);
                ended = desk_memory_ended(d.desk);
                cr_assert_eq(json_integer_value(json_object_get(ended, "held")), 3);
                cr_assert_eq(json_integer_value(json_object_get(ended, "committed")), 3);
                cr_assert_eq(json_array_size(json_object_get(ended, "refused")), 0);
                store_abort(t); /* the end was taken back, and is made again */
        }
        SEES(&d, "both", "");
        desk_fixture_region_end(&d, true);
        SEES(&d, word(one, "id"), "in May");
        SEES(&d, word(two, "id"), "in June");
        SEES(&d, "both", "of both");
        SEES(&d, "other", "while it runs");
        events = desk_events(&d);
        cr_assert_eq(desk_count(events, "memory.save", NULL, NULL), 3);
        cr_assert_eq(desk_count(events, "mutation.refused", NULL, NULL), 2, "what was refused when it was asked for is recorded then, once");
        cr_assert_eq(desk_count(events, "memory.discarded", NULL, NULL), 0);
}

// I-24, M-52: saved and deleted by the same region, and what was there before
Test(held, what_is_saved_is_deleted) {
        _cleanup_desk_fixture_ DeskFixture d;

        begin(&d);
        operator(&d, "old", "of before");
        for (int keep = 0; keep < 2; keep++) {
                desk_expect(&d, SAVE(OF("for a moment") ",\"id\":\"brief\",\"expect\":0"), NULL);
                desk_expect(&d, ON("memory.delete", "brief"), NULL);
                desk_expect(&d, ON("memory.load", "brief"), "no_record");
                desk_expect(&d, ON("memory.delete", "brief"), "no_record");
                desk_expect(&d, ON("memory.delete", "old"), NULL);
                desk_expect(&d, ON("memory.load", "old"), "no_record");
                SEES(&d, "old", "of before");
                desk_fixture_region_end(&d, keep);
                SEES(&d, "brief", "");
                SEES(&d, "old", keep ? "" : "of before");
                cr_assert_eq(mutations(&d), keep ? 3 : 0);
                if (!keep) {
                        desk_fixture_region(&d);
                        desk_expect(&d, DESK_HELLO, NULL);
                }
        }
}

// I-24, M-11: two regions hold what cannot both be; the one that ends later is told with its end, and leaves its code
Test(held, two_regions_at_once) {
        _cleanup_desk_fixture_ DeskFixture d;
        _cleanup_json_ json_t *mine = NULL, *theirs = NULL, *events = NULL, *none = json_object();
        DeskFixture first;
        const json_t *refused;
        uint64_t released, ended;
        Txn *t;

        begin(&d);
        mine = desk_result_of(&d, SAVE(OF("mine")));
        desk_expect(&d, SAVE(OF("of the first") ",\"id\":\"born\",\"expect\":0"), NULL);
        first = d;
        desk_fixture_region(&d); /* a second one beside it */
        desk_expect(&d, DESK_HELLO, NULL);
        theirs = desk_result_of(&d, SAVE(OF("theirs")));
        cr_assert_str_neq(word(mine, "id"), word(theirs, "id"));
        desk_expect(&d, SAVE(OF("of the second") ",\"id\":\"born\",\"expect\":0"), NULL);
        desk_expect(&d, SAVE(OF("leans on it") ",\"id\":\"leans\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"born\"}]"), NULL);
        desk_expect(&first, ON("memory.load", "leans"), "no_record");
        desk_fixture_region_end(&first, true);
        SEES(&d, "born", "of the first");

        t = store_fixture_begin(&d.f, true);
        cr_assert_eq(desk_memory_end(d.desk, t, true, "exited"), 0);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){d.region, true, none, none}, &released, &ended, &d.f.d), 0);
        store_fixture_commit(&d.f, t);
        refused = json_object_get(desk_memory_ended(d.desk), "refused");
        cr_assert_eq(json_array_size(refused), 1);
        cr_assert_str_eq(word(json_array_get(refused, 0), "op"), "save");
        cr_assert_str_eq(word(json_array_get(refused, 0), "id"), "born");
        cr_assert_str_eq(word(json_array_get(refused, 0), "code"), "conflict");
        SEES(&d, "born", "of the first");
        SEES(&d, "leans", "leans on it");
        SEES(&d, word(mine, "id"), "mine");
        SEES(&d, word(theirs, "id"), "theirs");
        events = desk_events(&d);
        cr_assert_eq(desk_count(events, "mutation.refused", "conflict", NULL), 1);
        cr_assert_eq(desk_count(events, "memory.save", NULL, NULL), 2);
}

// I-24, M-11: so many and so much, and then a code; what is held stays good
Test(held, no_more_than_is_held) {
        _cleanup_desk_fixture_ DeskFixture d;
        _cleanup_json_ json_t *events = NULL;
        size_t one;
        char line[300];

        begin(&d);
        for (int i = 0; i < MEMORY_HELD_MAX; i++) {
                snprintf(line, sizeof(line), SAVE(OF("x") ",\"id\":\"row-%04d\""), i);
                desk_expect(&d, line, NULL);
        }
        cr_assert_eq(d.desk->memory_again, 0U, "none of them has to do with another one");
        desk_expect(&d, SAVE(OF("x") ",\"id\":\"row-1024\""), "too_many");
        desk_expect(&d, ON("memory.delete", "row-0000"), "too_many");
        one = d.desk->memory_bytes / MEMORY_HELD_MAX;
        desk_expect(&d, ON("memory.load", "row-1023"), NULL);
        cr_assert_eq(d.desk->memory_again, d.desk->memory_bytes);
        desk_fixture_region_end(&d, true);
        SEES(&d, "row-1023", "x");
        SEES(&d, "row-1024", "");
        events = desk_events(&d);
        cr_assert_eq(desk_count(events, "memory.save", NULL, NULL), MEMORY_HELD_MAX);

        desk_fixture_region(&d);
        desk_expect(&d, DESK_HELLO, NULL);
        d.desk->memory_bytes = MEMORY_HELD_BYTES - one + 1;
        desk_expect(&d, SAVE(OF("y") ",\"id\":\"row-0000\""), "too_large");
        d.desk->memory_bytes = MEMORY_HELD_BYTES - one;
        desk_expect(&d, SAVE(OF("y") ",\"id\":\"row-0000\""), NULL);
        cr_assert_eq(d.desk->memory_bytes, (size_t)MEMORY_HELD_BYTES);
        desk_expect(&d, ON("memory.delete", "row-0001"), "too_large");
        d.desk->memory_again = MEMORY_AGAIN_BYTES - d.desk->memory_bytes;
        desk_expect(&d, ON("memory.load", "row-0000"), NULL);
        desk_expect(&d, ON("memory.load", "row-0000"), "too_many");
        desk_fixture_region_end(&d, true);
        SEES(&d, "row-0000", "y");
        SEES(&d, "row-0001", "x");
}
