/* Runs: supervisor. Splits a hostile byte stream into lines, queues answers, and limits the rate of both. Pure: without
 * descriptors and clocks, so that a test can feed every chunking and every time. conn.h adds the descriptors. */
#pragma once

#include "base/buf.h"
#include "base/util.h"

/* Reading. Bytes go in by line_reader_space() and line_reader_fed(), lines come out of line_reader_next() until
 * LINE_NONE. The sequence of results depends on the bytes alone, never on the chunks (a law with a test). Memory is
 * bounded by max + one chunk as long as all lines are taken before the next chunk. The content of the bytes (NUL, not
 * UTF-8, not JSON) is the parser's task. */
typedef enum LineKind {
        LINE_NONE = 0, /* no whole line is there yet */
        LINE_WHOLE,    /* a line without its newline; may be empty */
        LINE_TOO_LONG, /* more than max bytes without a newline: said once, then all is skipped up to the next newline
                        */
        LINE_PARTIAL,  /* only from line_reader_finish(): the bytes after the last newline */
} LineKind;

typedef struct LineReader {
        char *data;         /* owned */
        size_t room;        /* bytes allocated */
        size_t used;        /* bytes ever written to */
        size_t start, end;  /* bytes not taken yet: data[start..end) */
        size_t forgotten;   /* bytes before are overwritten already */
        size_t scanned;     /* bytes from start on without a newline */
        size_t max;         /* longest line in bytes */
        bool skipping;      /* within a line reported as too long */
} LineReader;

void line_reader_init(LineReader *r, size_t max);
void line_reader_deinit(LineReader *r);
/* Room for at least `want` more bytes, at *ret; lines lent before become invalid. Returns 0 or -ENOMEM. */
int line_reader_space(LineReader *r, size_t want, char **ret);
/* n bytes were written there. */
void line_reader_fed(LineReader *r, size_t n);
/* *ret (LINE_WHOLE, LINE_PARTIAL) is lent until the next call of any function here. */
LineKind line_reader_next(LineReader *r, const char **ret, size_t *ret_n);
/* The stream ended, and line_reader_next() said LINE_NONE: LINE_PARTIAL once when bytes are left, else LINE_NONE. */
LineKind line_reader_finish(LineReader *r, const char **ret, size_t *ret_n);

/* Answers waiting to be read by a region. The bound is back-pressure: while line_queue_full(), no further request of
 * the region is taken (conn.h). So a region that never reads stops only itself, until its wall budget ends. A single
 * answer may overshoot the bound: memory is at most the bound plus the longest answer. */
typedef struct LineQueue {
        Buf bytes;
        size_t sent;  /* of bytes, already written */
        size_t bound;
} LineQueue;

void line_queue_init(LineQueue *q, size_t bound);
void line_queue_deinit(LineQueue *q);
/* Returns 0 or -ENOMEM. */
int line_queue_add(LineQueue *q, const char *bytes, size_t n);
bool line_queue_full(const LineQueue *q);
/* The next bytes to write; 0 when the queue is empty. Lent until the next call. */
size_t line_queue_peek(const LineQueue *q, const char **ret);
void line_queue_sent(LineQueue *q, size_t n);
void line_queue_clear(LineQueue *q);

/* The rate of lines: per_sec in the long run, `burst` at once (generic cell rate algorithm: one time stamp, no
 * timer). */
typedef struct LineRate {
        uint64_t step_nsec, slack_nsec;
        uint64_t due_nsec; /* when the stream would be on schedule */
} LineRate;

void line_rate_init(LineRate *r, uint64_t per_sec, uint64_t burst);
/* Microseconds until a line may be taken; 0: now. */
uint64_t line_rate_wait(const LineRate *r, uint64_t now_usec);
void line_rate_take(LineRate *r, uint64_t now_usec);
