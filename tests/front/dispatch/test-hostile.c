/* Streams that mean harm: each ends in an answer, a record that stays small, or the end of its own region. */
#include "tests/front/dispatch/dispatch-fixture.h"
#include "tests/isolation/manifest/documents.h"

#include "dispatch/dispatch-internal.h"
#include "base/conn.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

Test(hostile, bad_lines_end_the_region_and_leave_few_events) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        json_int_t sum, all;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        for (int i = 1; i <= PIPE_BAD_LINES_MAX; i++) {
                int r = dispatch_expect(&d, i % 2 ? "{" : "[]", i % 2 ? "parse" : "batch");

                cr_assert_eq(r, i < PIPE_BAD_LINES_MAX ? 0 : DISPATCH_E_END, "line %d: %d", i, r);
        }
        cr_assert(strstr(d.f.d.text, "batch"), "%s", d.f.d.text);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "request.refused", "parse", &sum), 2);
        cr_assert_eq(sum, PIPE_BAD_LINES_MAX / 2);
        cr_assert_eq(dispatch_count(events, "request.refused", NULL, &all), 4, "64 bad lines of two kinds are four events");
        cr_assert_eq(all, PIPE_BAD_LINES_MAX);
}

/* I-81. Each string of a request, and each key, with U+0000 and a letter behind is refused, or stands for data that keeps it. */
Test(hostile, no_name_ends_before_its_end) {
        static const struct {
                const char *line, *data; /* data: text in front of the quote that ends a string which may hold anything */
        } rows[] = {
                {REQUEST("slot.read", "{\"name\":\"facts\"}"), NULL},
                {REQUEST("slot.write", "{\"name\":\"out\",\"value\":\"a\"}"), "value\":\"a"},
                {REQUEST("slot.list", "{}"), NULL},
                {REQUEST("note.add", "{\"text\":\"a note\",\"role\":\"agent\"}"), NULL},
                {REQUEST("log", "{\"level\":\"info\",\"message\":\"said\"}"), "said"},
                {REQUEST("progress", "{\"done\":1,\"message\":\"said\"}"), "said"},
                {REQUEST("memory.save", "{\"kind\":\"memory_substrate\",\"type\":\"semantic\",\"payload\":{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}}"), NULL},
                {REQUEST("memory.list", "{\"filter\":\"id:born\"}"), NULL},
                {REQUEST("memory.search", "{\"query\":\"word\"}"), NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_dispatch_fixture_ DispatchFixture d;
                _cleanup_json_ json_t *good = NULL;
                const char *mark = rows[i].data ? strstr(rows[i].line, rows[i].data) + strlen(rows[i].data) : NULL;
                size_t at = 0;
                char *line;

                dispatch_fixture_init(&d);
                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                while ((line = document_with_nul(rows[i].line, &at))) {
                        _cleanup_json_ json_t *answer = NULL;
                        bool is_data = mark && rows[i].line + at == mark + 1;

                        dispatch_say(&d, line, strlen(line), &answer);
                        cr_expect(json_object_get(answer, is_data ? "result" : "error"), "%s is %s", line, is_data ? "refused" : "taken");
                        free(line);
                }
                dispatch_say(&d, rows[i].line, strlen(rows[i].line), &good);
                cr_expect(json_object_get(good, "result"), "%s is refused", rows[i].line);
        }
}

/* Requests in order that are refused are not a breach: however many, the region goes on and the ledger stays small. */
Test(hostile, refusals_without_end_are_coalesced) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        json_int_t sum;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (int i = 0; i < 5000; i++)
                cr_assert_eq(dispatch_expect(&d, REQUEST("slot.read", "{\"name\":\"secret\"}"), "not_granted"), 0);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "request.refused", "not_granted", &sum), 2);
        cr_assert_eq(sum, 5000);
}

Test(hostile, proposals_are_bounded_with_the_refused_ones) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *events = NULL;
        json_int_t sum;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        d.dispatch->proposals = SLOT_PROPOSALS_MAX - 5; /* each costs a commit */
        for (int i = 0; i < 5; i++)
                cr_assert_eq(dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"facts\",\"value\":1}"), "schema"), 0);
        for (int i = 0; i < 100; i++)
                cr_assert_eq(dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}"), "too_many"), 0);
        cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
        events = dispatch_events(&d);
        cr_assert_eq(dispatch_count(events, "slot.refused", "schema", NULL), 5);
        cr_assert_eq(dispatch_count(events, "request.refused", "too_many", &sum), 2);
        cr_assert_eq(sum, 100);
}

Test(hostile, values_of_the_largest_size) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_json_ json_t *answer = NULL;
        _cleanup_buf_ Buf reply = {0};
        static const char head[] = "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"slot.write\",\"params\":{\"name\":\"out\",\"value\":\"", tail[] = "\"}}";
        static char line[PIPE_LINE_MAX + 1];

        dispatch_fixture_init(&d);
        for (size_t extra = 0; extra <= 1; extra++) {
                size_t n = SLOT_VALUE_MAX - 2 + extra;

                memcpy(line, head, sizeof(head) - 1);
                memset(line + sizeof(head) - 1, 'v', n);
                memcpy(line + sizeof(head) - 1 + n, tail, sizeof(tail));
                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                dispatch_expect(&d, line, extra ? "too_large" : NULL);
                dispatch_fixture_region_end(&d, false);
        }
        /* The longest line that the reader lets through, filled with what costs a parser most. */
        dispatch_fixture_region(&d);
        memset(line, '1', PIPE_LINE_MAX);
        cr_assert_eq(dispatch_say(&d, line, PIPE_LINE_MAX, &answer), 0);
        for (size_t i = 0; i < PIPE_LINE_MAX; i += 2)
                memcpy(line + i, "[,", 2);
        json_decref(answer);
        cr_assert_eq(dispatch_say(&d, line, PIPE_LINE_MAX, &answer), 0);
        cr_assert_eq(dispatch_bad_frame(d.dispatch, LINE_TOO_LONG, 0, &reply, &d.f.d), 0);
        cr_assert(strstr(reply.data, "line_too_long"));
}

/* Runs a byte stream through connection and dispatch, as the region's loop does, until its end. Returns the last code. */
static int stream(DispatchFixture *d, int fd_in, int fd_out, size_t *ret_lines) {
        Conn c = {.fd_in = -1, .fd_out = -1};
        int r = 0, closed = 0;
        size_t lines = 0;

        cr_assert_eq(conn_init(&c, fd_in, fd_out), 0);
        conn_drain(&c);
        while (r == 0 && !closed) {
                const char *line;
                LineKind kind;
                size_t n;

                closed = conn_readable(&c);
                cr_assert_geq(closed, 0);
                while (r == 0 && (kind = conn_next(&c, clock_mono_usec(), &line, &n)) != LINE_NONE) {
                        _cleanup_buf_ Buf reply = {0};

                        lines++;
                        r = kind == LINE_WHOLE ? dispatch_line(d->dispatch, line, n, &reply, &d->f.d)
                                               : dispatch_bad_frame(d->dispatch, kind, n, &reply, &d->f.d);
                        cr_assert_eq(conn_answer(&c, reply.data ? reply.data : "", reply.n), 0);
                }
        }
        conn_deinit(&c);
        *ret_lines = lines;
        return r;
}

static const struct {
        const char *name, *bytes;
        size_t n, repeat;
        int end;          /* what the dispatch says at last */
        const char *code; /* what is recorded */
        json_int_t n_line; /* and of how many bytes; 0: not looked at */
} streams[] = {
        {"half a line and gone", "{\"jsonrpc\":", 11, 1, 0, "partial_line", 11},
        {"a line without end", "aaaaaaaaaaaaaaaa", 16, PIPE_LINE_MAX / 8, 0, "line_too_long"},
        {"nothing but NUL", "\0\0\0\0\0\0\0\0", 8, PIPE_LINE_MAX / 4, 0, "line_too_long"},
        {"many lines of rubbish", "\xff\xfe\n", 3, 100000, DISPATCH_E_END, "bad_utf8"},
        {"many deep lines", "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[\n", 37, 1000, DISPATCH_E_END, "depth"},
        {"requests before hello", REQUEST("slot.list", "{}") "\n", sizeof(REQUEST("slot.list", "{}")), 1000, DISPATCH_E_END, "not_permitted"},
        {"notifications that are refused", "{\"jsonrpc\":\"2.0\",\"method\":\"x\"}\n", 31, 1000, DISPATCH_E_END, "unknown_method"},
        {"empty lines are nothing", "\n\n\n\n", 4, 50000, 0, NULL},
};

Test(hostile, streams_have_their_own_code) {
        _cleanup_dispatch_fixture_ DispatchFixture d;

        signal(SIGPIPE, SIG_IGN);
        dispatch_fixture_init(&d);
        for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
                _cleanup_json_ json_t *events = NULL;
                char path[PATH_MAX];
                size_t lines;
                int fd, r;

                snprintf(path, sizeof(path), "%.4000s/stream", d.f.temp.path);
                fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0600);
                cr_assert_geq(fd, 0);
                for (size_t k = 0; k < streams[i].repeat; k++)
                        cr_assert_eq(write(fd, streams[i].bytes, streams[i].n), (ssize_t)streams[i].n);
                lseek(fd, 0, SEEK_SET);
                dispatch_fixture_region(&d);
                r = stream(&d, fd, open("/dev/null", O_WRONLY | O_CLOEXEC), &lines);
                cr_assert_eq(r, streams[i].end, "%s: %d", streams[i].name, r);
                cr_assert_eq(dispatch_finish(d.dispatch, &d.f.d), 0);
                events = dispatch_events(&d);
                cr_assert_eq(dispatch_count(events, "request.refused", NULL, NULL), !streams[i].code ? 0 : streams[i].end ? 2 : 1, "%s", streams[i].name);
                if (streams[i].code)
                        cr_assert_geq(dispatch_count(events, "request.refused", streams[i].code, NULL), 1, "%s", streams[i].name);
                for (size_t k = 0; streams[i].n_line && k < json_array_size(events); k++)
                        if (json_object_get(json_array_get(events, k), "bytes"))
                                cr_expect_eq(json_integer_value(json_object_get(json_array_get(events, k), "bytes")), streams[i].n_line, "%s", streams[i].name);
                dispatch_fixture_region_end(&d, false);
        }
}

/* A region that breaks everything does not change what another one may do. */
Test(hostile, another_region_is_not_touched) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        DispatchFixture other;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        other = d; /* the same store and grant */
        dispatch_fixture_region(&other);
        dispatch_expect(&other, DISPATCH_HELLO, NULL);
        for (int i = 0; i < PIPE_BAD_LINES_MAX; i++)
                dispatch_expect(&d, "{", "parse");
        cr_assert_eq(dispatch_expect(&other, REQUEST("slot.write", "{\"name\":\"out\",\"value\":1}"), NULL), 0);
        cr_assert_eq(dispatch_expect(&other, REQUEST("slot.read", "{\"name\":\"facts\"}"), NULL), 0);
        dispatch_fixture_region_end(&other, true);
        /* What one region holds, another cannot take; when it ended, the slot is free. */
        dispatch_free(d.dispatch);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"out\",\"value\":2,\"expect\":1}"), NULL);
}
