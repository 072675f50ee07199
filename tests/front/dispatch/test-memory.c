/* memory.* at the dispatch: what a region may of typed memory, and what it may not; what is refused leaves its code and nothing else. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "dispatch/dispatch-internal.h"
#include "engine/delete.h"
#include "engine/mutate.h"
#include "engine/scope.h"
#include "memory/records.h"

#include <criterion/criterion.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define SAVE(more) REQUEST("memory.save", "{\"kind\":\"memory_substrate\",\"type\":\"semantic\"," more "}")
#define FACT "\"payload\":{\"subject\":\"anna\",\"predicate\":\"was born\",\"object\":\"in May\"}"

static void scope(DispatchFixture *d, const char *name) {
        Txn *t = store_fixture_begin(&d->f, true);
        uint64_t n;

        cr_assert_eq(engine_scope_create(t, "uid:0", name, &n, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
}

/* A record as the operator saves it. */
static void record(DispatchFixture *d, const char *in, Kind kind, const char *id, const char *text, const char *refs) {
        _cleanup_json_ json_t *payload = kind == KIND_MEMORY ? json_pack("{s:s, s:s, s:s}", "subject", "operator", "predicate", "says", "object", text)
                                                             : json_pack("{s:s, s:s}", "title", id, "text", text), *r = refs ? dispatch_json(refs) : NULL;
        Txn *t = store_fixture_begin(&d->f, true);
        Mutated done;

        cr_assert_eq(engine_mutate(t, &(Mutation){.who = "uid:0", .scope = in, .kind = kind, .op = OP_SAVE, .id = id, .expect = MUTATION_ANY, .payload = payload,
                                                  .type = kind == KIND_MEMORY ? "semantic" : NULL, .refs = r}, &done, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
}

static void begin(DispatchFixture *d) {
        dispatch_fixture_init(d);
        scope(d, "default");
        scope(d, "pages");
        scope(d, "other");
        record(d, "default", KIND_MEMORY, "mine", "a thing", NULL);
        record(d, "other", KIND_MEMORY, "theirs", "a secret thing", NULL);
        record(d, "pages", KIND_KNOWLEDGE, "page", "an open page", NULL);
        record(d, "pages", KIND_MEMORY, "hidden", "a hidden thing", NULL);
        dispatch_fixture_region(d);
        dispatch_expect(d, DISPATCH_HELLO, NULL);
}

/* All that a region could have changed: the rows of all scopes, and what of its events is a mutation. */
static json_t *state(DispatchFixture *d) {
        static const char *const scopes[] = {"default", "pages", "other"};
        const RecordFilter all = {0};
        json_t *o = json_object();
        Txn *t = store_fixture_begin(&d->f, false);

        for (size_t i = 0; i < ARRAY_SIZE(scopes); i++) {
                json_t *list;

                cr_assert_eq(memory_list(t, scopes[i], &all, &list, &d->f.d), 0, "%s", d->f.d.text);
                json_object_set_new(o, scopes[i], list);
        }
        store_abort(t);
        return o;
}

// M-1 M-11 M-18 M-21 M-23 I-11: refused with a code, and nothing is written
Test(memory, hostile_requests_write_nothing) {
        static const struct {
                const char *line, *word;
                bool recorded; /* by the engine, as mutation.refused; else as request.refused */
        } rows[] = {
                {SAVE(FACT ",\"scope\":\"other\""), "not_granted", false},
                {SAVE(FACT ",\"scope\":\"nowhere\""), "not_granted", false},
                {SAVE(FACT ",\"scope\":\"../default\""), "not_granted", false},
                {SAVE(FACT ",\"id\":\"../mine\""), "bad_name", true},
                {SAVE(FACT ",\"id\":\"Mine\""), "bad_name", true},
                {SAVE(FACT ",\"id\":\"\""), "bad_name", true},
                {SAVE(FACT ",\"id\":\"mine\",\"expect\":0"), "conflict", true},
                {SAVE(FACT ",\"id\":\"a\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"theirs\"}]"), "bad_ref", true},
                {SAVE(FACT ",\"id\":\"a\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"theirs\",\"scope\":\"other\"}]"), "cross_scope", true},
                {SAVE(FACT ",\"id\":\"a\",\"refs\":[{\"kind\":\"agent_model_kernel\",\"id\":\"agent_model_kernel\"}]"), "bad_ref", true},
                {SAVE(FACT ",\"id\":\"a\",\"scope\":\"pages\",\"refs\":[{\"kind\":\"skill_artifacts\",\"id\":\"x\"}]"), "not_granted", false},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\\u001b[2J\"}"), "bad_payload", true},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\\u0000\"}"), "bad_payload", true},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"\\u202ec\"}"), "bad_payload", true},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\",\"support\":{\"strong\":9}}"), "service_metadata", true},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\",\"x\":1}"), "bad_payload", true},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\",\"confidence\":9007199254740993}"), "bad_payload", true},
                {SAVE("\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"key: $KEY\"}"), "key_escape", true},
                {SAVE(FACT ",\"id\":\"$KEY\""), "key_escape", true},
                {SAVE(FACT ",\"id\":\"a\",\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"$KEY\"}]"), "key_escape", true},
                {REQUEST("memory.save", "{\"kind\":\"world_model_kernel\",\"payload\":{\"rules\":[]}}"), "not_granted", false},
                {REQUEST("memory.save", "{\"kind\":\"working_state\",\"payload\":{}}"), "not_granted", false},
                {REQUEST("memory.save", "{\"kind\":\"issues\",\"payload\":{\"title\":\"t\"}}"), "not_granted", false},
                {REQUEST("memory.save", "{\"kind\":\"memories\",\"payload\":{}}"), "not_granted", false},
                {REQUEST("memory.save", "{\"kind\":\"memory_substrate\\u0000\",\"payload\":{}}"), "invalid_params", false},
                {REQUEST("memory.save", "{\"kind\":\"memory_substrate\",\"payload\":{\"subject\":\"a\"}}"), "bad_payload", true},
                {SAVE(FACT ",\"who\":\"uid:0\""), "invalid_params", false},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"theirs\",\"scope\":\"other\"}"), "not_granted", false},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"hidden\",\"scope\":\"pages\"}"), "not_granted", false},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"theirs\"}"), "no_record", true},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"a/../mine\"}"), "bad_name", true},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\",\"reason\":\"$KEY\"}"), "key_escape", true},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\",\"reason\":\"a\\u001b\"}"), "bad_payload", false},
                {REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\",\"cascade\":true}"), "invalid_params", false},
                {REQUEST("memory.restore", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"), "unknown_method", false},
        };
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *before = NULL, *after = NULL, *events = NULL;
        _cleanup_free_ char *dump = NULL;
        size_t recorded = 0;

        begin(&d);
        before = state(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_assert_eq(dispatch_ask(&d, rows[i].line, rows[i].word), 0, "row %zu: %s", i, d.f.d.text);
                recorded += rows[i].recorded;
                json_decref(events);
                events = dispatch_events(&d);
                cr_assert_eq(dispatch_count(events, "mutation.refused", NULL, NULL), recorded, "row %zu: %s", i, rows[i].line);
                cr_assert_eq(dispatch_count(events, rows[i].recorded ? "mutation.refused" : "request.refused", rows[i].word, NULL) > 0, true, "row %zu", i);
        }
        after = state(&d);
        cr_assert(json_equal(before, after));
        cr_assert_eq(dispatch_count(events, "request.refused", "bad_name", NULL) + dispatch_count(events, "request.refused", "key_escape", NULL), 0, "recorded once");
        cr_assert_eq(dispatch_count(events, "memory.save", NULL, NULL) + dispatch_count(events, "memory.delete", NULL, NULL), 0);
        dump = json_dumps(events, 0);
        cr_assert_null(strstr(dump, d.key), "the ledger cannot forget a key");
        dispatch_fixture_region_end(&d, false);
}

// A text of a megabyte, and one beyond what a line can have
Test(memory, large_texts) {
        static const struct {
                size_t n;
                const char *word;
        } rows[] = {{16384, NULL}, {16385, "too_large"}, {1000000, "too_large"}};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *before = NULL, *after = NULL;

        begin(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *text = malloc(rows[i].n + 1), *line = NULL;

                memset(text, 'x', rows[i].n);
                text[rows[i].n] = 0;
                json_decref(before);
                before = state(&d);
                cr_assert_gt(asprintf(&line, SAVE("\"id\":\"long\",\"payload\":{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"%s\"}"), text), 0);
                dispatch_expect(&d, line, rows[i].word);
                json_decref(after);
                after = state(&d);
                cr_assert(json_equal(before, after), "%zu bytes: what is taken is held until the end", rows[i].n);
        }
        dispatch_fixture_region_end(&d, true);
        json_decref(after);
        after = state(&d);
        cr_assert_eq(json_array_size(json_object_get(after, "default")), json_array_size(json_object_get(before, "default")) + 1);
}

// M-21: of what is not granted a region learns nothing, not even whether it is there; G-2 M-9: nothing but records is ever shown
Test(memory, reads_stay_within_scope_and_family) {
        static const struct {
                const char *line, *word;
        } rows[] = {
                {REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"theirs\",\"scope\":\"other\"}"), "not_granted"},
                {REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"theirs\"}"), "no_record"},
                {REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"hidden\",\"scope\":\"pages\"}"), "not_granted"},
                {REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"../../other/theirs\"}"), "no_record"},
                {REQUEST("memory.load", "{\"kind\":\"working_state\",\"id\":\"main\"}"), "not_granted"},
                {REQUEST("memory.load", "{\"kind\":\"agent_model_kernel\",\"id\":\"agent_model_kernel\"}"), "not_granted"},
                {REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"hidden\",\"scope\":\"pages\"}"), "not_granted"},
                {REQUEST("memory.list", "{\"scope\":\"other\"}"), "not_granted"},
                {REQUEST("memory.list", "{\"scope\":\"nowhere\"}"), "not_granted"},
                {REQUEST("memory.list", "{\"scope\":\"pages\",\"after\":\"01\"}"), "invalid_params"},
                {REQUEST("memory.search", "{\"query\":\"secret\",\"scope\":\"other\"}"), "not_granted"},
                {REQUEST("memory.search", "{\"query\":\"kind:memory\"}"), "bad_query"},
                {REQUEST("memory.search", "{\"query\":\"a AND b\"}"), "bad_query"},
        };
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *list = NULL, *found = NULL, *page = NULL;

        begin(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                dispatch_expect(&d, rows[i].line, rows[i].word);
        list = dispatch_result_of(&d, REQUEST("memory.list", "{\"scope\":\"pages\"}"));
        cr_assert_eq(json_array_size(json_object_get(list, "records")), 1);
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(list, "records"), 0), "id")), "page");
        found = dispatch_result_of(&d, REQUEST("memory.search", "{\"query\":\"hidden thing page\",\"scope\":\"pages\"}"));
        cr_assert_eq(json_array_size(json_object_get(found, "records")), 1);
        page = dispatch_result_of(&d, REQUEST("memory.load", "{\"kind\":\"knowledge_projections\",\"id\":\"page\",\"scope\":\"pages\"}"));
        cr_assert_str_eq(json_string_value(json_object_get(json_object_get(json_object_get(page, "record"), "payload"), "text")), "an open page");
        dispatch_fixture_region_end(&d, false);
}

// M-10 M-16 M-52 M-55 I-24: one mutation a write, with the region's id; what it says is so for the region, and with its end for all
Test(memory, saves_and_deletes) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *one = NULL, *two = NULL, *history = NULL, *rest = NULL, *events = NULL, *gone = NULL;
        const json_t *changes;

        begin(&d);
        one = dispatch_result_of(&d, SAVE(FACT ",\"id\":\"born\",\"expect\":0"));
        cr_assert(json_is_true(json_object_get(one, "created")));
        two = dispatch_result_of(&d, SAVE(FACT ",\"id\":\"born\",\"expect\":1,\"refs\":[{\"kind\":\"memory_substrate\",\"id\":\"mine\"}]"));
        cr_assert(json_is_false(json_object_get(two, "created")) && json_integer_value(json_object_get(two, "version")) == 2);
        dispatch_expect(&d, REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"), "dependents");
        history = dispatch_result_of(&d, REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"born\",\"limit\":1}"));
        changes = json_object_get(history, "changes");
        cr_assert_eq(json_array_size(changes), 1);
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(changes, 0), "change")), "created");
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(changes, 0), "region")), d.region);
        cr_assert(json_is_integer(json_object_get(history, "next")));
        dispatch_expect(&d, REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"born\",\"reason\":\"no more\"}"), NULL);
        dispatch_expect(&d, REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"born\"}"), "no_record");
        rest = dispatch_result_of(&d, REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"born\"}"));
        cr_assert_eq(json_array_size(json_object_get(rest, "changes")), 3);
        cr_assert_null(json_object_get(rest, "next"));
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "memory.save", NULL, NULL) + dispatch_count(events, "memory.delete", NULL, NULL), 0);
        cr_assert_eq(dispatch_count(events, "memory.read", NULL, NULL), 0);
        gone = dispatch_result_of(&d, REQUEST("memory.list", "{\"filter\":\"id:born\"}"));
        cr_assert_eq(json_array_size(json_object_get(gone, "records")), 0);
        dispatch_fixture_region_end(&d, true);
        json_decref(events);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "memory.read", NULL, NULL), 1);
        cr_assert_eq(dispatch_count(events, "memory.save", NULL, NULL), 2);
        cr_assert_eq(dispatch_count(events, "memory.delete", NULL, NULL), 1);
}

/* The entries of one type, and `read` of all of them as text. */
static size_t read_entries(json_t *events, const char *type, char **ret) {
        _cleanup_json_ json_t *all = json_array();
        size_t n = 0, i;
        json_t *row;

        json_array_foreach(events, i, row)
                if (json_text_is(json_object_get(row, "type"), type)) {
                        n++;
                        if (json_object_get(row, "read"))
                                json_array_append(all, json_object_get(row, "read"));
                }
        cr_assert_eq(json_canonical(all, ret, NULL), 0);
        return n;
}

// I-77: what was read is recorded with its versions, each once, at the region's end; the region's own words are nobody's; at `stats` only how often.
Test(memory, reads_are_recorded_with_versions) {
        static const LineageDetail levels[] = {LINEAGE_EVENTS, LINEAGE_HANDLES, LINEAGE_STATS};

        for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
                _cleanup_json_ json_t *events = NULL, *released = NULL;
                _cleanup_dispatch_fixture_ DispatchFixture d;
                _cleanup_free_ char *text = NULL;
                size_t n;

                dispatch_fixture_init(&d);
                d.grant.lineage = levels[i];
                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                dispatch_expect(&d, SAVE(FACT ",\"id\":\"one\""), NULL);
                dispatch_expect(&d, SAVE(FACT ",\"id\":\"two\""), NULL);
                dispatch_fixture_region_end(&d, true);
                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                dispatch_expect(&d, SAVE(FACT ",\"id\":\"two\",\"expect\":1"), NULL);
                dispatch_fixture_region_end(&d, true);
                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                for (int k = 0; k < 3; k++)
                        dispatch_expect(&d, REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"two\"}"), NULL);
                dispatch_expect(&d, REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"two\",\"limit\":1}"), NULL);
                dispatch_expect(&d, REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"none\"}"), "no_record");
                dispatch_expect(&d, SAVE(FACT ",\"id\":\"one\",\"expect\":1"), NULL);
                dispatch_expect(&d, REQUEST("memory.list", "{\"filter\":\"\"}"), NULL); /* of one it sees what it wrote itself */
                dispatch_fixture_region_end(&d, true);
                events = dispatch_events(&d);
                n = read_entries(events, "memory.read", &text);
                if (levels[i] == LINEAGE_STATS) {
                        cr_expect_eq(n, 0);
                        released = json_incref(json_array_get(events, json_array_size(events) - 2));
                        cr_expect_eq(json_integer_value(json_object_get(json_object_get(json_object_get(released, "lineage"), "counts"), "memory.read")), 6);
                } else {
                        cr_expect_eq(n, 1, "level %zu: %zu", i, n);
                        cr_expect_str_eq(text, "[{\"default\":{\"memory_substrate\":{\"two\":[2,1]}}}]");
                }
        }
}

// I-77: of a record that the region saved itself it reads what others wrote all the same: versions before, and what stands where its own is refused by now.
Test(memory, reads_of_what_it_saved_itself) {
        _cleanup_json_ json_t *events = NULL;
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_free_ char *text = NULL;

        begin(&d);
        record(&d, "default", KIND_MEMORY, "early", "one", NULL);
        record(&d, "default", KIND_MEMORY, "gone", "one", NULL);
        dispatch_expect(&d, SAVE(FACT ",\"id\":\"early\""), NULL);
        dispatch_expect(&d, REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"early\"}"), NULL);
        dispatch_expect(&d, REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"gone\"}"), NULL);
        dispatch_expect(&d, REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"gone\"}"), NULL);
        dispatch_expect(&d, SAVE(FACT ",\"id\":\"mine\",\"expect\":1"), NULL);
        dispatch_expect(&d, REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"), NULL);
        record(&d, "default", KIND_MEMORY, "mine", "a secret", NULL);
        record(&d, "default", KIND_MEMORY, "mine", "a secret", NULL);
        dispatch_expect(&d, REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"), NULL);
        dispatch_fixture_region_end(&d, true);
        events = dispatch_events(&d);
        cr_expect_eq(read_entries(events, "memory.read", &text), 1);
        cr_expect_str_eq(text, "[{\"default\":{\"memory_substrate\":{\"early\":[1],\"gone\":[1],\"mine\":[3]}}}]");
}

// I-77: no region writes the ledger without end: what was read stands in as many entries as it takes, and what is beyond the bound is counted.
Test(memory, reads_are_bounded) {
        enum { MOST = 8192, BEYOND = 30 };
        _cleanup_json_ json_t *events = NULL;
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_free_ char *text = NULL;
        size_t n, i, found = 0;
        json_t *row;
        Txn *t;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        d.dispatch->memory_reads = 1;
        for (uint64_t v = 0; v < MOST + BEYOND; v++) {
                char id[RECORD_ID_MAX];

                snprintf(id, sizeof(id), "%064llu", (unsigned long long)v);
                cr_assert_eq(dispatch_read(d.dispatch, &d.dispatch->remembered, "default", "memory_substrate", id, v), 0);
        }
        t = store_fixture_begin(&d.f, true);
        cr_assert_eq(dispatch_reads_end(d.dispatch, t), 0);
        store_fixture_commit(&d.f, t);
        events = dispatch_events(&d);
        n = read_entries(events, "memory.read", &text);
        cr_assert(n > 1 && n < 30, "%zu entries", n);
        json_array_foreach(events, i, row) {
                if (!json_object_get(row, "read"))
                        continue;
                found += json_object_size(json_object_get(json_object_get(json_object_get(row, "read"), "default"), "memory_substrate"));
                cr_expect_null(json_object_get(row, "fields"), "in the entry, and not beside it");
        }
        cr_assert_eq(found, MOST);
        cr_assert(strstr(text, "8191") && !strstr(text, "8192]"));
        for (i = 0, n = 0; i < json_array_size(events); i++)
                n += (size_t)json_integer_value(json_object_get(json_array_get(events, i), "more"));
        cr_assert_eq(n, BEYOND);
}

// Lists and searches end, however much there is: what is left is for the next request; a phrase that nothing has is not looked for in everything
Test(memory, answers_are_bounded) {
        enum { RECORDS = MEMORY_LOOK_RECORDS + 50 };
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *found = NULL;
        char next[MEMORY_PLACE_MAX] = "", id[32];
        size_t seen = 0, parts = 0;
        Txn *t;

        begin(&d);
        t = store_fixture_begin(&d.f, true);
        for (int i = 0; i < RECORDS; i++) {
                _cleanup_json_ json_t *payload = json_pack("{s:s, s:s, s:s}", "subject", "row", "predicate", "says", "object", "common words here");
                Mutated done;

                snprintf(id, sizeof(id), "row-%05d", i);
                cr_assert_eq(engine_mutate(t, &(Mutation){.who = "uid:0", .scope = "default", .kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .type = "semantic",
                                                          .expect = MUTATION_ANY, .payload = payload, .one_of_many = true}, &done, &d.f.d), 0, "%s", d.f.d.text);
        }
        store_fixture_commit(&d.f, t);
        do {
                _cleanup_json_ json_t *list = NULL;
                char line[300];

                snprintf(line, sizeof(line), REQUEST("memory.list", "{\"filter\":\"prefix:says\",\"limit\":1000%s%s%s}"), *next ? ",\"after\":\"" : "", next, *next ? "\"" : "");
                list = dispatch_result_of(&d, line);
                seen += json_array_size(json_object_get(list, "records"));
                snprintf(next, sizeof(next), "%s", json_string_value(json_object_get(list, "next")) ?: "");
                cr_assert_lt(parts++, 10);
        } while (*next);
        cr_assert_geq(parts, 2, "a filter that takes nothing is no way around it");
        cr_assert_eq(seen, 0);
        found = dispatch_result_of(&d, REQUEST("memory.search", "{\"query\":\"\\\"words common\\\" row\"}"));
        cr_assert(json_is_true(json_object_get(found, "cut")));
        json_decref(found);
        found = dispatch_result_of(&d, REQUEST("memory.search", "{\"query\":\"common\",\"limit\":100}"));
        cr_assert_eq(json_array_size(json_object_get(found, "records")), 100);
        cr_assert_null(json_object_get(found, "cut"));
        d.dispatch->memory_reads = MEMORY_READS_MAX - 1;
        dispatch_expect(&d, REQUEST("memory.list", "{\"limit\":1}"), NULL);
        dispatch_expect(&d, REQUEST("memory.list", "{\"limit\":1}"), "too_many");
        d.dispatch->memory_writes = MEMORY_WRITES_MAX - 1; /* each costs a commit */
        dispatch_expect(&d, SAVE(FACT ",\"id\":\"mine\",\"expect\":9"), "conflict");
        dispatch_expect(&d, SAVE(FACT), "too_many");
        dispatch_expect(&d, REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"), "too_many");
        dispatch_fixture_region_end(&d, false);
}

/* Deletes what so many refer to: all go that hold on to it, and the event names so many and says how many more there were. */
static void by_operator(DispatchFixture *d, int dependents) {
        _cleanup_json_ json_t *went = NULL, *entry = NULL;
        Txn *t = store_fixture_begin(&d->f, true);
        uint64_t seq;

        cr_assert_eq(engine_delete(t, &(Deletion){.scope = "default", .kind = KIND_MEMORY, .id = "mine", .who = "uid:0"}, &went, &d->f.d), 0, "%s", d->f.d.text);
        cr_assert_eq(json_get_u64(json_object_get(json_array_get(went, 0), "seq"), &seq), 0);
        cr_assert_eq(event_get(t, seq, &entry), 0);
        cr_expect_eq(json_array_size(json_object_get(entry, "dependents")), DELETE_DEPENDENTS_MAX);
        cr_expect_eq(json_integer_value(json_object_get(entry, "dependents_more")), dependents - DELETE_DEPENDENTS_MAX);
        store_fixture_commit(&d->f, t);
}

// M-53 M-55: a deletion by a region looks at so many dependents and no more, and its record fits an entry of the ledger
Test(memory, deletion_is_bounded) {
        static const int rows[] = {DELETE_DEPENDENTS_MAX, DELETE_DEPENDENTS_MAX + 1};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *refs = dispatch_json("[{\"kind\":\"memory_substrate\",\"id\":\"mine\",\"strength\":\"weak\"}]");
        int made = 0;

        begin(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Txn *t = store_fixture_begin(&d.f, true);

                for (; made < rows[i]; made++) {
                        _cleanup_json_ json_t *payload = json_pack("{s:s, s:s, s:s}", "subject", "a", "predicate", "b", "object", "c");
                        char id[80];
                        Mutated done;

                        snprintf(id, sizeof(id), "%060d", made);
                        cr_assert_eq(engine_mutate(t, &(Mutation){.who = "uid:0", .scope = "default", .kind = KIND_MEMORY, .op = OP_SAVE, .id = id,
                                                                  .type = "semantic", .expect = MUTATION_ANY, .payload = payload, .refs = refs, .one_of_many = true},
                                                   &done, &d.f.d), 0);
                }
                store_fixture_commit(&d.f, t);
                dispatch_expect(&d, REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"), rows[i] > DELETE_DEPENDENTS_MAX ? "dependents" : NULL);
                if (i == 0)
                        record(&d, "default", KIND_MEMORY, "mine", "again", NULL);
        }
        by_operator(&d, rows[1]);
        dispatch_fixture_region_end(&d, false);
}

// Nothing is granted by default
Test(memory, nothing_without_a_grant) {
        static const char *const lines[] = {
                SAVE(FACT),
                REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"),
                REQUEST("memory.list", "{}"),
                REQUEST("memory.search", "{\"query\":\"thing\"}"),
                REQUEST("memory.history", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"),
                REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"mine\"}"),
                REQUEST("memory.list", "{\"scope\":\"default\"}"),
        };
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *before = NULL, *after = NULL;

        begin(&d);
        d.grant.n_memory = 0;
        before = state(&d);
        for (size_t i = 0; i < ARRAY_SIZE(lines); i++)
                dispatch_expect(&d, lines[i], "not_granted");
        after = state(&d);
        cr_assert(json_equal(before, after));
        dispatch_fixture_region_end(&d, false);
}
