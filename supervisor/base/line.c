/* Runs: supervisor. */
#include "base/line.h"

#include <errno.h>
#include <string.h>

/* A buffer grown for a long line is given back: a thousand regions must not hold a megabyte each until their end. */
#define READER_KEEP (128 * 1024)

void line_reader_init(LineReader *r, size_t max) {
        *r = (LineReader){.max = max};
}

/* A region's output must not stay in unused memory. */
static void line_give_back(LineReader *r) {
        if (r->data)
                explicit_bzero(r->data, r->used);
        free(r->data);
}

void line_reader_deinit(LineReader *r) {
        line_give_back(r);
        *r = (LineReader){.max = r->max};
}

int line_reader_space(LineReader *r, size_t want, char **ret) {
        if (r->start == r->end) {
                if (r->data)
                        explicit_bzero(r->data, r->used);
                r->start = r->end = r->scanned = r->forgotten = r->used = 0;
                if (r->room > READER_KEEP && want <= READER_KEEP) {
                        line_give_back(r);
                        r->data = NULL;
                        r->room = r->used = 0;
                }
        } else if (r->start > 0) {
                memmove(r->data, r->data + r->start, r->end - r->start);
                r->end -= r->start;
                explicit_bzero(r->data + r->end, r->start);
                r->start = r->forgotten = 0;
        }
        if (r->room - r->end < want) {
                size_t room = MAX(r->end + want, MIN(r->room * 2, r->max + want));
                char *p = malloc(room);

                if (!p)
                        return -ENOMEM;
                if (r->data)
                        memcpy(p, r->data, r->end);
                line_give_back(r);
                r->data = p;
                r->room = room;
                r->used = r->end;
        }
        *ret = r->data + r->end;
        return 0;
}

void line_reader_fed(LineReader *r, size_t n) {
        assert(n <= r->room - r->end);
        r->end += n;
        r->used = MAX(r->used, r->end);
}

/* Overwrites the lines taken by the caller: the last line was lent to the caller until now. */
static void line_forget_taken(LineReader *r) {
        if (r->start > r->forgotten)
                explicit_bzero(r->data + r->forgotten, r->start - r->forgotten);
        r->forgotten = r->start;
}

LineKind line_reader_next(LineReader *r, const char **ret, size_t *ret_n) {
        line_forget_taken(r);
        while (r->start < r->end) {
                char *line = r->data + r->start;
                size_t pending = r->end - r->start, n;
                char *newline = memchr(line + r->scanned, '\n', pending - r->scanned);

                if (!newline && !r->skipping && pending <= r->max) {
                        r->scanned = pending;
                        return LINE_NONE;
                }
                if (!newline) {
                        bool first = !r->skipping;

                        explicit_bzero(r->data, r->end);
                        r->start = r->end = r->scanned = r->forgotten = 0;
                        r->skipping = true;
                        return first ? LINE_TOO_LONG : LINE_NONE;
                }
                n = (size_t)(newline - line);
                r->start += n + 1;
                r->scanned = 0;
                if (r->skipping) {
                        r->skipping = false;
                        continue;
                }
                if (n > r->max)
                        return LINE_TOO_LONG;
                *ret = line;
                *ret_n = n;
                return LINE_WHOLE;
        }
        return LINE_NONE;
}

LineKind line_reader_finish(LineReader *r, const char **ret, size_t *ret_n) {
        size_t n = r->end - r->start;

        if (n == 0)
                return LINE_NONE;
        *ret = r->data + r->start;
        *ret_n = n;
        r->start = r->end = r->scanned = r->forgotten = 0;
        return LINE_PARTIAL;
}

void line_queue_init(LineQueue *q, size_t bound) {
        *q = (LineQueue){.bound = bound};
}

void line_queue_deinit(LineQueue *q) {
        buf_deinit(&q->bytes);
        q->sent = 0;
}

int line_queue_add(LineQueue *q, const char *bytes, size_t n) {
        if (q->sent > 0) {
                buf_drop(&q->bytes, q->sent);
                q->sent = 0;
        }
        return buf_add(&q->bytes, bytes, n);
}

bool line_queue_full(const LineQueue *q) {
        return q->bytes.n - q->sent >= q->bound;
}

size_t line_queue_peek(const LineQueue *q, const char **ret) {
        *ret = q->bytes.data ? q->bytes.data + q->sent : "";
        return q->bytes.n - q->sent;
}

void line_queue_sent(LineQueue *q, size_t n) {
        assert(n <= q->bytes.n - q->sent);
        q->sent += n;
        if (q->sent == q->bytes.n)
                line_queue_clear(q);
}

void line_queue_clear(LineQueue *q) {
        if (q->bytes.room > READER_KEEP)
                buf_deinit(&q->bytes);
        else if (q->bytes.n > 0)
                explicit_bzero(q->bytes.data, q->bytes.n);
        q->bytes.n = q->sent = 0;
}

void line_rate_init(LineRate *r, uint64_t per_sec, uint64_t burst) {
        *r = (LineRate){.step_nsec = 1000000000 / per_sec, .slack_nsec = 1000000000 / per_sec * burst};
}

uint64_t line_rate_wait(const LineRate *r, uint64_t now_usec) {
        uint64_t now = now_usec * 1000, allowed = r->due_nsec + r->step_nsec;

        if (allowed <= now + r->slack_nsec)
                return 0;
        return (allowed - now - r->slack_nsec + 999) / 1000;
}

void line_rate_take(LineRate *r, uint64_t now_usec) {
        r->due_nsec = MAX(r->due_nsec, now_usec * 1000) + r->step_nsec;
}
