/* The golden vectors of schema/vectors, replayed against the dispatch over a real store. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "base/hash.h"
#include "base/io.h"

#include <criterion/criterion.h>
#include <fcntl.h>

/* Messages may change; seq differs from run to run (schema/vectors/README.md). */
static void normalise(json_t *answer, const char *name) {
        json_t *error = json_object_get(answer, "error"), *result = json_object_get(answer, "result");

        if (error) {
                cr_assert(json_string_length(json_object_get(error, "message")) > 0, "%s: an error without a message", name);
                json_object_del(error, "message");
        }
        if (json_object_get(result, "seq")) {
                cr_assert(json_is_integer(json_object_get(result, "seq")), "%s", name);
                json_object_set_new(result, "seq", json_integer(0));
        }
}

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"" method "\",\"params\":" params "}"
#define OPEN(section) REQUEST("handle.open", "{\"section\":\"" section "\",\"key\":\"$KEY\"}")

/* The region as a turn of a session with two sections, one of them without a value. */
static void become_turn(DispatchFixture *d) {
        static DispatchTurn turn;
        static json_t *sections, *values, *ccs, *observed;

        sections = sections ?: dispatch_json("{\"count\":{\"schema\":{\"type\":\"integer\"},\"bytes\":8},\"topic\":{\"schema\":{\"type\":\"string\"},\"bytes\":32}}");
        values = values ?: dispatch_json("{\"count\":{\"value\":7,\"version\":2}}");
        ccs = ccs ?: dispatch_json("{\"turn\":3,\"ccs\":\"episodic_trace:\\n\"}");
        observed = observed ?: dispatch_json("{\"input\":\"Is it db1?\"}");
        turn = (DispatchTurn){.ccs = ccs, .observed = observed, .session = "01hzy3v5q8r6x2m9d4k7c0w1ab", .sections = sections, .values = values, .number = 3};
        dispatch_use_turn(d->dispatch, &turn);
}

static void reach(DispatchFixture *d, const char *state) {
        if (strcmp(state, "new") == 0)
                return;
        if (strcmp(state, "turn") == 0) {
                become_turn(d);
                state = "open";
        }
        cr_assert_eq(dispatch_expect(d, DISPATCH_HELLO, NULL), 0);
        if (strcmp(state, "done") == 0)
                cr_assert_eq(dispatch_expect(d, "{\"jsonrpc\":\"2.0\",\"id\":0,\"method\":\"result\",\"params\":{\"value\":0}}", NULL), 0);
        else if (strcmp(state, "handles") == 0) {
                dispatch_ask(d, OPEN("note"), NULL);
                dispatch_ask(d, OPEN("plan"), NULL);
                dispatch_ask(d, OPEN("gate.facts"), NULL);
                dispatch_ask(d, REQUEST("handle.write", "{\"handle\":\"$REGION.1.1\",\"key\":\"$KEY\",\"value\":{\"steps\":1}}"), NULL);
        } else
                cr_assert_str_eq(state, "open");
}

static void replay(DispatchFixture *d, const char *vector) {
        _cleanup_free_ char *filled = (dispatch_fixture_region(d), dispatch_fill_in(d, vector));
        _cleanup_json_ json_t *v = dispatch_json(filled);
        const char *name = json_string_value(json_object_get(v, "name")), *hex = json_string_value(json_object_get(v, "hex"));
        json_t *line = json_object_get(v, "line"), *expect = json_object_get(v, "answer");
        _cleanup_free_ char *bytes = NULL, *got = NULL, *want = NULL;
        _cleanup_json_ json_t *answer = NULL;
        size_t n = hex ? strlen(hex) / 2 : json_string_length(line);

        bytes = malloc(n + 1);
        if (hex)
                cr_assert_eq(hex_decode(hex, bytes, n), 0);
        else
                memcpy(bytes, json_string_value(line), n);
        reach(d, json_string_value(json_object_get(v, "state")));
        cr_assert_eq(dispatch_say(d, bytes, n, &answer), 0, "%s: %s", name, d->f.d.text);
        normalise(answer, name);
        got = json_dumps(answer ? answer : json_null(), JSON_ENCODE_ANY | JSON_SORT_KEYS);
        want = json_dumps(expect, JSON_ENCODE_ANY | JSON_SORT_KEYS);
        cr_assert_str_eq(got, want, "%s: %s", name, got);
        cr_assert_eq(dispatch_finish(d->dispatch, &d->f.d), 0, "%s", name);
        dispatch_fixture_region_end(d, false);
}

static void replay_file(const char *file) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_free_ char *text = NULL;
        char path[PATH_MAX], *save = NULL;
        size_t n, count = 0;

        snprintf(path, sizeof(path), "%s/%s", getenv("LETHE_VECTORS"), file);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 16 << 20, &text, &n), 0, "%s", path);
        dispatch_fixture_init(&d);
        for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save), count++)
                replay(&d, line);
        cr_assert_geq(count, 50, "%s: only %zu vectors", file, count);
}

Test(vectors, frames) {
        replay_file("frames.jsonl");
}

Test(vectors, methods) {
        replay_file("methods.jsonl");
}
