/* Promises of the dispatch: the permit table, durability before the answer, copies at entry, which events are recorded and which are not. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "base/hash.h"
#include "dispatch/dispatch-internal.h"

#include <criterion/criterion.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

/* Each method in each state, against the table as schema/protocol.md prints it. */
Test(dispatch, permit_table) {
        static const struct {
                const char *line;
                bool allowed[3]; /* new, open, done */
        } rows[] = {
                {REQUEST("hello", "{\"protocol\":1}"), {1, 1, 1}},
                {REQUEST("slot.read", "{\"name\":\"facts\"}"), {0, 1, 1}},
                {REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}"), {0, 1, 0}},
                {REQUEST("slot.list", "{}"), {0, 1, 1}},
                {REQUEST("note.add", "{\"text\":\"t\"}"), {0, 1, 0}},
                {REQUEST("canon.read", "{}"), {0, 1, 1}},
                {REQUEST("log", "{\"message\":\"m\"}"), {0, 1, 1}},
                {REQUEST("progress", "{\"done\":1}"), {0, 1, 0}},
                {REQUEST("result", "{\"value\":1}"), {0, 1, 0}},
        };
        _cleanup_dispatch_fixture_ DispatchFixture d;

        dispatch_fixture_init(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                for (size_t state = 0; state < 3; state++) {
                        dispatch_fixture_region(&d);
                        if (state > 0)
                                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                        if (state > 1)
                                dispatch_expect(&d, REQUEST("result", "{\"value\":0}"), NULL);
                        cr_assert_eq(dispatch_expect(&d, rows[i].line, rows[i].allowed[state] ? NULL : "not_permitted"), 0);
                        dispatch_fixture_region_end(&d, false);
                }
}

// The answer to a write comes after its commit: a new reader of the store sees the event that the answer names.
Test(dispatch, write_is_durable_before_its_answer) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *answer = NULL, *event = NULL, *result;
        static const char line[] = REQUEST("slot.write", "{\"name\":\"out\",\"value\":{\"k\":\"v\"}}");
        uint64_t seq;
        Txn *t;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        cr_assert_eq(dispatch_say(&d, line, strlen(line), &answer), 0);
        result = json_incref(json_object_get(answer, "result"));
        cr_assert_eq(json_get_u64(json_object_get(result, "seq"), &seq), 0);
        cr_assert(json_is_true(json_object_get(result, "held")));
        t = store_fixture_begin(&d.f, false);
        cr_assert_eq(event_get(t, seq, &event), 0);
        store_abort(t);
        cr_assert_str_eq(json_string_value(json_object_get(event, "type")), "slot.proposed");
        cr_assert_str_eq(json_string_value(json_object_get(event, "region")), d.region); // I-53
}

/* A read of the shims' form and a read of another form get one answer: a value, not granted, no value, no name. */
Test(dispatch, a_read_is_answered_the_same_in_every_form) {
        static const char *const names[] = {"facts", "notes/a", "out", "elsewhere", "No", "", "a\\u0062", "notes/\\/a"};
        _cleanup_dispatch_fixture_ DispatchFixture d;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
                _cleanup_json_ json_t *shim = NULL, *other = NULL;
                char line[200];

                snprintf(line, sizeof(line), "{\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"slot.read\",\"params\":{\"name\":\"%s\"}}", names[i]);
                dispatch_say(&d, line, strlen(line), &shim);
                snprintf(line, sizeof(line), "{\"id\":7, \"jsonrpc\":\"2.0\",\"method\":\"slot.read\",\"params\":{\"name\":\"%s\"}}", names[i]);
                dispatch_say(&d, line, strlen(line), &other);
                cr_assert(shim && json_equal(shim, other), "%s", names[i]);
        }
}

// I-20: the copy made at entry answers, whatever others write meanwhile; what the region wrote itself it reads back.
Test(dispatch, reads_are_of_the_copy_at_entry) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *before = NULL, *after = NULL, *own = NULL, *v = json_string("changed");
        static const char read_note[] = REQUEST("slot.read", "{\"name\":\"notes/a\"}"), read_facts[] = REQUEST("slot.read", "{\"name\":\"facts\"}");
        uint64_t seq, version;
        Txn *t;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_say(&d, read_note, strlen(read_note), &before);
        t = store_fixture_begin(&d.f, true);
        cr_assert_eq(engine_slot_put(t, "uid:0", "notes/a", v, -1, &seq, &version, &d.f.d), 0, "%s", d.f.d.text);
        store_fixture_commit(&d.f, t);
        dispatch_say(&d, read_note, strlen(read_note), &after);
        cr_assert(json_equal(before, after), "another's write is seen within the region");

        cr_assert_eq(dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"facts\",\"value\":{\"n\":9}}"), NULL), 0);
        dispatch_say(&d, read_facts, strlen(read_facts), &own);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(json_object_get(own, "result"), "value"), "n")), 9);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(own, "result"), "version")), 2);
        /* A slot that may only be written is readable once it holds one's own value, and only then. */
        dispatch_expect(&d, REQUEST("slot.read", "{\"name\":\"out\"}"), "not_granted");
        dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}"), NULL);
        dispatch_expect(&d, REQUEST("slot.read", "{\"name\":\"out\"}"), NULL);
}

// A refused proposal is an event once, not twice; a refused line without a proposal is request.refused.
Test(dispatch, refusals_are_recorded_once) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        json_int_t sum;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"secret\",\"value\":1}"), "not_granted");
        dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"facts\",\"value\":[]}"), "schema");
        dispatch_expect(&d, REQUEST("slot.read", "{\"name\":\"secret\"}"), "not_granted");
        dispatch_expect(&d, REQUEST("slot.read", "{\"name\":\"empty\"}"), "no_value");
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "slot.refused", "not_granted", NULL), 1);
        cr_assert_eq(dispatch_count(events, "slot.refused", "schema", NULL), 1);
        cr_assert_eq(dispatch_count(events, "request.refused", NULL, &sum), 1, "no_value is an answer, not a refusal");
        cr_assert_eq(sum, 1);
}

// I-2: words on the way are counted, not kept; the result leaves its digest.
Test(dispatch, ledger_has_no_words_of_the_region) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        _cleanup_free_ char *text = NULL;
        uint8_t hash[HASH_BYTES];
        char hex[HASH_HEX_MAX];

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (int i = 0; i < 300; i++)
                dispatch_expect(&d, REQUEST("log", "{\"level\":\"warning\",\"message\":\"canary-7f3a\"}"), NULL);
        dispatch_expect(&d, REQUEST("progress", "{\"done\":1,\"message\":\"canary-7f3a\"}"), NULL);
        dispatch_expect(&d, REQUEST("canary-7f3a", "{}"), "unknown_method");
        dispatch_expect(&d, REQUEST("log", "{\"canary-7f3a\":1}"), "invalid_params");
        dispatch_expect(&d, REQUEST("result", "{\"value\":{\"b\":2,\"a\":\"canary-7f3a\"}}"), NULL);
        cr_assert_str_eq(json_string_value(json_object_get(dispatch_result(d.dispatch), "a")), "canary-7f3a");
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        text = json_dumps(events, 0);
        cr_assert(strstr(text, "canary") == NULL, "%s", text);
        cr_assert_eq(dispatch_count(events, "region.logged", NULL, NULL), 1, "300 messages are one event");
        cr_assert_eq(dispatch_count(events, "region.result", NULL, NULL), 1);
        hash_bytes("{\"a\":\"canary-7f3a\",\"b\":2}", 25, hash);
        cr_assert(strstr(text, hex_encode(hash, sizeof(hash), hex)), "the digest is of the canonical form");
}

Test(dispatch, a_store_that_cannot_record_is_ours) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *copies = json_object();

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_free(d.dispatch);
        store_fixture_close(&d.f);
        store_fixture_open(&d.f, STORE_READ);
        cr_assert_eq(dispatch_new(d.f.store, &d.grant, d.region, copies, &d.dispatch), 0);
        cr_assert_eq(dispatch_expect(&d, DISPATCH_HELLO, NULL), 0, "what needs no record goes on");
        cr_assert_eq(dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}"), "internal"), DISPATCH_E_STORE);
        cr_assert_gt(strlen(d.f.d.text), 0);
        {
                const char *line = REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}");
                _cleanup_buf_ Buf out = {0};
                Diag why = {0};

                cr_assert_eq(dispatch_line(d.dispatch, line, strlen(line), &out, &why), DISPATCH_E_STORE);
                cr_assert(strstr(why.text, store_dir(d.f.store)) != NULL, "the operator is told where: %s", why.text);
                cr_assert(strstr(out.data, store_dir(d.f.store)) == NULL, "the skill is not: %s", out.data);
        }
        cr_assert_eq(dispatch_expect(&d, REQUEST("result", "{\"value\":1}"), "internal"), DISPATCH_E_STORE);
        cr_assert(dispatch_result(d.dispatch) == NULL, "a result that is not recorded was not given");
        cr_assert_eq(dispatch_expect(&d, "{", "parse"), DISPATCH_E_STORE, "a refusal that cannot be recorded");
}
