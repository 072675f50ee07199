/* Runs: supervisor. Lines out of a hostile byte stream, answers into one, and how fast either may go. Pure: no
 * descriptor and no clock is touched, so that a test can feed every chunking and every time. conn.h puts descriptors to
 * it. */
#pragma once

#include "base/buf.h"
#include "base/util.h"

/* Reading. Bytes go in by line_reader_space() and line_reader_fed(), lines come out of line_reader_next() until it says
 * LINE_NONE. The sequence of results depends on the bytes alone, never on how they were cut (a law with a test). Memory
 * is bounded by max + one chunk as long as all lines are taken before more is fed. What the bytes are (NUL, not UTF-8,
 * not JSON) is the parser's matter. */
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
        size_t used;        /* bytes in which something ever was */
        size_t start, end;  /* what is not taken yet: data[start..end) */
        size_t forgotten;   /* what was taken before that is overwritten */
        size_t scanned;     /* of these, bytes known to hold no newline */
        size_t max;         /* longest line in bytes */
        bool skipping;      /* within a line that was reported as too long */
} LineReader;

void line_reader_init(LineReader *r, size_t max);
void line_reader_deinit(LineReader *r);
/* Room for at least `want` more bytes, at *ret; what an earlier line_reader_next() lent is gone. Returns 0 or
 * -ENOMEM. */
int line_reader_space(LineReader *r, size_t want, char **ret);
/* n bytes were written there. */
void line_reader_fed(LineReader *r, size_t n);
/* *ret (LINE_WHOLE, LINE_PARTIAL) is lent until the next call of any function here. */
LineKind line_reader_next(LineReader *r, const char **ret, size_t *ret_n);
/* The stream ended, and line_reader_next() said LINE_NONE: LINE_PARTIAL once when bytes are left, else LINE_NONE. */
LineKind line_reader_finish(LineReader *r, const char **ret, size_t *ret_n);

/* Answers that wait for a region to read them. The bound is back-pressure: while line_queue_full(), no further request
 * of that region is taken (conn.h), so that a region which never reads stops only itself, until its wall budget ends
 * it. One answer may overshoot the bound, hence memory is at most the bound plus the longest answer. */
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
/* What is to be written next; 0 when nothing is. Lent until the next call. */
size_t line_queue_peek(const LineQueue *q, const char **ret);
void line_queue_sent(LineQueue *q, size_t n);
void line_queue_clear(LineQueue *q);

/* How fast lines are taken: per_sec on the long run, `burst` at once (the generic cell rate algorithm: one time stamp,
 * no timer). */
typedef struct LineRate {
        uint64_t step_nsec, slack_nsec;
        uint64_t due_nsec; /* when the stream would be on schedule */
} LineRate;

void line_rate_init(LineRate *r, uint64_t per_sec, uint64_t burst);
/* Microseconds until a line may be taken; 0: now. */
uint64_t line_rate_wait(const LineRate *r, uint64_t now_usec);
void line_rate_take(LineRate *r, uint64_t now_usec);
