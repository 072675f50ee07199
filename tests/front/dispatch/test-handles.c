/* Sections, handles and keys as a region meets them: through its pipe. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "base/hash.h"
#include "base/io.h"
#include "region/region-handle.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"
#define OPEN(section) REQUEST("handle.open", "{\"section\":\"" section "\",\"key\":\"$KEY\"}")
#define READ(handle) REQUEST("handle.read", "{\"handle\":\"" handle "\",\"key\":\"$KEY\"}")
#define WRITE(handle, value) REQUEST("handle.write", "{\"handle\":\"" handle "\",\"key\":\"$KEY\",\"value\":" value "}")
#define HELLO_ANSWER "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"hello\",\"params\":{\"protocol\":1}}"

/* A second region, beside d's or below it, over d's store. */
static void beside(DispatchFixture *d, DispatchFixture *other, const Vault *parent) {
        *other = *d;
        dispatch_fixture_region(other);
        vault_free(other->vault);
        dispatch_fixture_vault(other, NULL, parent);
}

static void leave(DispatchFixture *other) {
        dispatch_fixture_region_end(other, false);
}

static json_t *result_of(DispatchFixture *d, const char *line) {
        _cleanup_free_ char *filled = dispatch_fill_in(d, line);
        _cleanup_json_ json_t *answer = NULL;

        cr_assert_eq(dispatch_say(d, filled, strlen(filled), &answer), 0, "%s", d->f.d.text);
        cr_assert(json_object_get(answer, "result"), "%s", json_dumps(answer, 0));
        return json_incref(json_object_get(answer, "result"));
}

/* Whether a text stands in a file below the store's folder, as it is. */
static bool store_has(DispatchFixture *d, const char *text) {
        char command[PATH_MAX + 200];

        snprintf(command, sizeof(command), "grep -rqF -- '%s' '%s'", text, d->f.temp.path);
        return system(command) == 0; // NOLINT(cert-env33-c): a test's own folder
}

// I-9, I-10: each hello of the region's own processes has the key; a region without sections has one as well.
Test(handles, hello_hands_over) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *first = NULL, *again = NULL;
        DispatchFixture other;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        first = result_of(&d, HELLO_ANSWER);
        again = result_of(&d, HELLO_ANSWER);
        cr_assert(json_equal(first, again));
        cr_assert_str_eq(json_string_value(json_object_get(first, "key")), d.key);
        cr_assert_null(json_object_get(first, "tree"));
        beside(&d, &other, NULL);
        cr_assert_str_neq(d.key, other.key);
        leave(&other);
}

// I-8: no key, a wrong key and another region's are refused, and the refusal is recorded. Replaying another region's handle gives nothing.
Test(handles, wrong_keys_are_recorded) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        _cleanup_free_ char *text = NULL;
        char line[400];
        DispatchFixture other;
        json_int_t sum;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        beside(&d, &other, NULL);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_expect(&other, DISPATCH_HELLO, NULL);
        dispatch_ask(&d, OPEN("plan"), NULL);
        dispatch_ask(&d, WRITE("$REGION.0.1", "{\"a\":\"canary-7f3a\"}"), NULL);
        dispatch_ask(&d, REQUEST("handle.read", "{\"handle\":\"$REGION.0.1\"}"), "bad_key");
        dispatch_ask(&d, REQUEST("handle.read", "{\"handle\":\"$REGION.0.1\",\"key\":\"\"}"), "bad_key");
        /* The other region saw the handle somewhere. */
        snprintf(line, sizeof(line), REQUEST("handle.read", "{\"handle\":\"%s.0.1\",\"key\":\"%s\"}"), d.region, other.key);
        dispatch_expect(&other, line, "bad_key");
        snprintf(line, sizeof(line), REQUEST("handle.read", "{\"handle\":\"%s.0.1\"}"), d.region);
        dispatch_expect(&other, line, "bad_key");
        /* And should the key have come to it, too: its scope does not (I-26). */
        snprintf(line, sizeof(line), REQUEST("handle.read", "{\"handle\":\"%s.0.1\",\"key\":\"%s\"}"), d.region, d.key);
        dispatch_expect(&other, line, "key_scope");
        snprintf(line, sizeof(line), REQUEST("handle.open", "{\"section\":\"plan\",\"region\":\"%s\",\"key\":\"%s\"}"), d.region, d.key);
        dispatch_expect(&other, line, "key_scope");
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        cr_assert_eq(dispatch_finish(other.dispatch, &other.f.d), 0);
        events = dispatch_events(&d);
        dispatch_count(events, "request.refused", "bad_key", &sum);
        cr_assert_eq(sum, 2);
        json_decref(events);
        events = dispatch_events(&other);
        cr_assert_eq(dispatch_count(events, "request.refused", "key_scope", &sum), 2);
        cr_assert_eq(sum, 2, "the attempt is in the record of the region that made it (I-53)");
        text = json_dumps(events, 0);
        cr_assert(!strstr(text, d.key) && !strstr(text, other.key), "no key in the ledger (I-10): %s", text);
        leave(&other);
}

// I-8: whoever guesses keys is ended, long before there is anything to be guessed.
Test(handles, guessing_ends_the_region) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        char line[400], key[33];
        uint8_t guess[16];

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_ask(&d, OPEN("plan"), NULL);
        for (int i = 1; i <= PIPE_BAD_LINES_MAX; i++) {
                randombytes_buf(guess, sizeof(guess));
                snprintf(line, sizeof(line), REQUEST("handle.read", "{\"handle\":\"%s.0.1\",\"key\":\"%s\"}"), d.region, hex_encode(guess, sizeof(guess), key));
                cr_assert_eq(dispatch_expect(&d, line, "bad_key"), i < PIPE_BAD_LINES_MAX ? 0 : DISPATCH_E_END, "guess %d", i);
        }
}

// I-4: an undeclared section and a wrong type are typed faults, recorded without the value; the section is as it was.
Test(handles, typed_faults) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL, *value = NULL;
        _cleanup_free_ char *text = NULL;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_ask(&d, OPEN("canary-7f3a"), "undeclared_section");
        dispatch_ask(&d, OPEN("plan"), NULL);
        dispatch_ask(&d, WRITE("$REGION.0.1", "{\"n\":1}"), NULL);
        dispatch_ask(&d, WRITE("$REGION.0.1", "\"canary-7f3a\""), "schema");
        value = result_of(&d, READ("$REGION.0.1"));
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(value, "value"), "n")), 1);
        cr_assert_eq(json_integer_value(json_object_get(value, "version")), 1);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "request.refused", "undeclared_section", NULL), 1);
        cr_assert_eq(dispatch_count(events, "request.refused", "schema", NULL), 1);
        text = json_dumps(events, 0);
        cr_assert(!strstr(text, "canary"), "%s", text);
}

// I-2: what a region keeps in its sections reaches neither ledger nor store, in no file of it.
Test(handles, working_state_lives_nowhere_else) {
        _cleanup_dispatch_fixture_ DispatchFixture d;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_ask(&d, OPEN("plan"), NULL);
        dispatch_ask(&d, WRITE("$REGION.0.1", "{\"thought\":\"canary-in-section\"}"), NULL);
        dispatch_ask(&d, REQUEST("slot.write", "{\"name\":\"out\",\"value\":\"canary-in-slot\"}"), NULL);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        cr_assert(store_has(&d, "canary-in-slot"), "the search finds what is there");
        cr_assert(!store_has(&d, "canary-in-section"));
        cr_assert(!store_has(&d, d.key), "nor its key (I-10)");
}

// I-11: a commit that holds a key is refused whole; the ledger has the refusal and nothing of the key.
Test(handles, keys_do_not_leave) {
        static const char *const rows[] = {
                REQUEST("slot.write", "{\"name\":\"out\",\"value\":{\"a\":[\"x$KEYx\"]}}"), REQUEST("slot.write", "{\"name\":\"out\",\"value\":{\"$KEY\":1}}"),
                REQUEST("slot.write", "{\"name\":\"a$KEY\",\"value\":1}"),                 REQUEST("log", "{\"message\":\"$KEY\"}"),
                REQUEST("progress", "{\"done\":1,\"message\":\"($KEY)\"}"),                REQUEST("result", "{\"value\":[\"$KEY\"]}"),
        };
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        _cleanup_free_ char *text = NULL;
        char line[400], base64[64];
        DispatchFixture other;
        uint8_t key[16];

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        beside(&d, &other, NULL);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                dispatch_ask(&d, rows[i], "key_escape");
        /* Of any region that lives, in any spelling. */
        cr_assert_eq(hex_decode(other.key, key, sizeof(key)), 0);
        sodium_bin2base64(base64, sizeof(base64), key, sizeof(key), sodium_base64_VARIANT_URLSAFE_NO_PADDING);
        snprintf(line, sizeof(line), REQUEST("slot.write", "{\"name\":\"out\",\"value\":\"%s\"}"), base64);
        dispatch_expect(&d, line, "key_escape");
        leave(&other);
        dispatch_expect(&d, line, NULL); /* a dead region's key opens nothing, and is looked for no more */
        dispatch_ask(&d, REQUEST("result", "{\"value\":1}"), NULL);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "slot.refused", "key_escape", NULL), 4);
        cr_assert_eq(dispatch_count(events, "slot.proposed", NULL, NULL), 1);
        text = json_dumps(events, 0);
        cr_assert(!strstr(text, d.key), "%s", text);
        cr_assert(!store_has(&d, d.key));
}

// I-17: handles that a region left behind are stale for everyone, with the right key, too.
Test(handles, stale_after_teardown) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        DispatchFixture child;
        char line[400];

        dispatch_fixture_init(&d);
        d.grant.key_scope = KEY_SCOPE_TREE;
        dispatch_fixture_region(&d);
        beside(&d, &child, d.vault);
        dispatch_expect(&child, DISPATCH_HELLO, NULL);
        snprintf(line, sizeof(line), REQUEST("handle.open", "{\"section\":\"plan\",\"region\":\"%s\",\"key\":\"%s\"}"), d.region, d.key);
        dispatch_expect(&child, line, NULL);
        snprintf(line, sizeof(line), REQUEST("handle.write", "{\"handle\":\"%s.0.1\",\"key\":\"%s\",\"value\":{}}"), d.region, d.key);
        dispatch_expect(&child, line, NULL);
        cr_assert_eq(vault_unbind(d.vault), 1);
        dispatch_expect(&child, line, "stale");
        vault_free(TAKE_PTR(d.vault));
        dispatch_expect(&child, line, "stale");
        leave(&child);
}

// I-27, I-28: hello hands a parent's key to its sub-skill, which writes into the parent's section; siblings have nothing of each other.
Test(handles, a_sub_skill_and_its_sibling) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        DispatchFixture left, right;
        _cleanup_json_ json_t *hello = NULL, *value = NULL;
        json_t *above;
        char line[400];

        dispatch_fixture_init(&d);
        d.grant.key_scope = KEY_SCOPE_TREE;
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_ask(&d, OPEN("plan"), NULL);
        beside(&d, &left, d.vault);
        beside(&d, &right, d.vault);
        hello = result_of(&left, HELLO_ANSWER);
        dispatch_expect(&right, DISPATCH_HELLO, NULL);
        above = json_object_get(hello, "tree");
        cr_assert_eq(json_array_size(above), 1);
        above = json_array_get(above, 0);
        cr_assert_str_eq(json_string_value(json_object_get(above, "key")), d.key);
        cr_assert_str_eq(json_string_value(json_object_get(above, "region")), d.region);
        cr_assert_eq(json_array_size(json_object_get(above, "sections")), 2, "its evidence is not lent (I-76)");
        snprintf(line, sizeof(line), REQUEST("handle.write", "{\"handle\":\"%s.0.1\",\"key\":\"%s\",\"value\":{\"by\":\"left\"}}"), d.region, d.key);
        dispatch_expect(&left, line, NULL);
        value = result_of(&d, READ("$REGION.0.1"));
        cr_assert_str_eq(json_string_value(json_object_get(json_object_get(value, "value"), "by")), "left");
        snprintf(line, sizeof(line), REQUEST("handle.open", "{\"section\":\"plan\",\"region\":\"%s\",\"key\":\"%s\"}"), right.region, right.key);
        dispatch_expect(&left, line, "key_scope");
        snprintf(line, sizeof(line), REQUEST("handle.open", "{\"section\":\"plan\",\"region\":\"%s\",\"key\":\"%s\"}"), left.region, left.key);
        dispatch_expect(&d, line, "key_scope"); /* nor does the caller's frame have its sub-skill's (I-26) */
        leave(&left);
        leave(&right);
}

// I-75: a parent's section that a child uses is recorded at the parent's detail, with the child; the child's record has the same at its own.
Test(handles, a_child_in_its_parents_record) {
        static const LineageDetail levels[][2] = {{LINEAGE_HANDLES, LINEAGE_HANDLES}, {LINEAGE_HANDLES, LINEAGE_STATS}, {LINEAGE_EVENTS, LINEAGE_HANDLES}};

        for (size_t i = 0; i < ARRAY_SIZE(levels); i++) {
                _cleanup_json_ json_t *mine = NULL, *theirs = NULL;
                _cleanup_dispatch_fixture_ DispatchFixture d;
                char line[400], region[REGION_ID_MAX];
                DispatchFixture child;
                json_t *row;
                size_t k;

                dispatch_fixture_init(&d);
                d.grant.key_scope = KEY_SCOPE_TREE;
                d.grant.lineage = levels[i][0];
                dispatch_fixture_region(&d);
                d.grant.lineage = levels[i][1];
                beside(&d, &child, d.vault);
                d.grant.lineage = levels[i][0];
                strcpy(region, child.region);
                dispatch_expect(&child, DISPATCH_HELLO, NULL);
                snprintf(line, sizeof(line), REQUEST("handle.open", "{\"section\":\"plan\",\"region\":\"%s\",\"key\":\"%s\"}"), d.region, d.key);
                dispatch_expect(&child, line, NULL);
                snprintf(line, sizeof(line), REQUEST("handle.write", "{\"handle\":\"%s.0.1\",\"key\":\"%s\",\"value\":{}}"), d.region, d.key);
                dispatch_expect(&child, line, NULL);
                snprintf(line, sizeof(line), REQUEST("handle.read", "{\"handle\":\"%s.9.1\",\"key\":\"%s\"}"), d.region, d.key);
                dispatch_expect(&child, line, "stale");
                cr_assert_eq(dispatch_finish(child.dispatch, &child.f.d), 0);
                theirs = dispatch_events(&child);
                leave(&child);
                cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
                mine = dispatch_events(&d);
                for (int side = 0; side < 2; side++) {
                        json_t *events = side ? theirs : mine;
                        int expected = levels[i][side] == LINEAGE_HANDLES;

                        cr_expect_eq(dispatch_count(events, "handle.issued", NULL, NULL), expected, "row %zu side %d", i, side);
                        cr_expect_eq(dispatch_count(events, "handle.dereferenced", NULL, NULL), expected, "row %zu side %d", i, side);
                        cr_expect_eq(dispatch_count(events, "handle.refused", "stale", NULL), expected, "row %zu side %d", i, side);
                        json_array_foreach(events, k, row) {
                                const char *by = json_text(json_object_get(row, "by")), *of = json_text(json_object_get(row, "of"));

                                if (strncmp(json_text(json_object_get(row, "type")), "handle.", 7) != 0)
                                        continue;
                                cr_expect_str_eq(side ? of : by, side ? d.region : region, "row %zu side %d", i, side);
                                cr_expect_null(side ? by : of, "row %zu side %d", i, side);
                        }
                }
        }
}

/* The answers of one story and the events that it left, at a level of lineage detail. */
static void tell_story(LineageDetail lineage, Buf *answers, json_t **ret_events) {
        static const char *const story[] = {
                OPEN("plan"), OPEN("note"), OPEN("nothing"), WRITE("$REGION.0.1", "{}"), WRITE("$REGION.0.1", "3"), READ("$REGION.0.1"), READ("$REGION.1.1"),
                READ("$REGION.1.7"), READ("x"), REQUEST("handle.read", "{\"handle\":\"$REGION.0.1\"}"), REQUEST("handle.close", "{\"handle\":\"$REGION.1.1\",\"key\":\"$KEY\"}"),
                READ("$REGION.1.1"), REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}"), REQUEST("slot.write", "{\"name\":\"out\",\"value\":\"$KEY\"}"),
        };
        _cleanup_dispatch_fixture_ DispatchFixture d;

        dispatch_fixture_init(&d);
        d.grant.lineage = lineage;
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(story); i++) {
                _cleanup_free_ char *line = dispatch_fill_in(&d, story[i]);
                _cleanup_json_ json_t *answer = NULL;
                const char *word;

                cr_assert_eq(dispatch_say(&d, line, strlen(line), &answer), 0);
                word = json_string_value(json_object_get(json_object_get(json_object_get(answer, "error"), "data"), "code"));
                buf_printf(answers, "%zu:%s ", i, word ? word : "ok");
        }
        buf_printf(answers, "unbound:%llu", (unsigned long long)vault_unbind(d.vault));
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        *ret_events = dispatch_events(&d);
}

// I-37: `handles` adds a trace of each issue, use, refusal and unbinding. I-38: what occurs is the same at all three levels.
Test(handles, lineage_detail) {
        static const LineageDetail levels[] = {LINEAGE_EVENTS, LINEAGE_STATS, LINEAGE_HANDLES};
        Buf answers[3] = {{0}, {0}, {0}};

        for (size_t i = 0; i < 3; i++) {
                _cleanup_json_ json_t *events = NULL;
                bool traced = levels[i] == LINEAGE_HANDLES;

                tell_story(levels[i], &answers[i], &events);
                cr_assert_str_eq(answers[i].data, answers[0].data, "level %zu", i);
                cr_assert_eq(dispatch_count(events, "handle.issued", NULL, NULL), traced ? 2 : 0);
                cr_assert_eq(dispatch_count(events, "handle.dereferenced", NULL, NULL), traced ? 3 : 0, "one of them found nothing (I-75)");
                cr_assert_eq(dispatch_count(events, "handle.refused", NULL, NULL), traced ? 6 : 0);
                cr_assert_eq(dispatch_count(events, "handle.refused", "stale", NULL), traced ? 2 : 0);
                cr_assert_eq(dispatch_count(events, "handle.refused", "bad_key", NULL), traced ? 1 : 0);
                cr_assert_eq(dispatch_count(events, "handle.closed", NULL, NULL), traced ? 1 : 0);
                cr_assert_eq(dispatch_count(events, "handle.unbound", NULL, NULL), traced ? 1 : 0);
        }
        for (size_t i = 0; i < 3; i++)
                buf_deinit(&answers[i]);
}

/* No region writes the ledger without end, not with traces either: they come in batches, and what is beyond the bound is a count. */
Test(handles, traces_are_bounded) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        json_int_t dropped;

        dispatch_fixture_init(&d);
        d.grant.lineage = LINEAGE_HANDLES;
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_ask(&d, OPEN("plan"), NULL);
        for (int i = 0; i < 16384 + 99; i++)
                dispatch_ask(&d, WRITE("$REGION.0.1", "{}"), NULL);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "handle.dereferenced", NULL, NULL), 16383);
        cr_assert_eq(dispatch_count(events, "handle.dropped", NULL, &dropped), 1);
        cr_assert_eq(dropped, 100);
}
