/* Saves and deletions of typed memory are held by the region's dispatch until the end of the region: I-24 with M-10, M-11, M-16, M-52. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "dispatch/dispatch-internal.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "memory/records.h"

#include <criterion/criterion.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define SAVE(more) REQUEST("memory.save", "{\"kind\":\"memory_substrate\",\"type\":\"semantic\"," more "}")
#define OF(text) "\"payload\":{\"subject\":\"anna\",\"predicate\":\"was born\",\"object\":\"" text "\"}"
#define ON(method, id) REQUEST(method, "{\"kind\":\"memory_substrate\",\"id\":\"" id "\"}")

static void begin(DispatchFixture *d) {
        Txn *t;
        uint64_t n;

        dispatch_fixture_init(d);
        t = store_fixture_begin(&d->f, true);
        cr_assert_eq(engine_scope_create(t, "uid:0", SCOPE_DEFAULT, &n, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
        dispatch_fixture_region(d);
        dispatch_expect(d, DISPATCH_HELLO, NULL);
}

static const char *word(const json_t *o, const char *name) {
        return json_string_value(json_object_get(o, name)) ?: "";
}

/* The record as all others see it: its object, "" when it is not there. Owned. */
static char *seen(DispatchFixture *d, const char *id) {
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
static void operator(DispatchFixture *d, const char *id, const char *text) {
        _cleanup_json_ json_t *payload = json_pack("{s:s, s:s, s:s}", "subject", "anna", "predicate", "was born", "object", text);
        Txn *t = store_fixture_begin(&d->f, true);
        Mutated done;

        cr_assert_eq(engine_mutate(t, &(Mutation){.who = "uid:0", .kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .type = "semantic", .expect = MUTATION_ANY, .payload = payload},
                                   &done, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
}

static size_t mutations(DispatchFixture *d) {
        _cleanup_json_ json_t *events = dispatch_events(d);

        return dispatch_count(events, "memory.save", NULL, NULL) + dispatch_count(events, "memory.delete", NULL, NULL);
}

// I-24, M-10: what a region saved it sees itself, in every way of reading, and nobody else does; after a breach nobody ever did
Test(held, a_breach_leaves_nothing) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *one = NULL, *two = NULL, *own = NULL, *found = NULL, *list = NULL, *history = NULL, *events = NULL;
        json_int_t count;

        begin(&d);
        one = dispatch_result_of(&d, SAVE(OF("in May") ",\"id\":\"born\",\"expect\":0"));
        cr_assert(json_is_true(json_object_get(one, "created")) && json_is_true(json_object_get(one, "held")));
        cr_assert_null(json_object_get(one, "seq"), "it has no number yet");
        two = dispatch_result_of(&d, SAVE(OF("in June") ",\"id\":\"born\",\"expect\":1"));
        cr_assert(json_is_false(json_object_get(two, "created")) && json_integer_value(json_object_get(two, "version")) == 2);
        own = dispatch_result_of(&d, ON("memory.load", "born"));
        cr_assert_str_eq(word(json_object_get(json_object_get(own, "record"), "payload"), "object"), "in June");
        found = dispatch_result_of(&d, REQUEST("memory.search", "{\"query\":\"june\"}"));
        cr_assert_eq(json_array_size(json_object_get(found, "records")), 1);
        list = dispatch_result_of(&d, REQUEST("memory.list", "{}"));
        cr_assert_eq(json_array_size(json_object_get(list, "records")), 1);
        history = dispatch_result_of(&d, ON("memory.history", "born"));
        cr_assert_eq(json_array_size(json_object_get(history, "changes")), 2);
        SEES(&d, "born", "");
        cr_assert_eq(mutations(&d), 0);
        dispatch_fixture_region_end(&d, false);
        SEES(&d, "born", "");
        cr_assert_eq(mutations(&d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "memory.discarded", NULL, &count), 1);
        cr_assert_eq(count, 2);
}

// I-24, M-10, M-16: a good end commits in order, under the ids that were answered
Test(held, a_good_end_commits) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *one = NULL, *two = NULL, *events = NULL;
        _cleanup_free_ char *ref = NULL;
        const json_t *ended;

        begin(&d);
        one = dispatch_result_of(&d, SAVE(OF("in May")));
        two = dispatch_result_of(&d, SAVE(OF("in June")));
        cr_assert_str_neq(word(one, "id"), word(two, "id"));
        cr_assert_gt(asprintf(&ref, SAVE(OF("of both") ",\"id\":\"both\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"%s\"}]"), word(one, "id")), 0);
        dispatch_expect(&d, ref, NULL);
        dispatch_expect(&d, SAVE(OF("x") ",\"id\":\"far\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"nowhere\"}]"), "bad_ref");
        dispatch_expect(&d, SAVE(OF("x") ",\"expect\":3"), "conflict");
        operator(&d, "other", "while it runs"); /* takes the numbers that the judgements saw */
        operator(&d, "more", "while it runs");
        {
                Txn *t = store_fixture_begin(&d.f, true);

                cr_assert_eq(dispatch_memory_end(d.dispatch, t, true, "exited"), 0);
                ended = dispatch_memory_ended(d.dispatch);
                cr_assert_eq(json_integer_value(json_object_get(ended, "held")), 3);
                cr_assert_eq(json_integer_value(json_object_get(ended, "committed")), 3);
                cr_assert_eq(json_array_size(json_object_get(ended, "refused")), 0);
                store_abort(t); /* the end was taken back, and is made again */
        }
        SEES(&d, "both", "");
        dispatch_fixture_region_end(&d, true);
        SEES(&d, word(one, "id"), "in May");
        SEES(&d, word(two, "id"), "in June");
        SEES(&d, "both", "of both");
        SEES(&d, "other", "while it runs");
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "memory.save", NULL, NULL), 3);
        cr_assert_eq(dispatch_count(events, "mutation.refused", NULL, NULL), 2, "what was refused when it was asked for is recorded then, once");
        cr_assert_eq(dispatch_count(events, "memory.discarded", NULL, NULL), 0);
}

// I-24, M-52: saved and deleted by the same region, and what was there before
Test(held, what_is_saved_is_deleted) {
        _cleanup_dispatch_fixture_ DispatchFixture d;

        begin(&d);
        operator(&d, "old", "of before");
        for (int keep = 0; keep < 2; keep++) {
                dispatch_expect(&d, SAVE(OF("for a moment") ",\"id\":\"brief\",\"expect\":0"), NULL);
                dispatch_expect(&d, ON("memory.delete", "brief"), NULL);
                dispatch_expect(&d, ON("memory.load", "brief"), "no_record");
                dispatch_expect(&d, ON("memory.delete", "brief"), "no_record");
                dispatch_expect(&d, ON("memory.delete", "old"), NULL);
                dispatch_expect(&d, ON("memory.load", "old"), "no_record");
                SEES(&d, "old", "of before");
                dispatch_fixture_region_end(&d, keep);
                SEES(&d, "brief", "");
                SEES(&d, "old", keep ? "" : "of before");
                cr_assert_eq(mutations(&d), keep ? 3 : 0);
                if (!keep) {
                        dispatch_fixture_region(&d);
                        dispatch_expect(&d, DISPATCH_HELLO, NULL);
                }
        }
}

// I-24, M-11: two regions hold what cannot both be; the one that ends later is told with its end, and leaves its code
Test(held, two_regions_at_once) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *mine = NULL, *theirs = NULL, *events = NULL, *none = json_object();
        DispatchFixture first;
        const json_t *refused;
        uint64_t released, ended;
        Txn *t;

        begin(&d);
        mine = dispatch_result_of(&d, SAVE(OF("mine")));
        dispatch_expect(&d, SAVE(OF("of the first") ",\"id\":\"born\",\"expect\":0"), NULL);
        first = d;
        dispatch_fixture_region(&d); /* a second one beside it */
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        theirs = dispatch_result_of(&d, SAVE(OF("theirs")));
        cr_assert_str_neq(word(mine, "id"), word(theirs, "id"));
        dispatch_expect(&d, SAVE(OF("of the second") ",\"id\":\"born\",\"expect\":0"), NULL);
        dispatch_expect(&d, SAVE(OF("leans on it") ",\"id\":\"leans\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"born\"}]"), NULL);
        dispatch_expect(&first, ON("memory.load", "leans"), "no_record");
        dispatch_fixture_region_end(&first, true);
        SEES(&d, "born", "of the first");

        t = store_fixture_begin(&d.f, true);
        cr_assert_eq(dispatch_memory_end(d.dispatch, t, true, "exited"), 0);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){d.region, true, none, none}, &released, &ended, &d.f.d), 0);
        store_fixture_commit(&d.f, t);
        refused = json_object_get(dispatch_memory_ended(d.dispatch), "refused");
        cr_assert_eq(json_array_size(refused), 1);
        cr_assert_str_eq(word(json_array_get(refused, 0), "op"), "save");
        cr_assert_str_eq(word(json_array_get(refused, 0), "id"), "born");
        cr_assert_str_eq(word(json_array_get(refused, 0), "code"), "conflict");
        SEES(&d, "born", "of the first");
        SEES(&d, "leans", "leans on it");
        SEES(&d, word(mine, "id"), "mine");
        SEES(&d, word(theirs, "id"), "theirs");
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "mutation.refused", "conflict", NULL), 1);
        cr_assert_eq(dispatch_count(events, "memory.save", NULL, NULL), 2);
}

// I-24, M-11: so many and so much, and then a code; what is held stays good
Test(held, no_more_than_is_held) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        size_t one;
        char line[300];

        begin(&d);
        for (int i = 0; i < MEMORY_HELD_MAX; i++) {
                snprintf(line, sizeof(line), SAVE(OF("x") ",\"id\":\"row-%04d\""), i);
                dispatch_expect(&d, line, NULL);
        }
        cr_assert_eq(d.dispatch->memory_again, 0U, "none of them has to do with another one");
        dispatch_expect(&d, SAVE(OF("x") ",\"id\":\"row-1024\""), "too_many");
        dispatch_expect(&d, ON("memory.delete", "row-0000"), "too_many");
        one = d.dispatch->memory_bytes / MEMORY_HELD_MAX;
        dispatch_expect(&d, ON("memory.load", "row-1023"), NULL);
        cr_assert_eq(d.dispatch->memory_again, d.dispatch->memory_bytes);
        dispatch_fixture_region_end(&d, true);
        SEES(&d, "row-1023", "x");
        SEES(&d, "row-1024", "");
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "memory.save", NULL, NULL), MEMORY_HELD_MAX);

        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        d.dispatch->memory_bytes = MEMORY_HELD_BYTES - one + 1;
        dispatch_expect(&d, SAVE(OF("y") ",\"id\":\"row-0000\""), "too_large");
        d.dispatch->memory_bytes = MEMORY_HELD_BYTES - one;
        dispatch_expect(&d, SAVE(OF("y") ",\"id\":\"row-0000\""), NULL);
        cr_assert_eq(d.dispatch->memory_bytes, (size_t)MEMORY_HELD_BYTES);
        dispatch_expect(&d, ON("memory.delete", "row-0001"), "too_large");
        d.dispatch->memory_again = MEMORY_AGAIN_BYTES - d.dispatch->memory_bytes;
        dispatch_expect(&d, ON("memory.load", "row-0000"), NULL);
        dispatch_expect(&d, ON("memory.load", "row-0000"), "too_many");
        dispatch_fixture_region_end(&d, true);
        SEES(&d, "row-0000", "y");
        SEES(&d, "row-0001", "x");
}
