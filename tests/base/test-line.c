/* Laws of the reader, the queue and the rate: pure, so that every chunking and every time can be tried. */
#include "base/line.h"

#include <criterion/criterion.h>
#include <string.h>

/* Feeds `bytes` in pieces as `cut` says and writes what comes out as text: one letter a result, the bytes in brackets. */
static void run(const char *bytes, size_t n, size_t max, size_t (*cut)(size_t at, unsigned seed), unsigned seed, Buf *out) {
        LineReader r;
        const char *line;
        size_t len;
        LineKind k;

        line_reader_init(&r, max);
        for (size_t at = 0; at < n;) {
                size_t piece = MIN(cut(at, seed), n - at);
                char *space;

                cr_assert_eq(line_reader_space(&r, piece, &space), 0);
                memcpy(space, bytes + at, piece);
                line_reader_fed(&r, piece);
                at += piece;
                while ((k = line_reader_next(&r, &line, &len)) != LINE_NONE) {
                        cr_assert(k == LINE_WHOLE || k == LINE_TOO_LONG, "only the end gives a partial line");
                        buf_add_str(out, k == LINE_WHOLE ? "w[" : "L[");
                        if (k == LINE_WHOLE)
                                buf_add(out, line, len);
                        buf_add_str(out, "]");
                }
                cr_assert_leq(r.end - r.start, max, "more than one line's bound is kept after all lines were taken");
        }
        if (line_reader_finish(&r, &line, &len) == LINE_PARTIAL) {
                buf_add_str(out, "p[");
                buf_add(out, line, len);
                buf_add_str(out, "]");
        }
        cr_assert_eq(line_reader_finish(&r, &line, &len), LINE_NONE, "the partial line is said once");
        line_reader_deinit(&r);
}

static size_t whole(size_t at, unsigned seed) {
        return SIZE_MAX;
}
static size_t bytewise(size_t at, unsigned seed) {
        return 1;
}
static size_t random_cut(size_t at, unsigned seed) {
        uint64_t x = (at + 1) * UINT64_C(0x9E3779B97F4A7C15) ^ seed * UINT64_C(0xBF58476D1CE4E5B9);

        x ^= x >> 29;
        return 1 + x % 7;
}

static const struct {
        const char *name, *bytes;
        size_t n;
        const char *expect; /* with max 8 */
} streams[] = {
        {"nothing", "", 0, ""},
        {"one line", "abc\n", 4, "w[abc]"},
        {"empty lines", "\n\n", 2, "w[]w[]"},
        {"no newline at the end", "abc\nde", 6, "w[abc]p[de]"},
        {"exactly the bound", "12345678\n", 9, "w[12345678]"},
        {"one byte too long", "123456789\nok\n", 13, "L[]w[ok]"},
        {"far too long is said once", "0123456789012345678901234567890123456789\nok\n", 44, "L[]w[ok]"},
        {"two too long", "123456789\n123456789\n", 20, "L[]L[]"},
        {"too long and no newline", "0123456789012345", 16, "L[]"},
        {"the bound and no newline", "12345678", 8, "p[12345678]"},
        {"too long, then half a line", "0123456789\nhalf", 15, "L[]p[half]"},
        {"NUL is a byte like others", "a\0b\n\0\n", 6, NULL},
        {"not UTF-8 is left to the parser", "\xff\xfe\n", 3, "w[\xff\xfe]"},
        {"carriage return stays", "a\r\n", 3, "w[a\r]"},
};

Test(line, any_chunking_gives_the_same_lines) {
        for (size_t i = 0; i < ARRAY_SIZE(streams); i++) {
                _cleanup_buf_ Buf first = {0};

                run(streams[i].bytes, streams[i].n, 8, whole, 0, &first);
                if (streams[i].expect)
                        cr_assert_str_eq(first.data ? first.data : "", streams[i].expect, "%s", streams[i].name);
                else {
                        cr_assert_eq(first.n, sizeof("w[a\0b]w[\0]") - 1, "%s", streams[i].name);
                        cr_assert_eq(memcmp(first.data, "w[a\0b]w[\0]", first.n), 0, "%s", streams[i].name);
                }
                for (unsigned seed = 0; seed <= 40; seed++) {
                        _cleanup_buf_ Buf again = {0};

                        run(streams[i].bytes, streams[i].n, 8, seed ? random_cut : bytewise, seed, &again);
                        cr_assert(again.n == first.n && (first.n == 0 || memcmp(again.data, first.data, first.n) == 0),
                                  "%s: seed %u gives other lines", streams[i].name, seed);
                }
        }
}

Test(line, memory_is_bounded_and_given_back) {
        enum { MAX_LINE = 1 << 20, CHUNK = 1 << 16 };
        LineReader r;
        const char *line;
        char *space;
        size_t n, most = 0;

        line_reader_init(&r, MAX_LINE);
        for (int i = 0; i < 200; i++) { /* 12.5 MiB without a newline */
                cr_assert_eq(line_reader_space(&r, CHUNK, &space), 0);
                memset(space, 'x', CHUNK);
                line_reader_fed(&r, CHUNK);
                cr_assert_eq(line_reader_next(&r, &line, &n), i == 16 ? LINE_TOO_LONG : LINE_NONE, "chunk %d", i);
                most = MAX(most, r.room);
        }
        cr_assert_leq(most, MAX_LINE + 2 * CHUNK);
        cr_assert_eq(line_reader_space(&r, CHUNK, &space), 0);
        cr_assert_leq(r.room, 2 * CHUNK, "the large buffer is kept");
        line_reader_deinit(&r);
}

Test(line, queue_bounds_and_keeps_order) {
        LineQueue q;
        const char *p;

        line_queue_init(&q, 10);
        cr_assert_eq(line_queue_peek(&q, &p), 0);
        cr_assert_eq(line_queue_add(&q, "12345\n", 6), 0);
        cr_assert_not(line_queue_full(&q));
        cr_assert_eq(line_queue_add(&q, "abc\n", 4), 0);
        cr_assert(line_queue_full(&q));
        cr_assert_eq(line_queue_peek(&q, &p), 10);
        line_queue_sent(&q, 3);
        cr_assert_not(line_queue_full(&q), "bytes that were sent do not count");
        cr_assert_eq(line_queue_add(&q, "Z\n", 2), 0);
        cr_assert_eq(line_queue_peek(&q, &p), 9);
        cr_assert_eq(memcmp(p, "45\nabc\nZ\n", 9), 0);
        line_queue_sent(&q, 9);
        cr_assert_eq(line_queue_peek(&q, &p), 0);
        line_queue_deinit(&q);
}

Test(line, rate_allows_a_burst_then_its_pace) {
        LineRate r;
        uint64_t now = 5000000;
        unsigned taken = 0;

        line_rate_init(&r, 1000, 50);
        while (line_rate_wait(&r, now) == 0) {
                line_rate_take(&r, now);
                taken++;
                cr_assert_leq(taken, 50, "more than the burst at one instant");
        }
        cr_assert_eq(taken, 50);
        cr_assert_eq(line_rate_wait(&r, now), 1000);
        taken = 0;
        for (uint64_t t = 0; t < 2000000; t += 100)
                if (line_rate_wait(&r, now + t) == 0) {
                        line_rate_take(&r, now + t);
                        taken++;
                }
        cr_assert(taken >= 1990 && taken <= 2001, "%u lines in 2 s at 1000/s", taken);
        now += 100000000;
        for (taken = 0; line_rate_wait(&r, now) == 0; taken++)
                line_rate_take(&r, now);
        cr_assert_eq(taken, 50, "a long pause gives no more than the burst");
}
