/* The pipe's line reader: the sequence of lines depends on the bytes alone, not on how they were cut, and is what the plain rule says.
 * Input: longest line, a seed for the cuts, then the stream. */
#include "base/line.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

typedef struct Log {
        Buf bytes; /* a letter for each result, its length and its bytes; owned */
} Log;

static void note(Log *log, LineKind kind, const char *line, size_t n) {
        fuzz_check(buf_printf(&log->bytes, "%d:%zu:", (int)kind, kind == LINE_TOO_LONG ? 0 : n) == 0);
        if (kind != LINE_TOO_LONG)
                fuzz_check(buf_add(&log->bytes, line, n) == 0);
}

static void read_stream(const uint8_t *data, size_t n, size_t max, uint32_t seed, Log *log) {
        LineReader r;
        const char *line = NULL;
        size_t n_line = 0;
        LineKind kind;

        line_reader_init(&r, max);
        for (size_t at = 0; at < n;) {
                size_t chunk = seed ? 1 + (seed >> 16) % 97 : n;
                char *room;

                seed = seed * 1664525 + (seed != 0) * 1013904223;
                seed |= seed != 0;
                chunk = MIN(chunk, n - at);
                fuzz_check(line_reader_space(&r, chunk, &room) == 0);
                memcpy(room, data + at, chunk);
                line_reader_fed(&r, chunk);
                at += chunk;
                while ((kind = line_reader_next(&r, &line, &n_line)) != LINE_NONE)
                        note(log, kind, line, n_line);
                fuzz_check(r.end - r.start <= max, "%zu bytes are kept, the longest line is %zu", r.end - r.start, max);
        }
        if (line_reader_finish(&r, &line, &n_line) == LINE_PARTIAL)
                note(log, LINE_PARTIAL, line, n_line);
        fuzz_check(line_reader_finish(&r, &line, &n_line) == LINE_NONE);
        line_reader_deinit(&r);
}

static void plain_rule(const uint8_t *data, size_t n, size_t max, Log *log) {
        while (n > 0) {
                const uint8_t *newline = memchr(data, '\n', n);
                size_t k = newline ? (size_t)(newline - data) : n;

                if (k > max)
                        note(log, LINE_TOO_LONG, NULL, 0);
                else if (newline || k > 0)
                        note(log, newline ? LINE_WHOLE : LINE_PARTIAL, (const char *)data, k);
                data += k + (newline != NULL);
                n -= k + (newline != NULL);
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        Log plain = {0}, whole = {0}, cut = {0};
        size_t max;
        uint32_t seed;

        if (n < 4)
                return 0;
        max = 1 + data[0];
        seed = (uint32_t)(data[1] << 16 | data[2] << 8 | data[3]) * 2654435761U | 1;
        plain_rule(data + 4, n - 4, max, &plain);
        read_stream(data + 4, n - 4, max, 0, &whole);
        read_stream(data + 4, n - 4, max, seed, &cut);
        fuzz_check(whole.bytes.n == plain.bytes.n && (!plain.bytes.n || memcmp(whole.bytes.data, plain.bytes.data, plain.bytes.n) == 0));
        fuzz_check(cut.bytes.n == plain.bytes.n && (!plain.bytes.n || memcmp(cut.bytes.data, plain.bytes.data, plain.bytes.n) == 0));
        buf_deinit(&plain.bytes);
        buf_deinit(&whole.bytes);
        buf_deinit(&cut.bytes);
        return 0;
}
