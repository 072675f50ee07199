/* Runs: supervisor. The supervisor's two ends of one region's pipe, nonblocking, for a loop that polls.
 *
 *      conn_wants(c, now, &polled[k]) -> ppoll -> conn_readable() / conn_writable() as revents say
 *      then, after every wake for any reason:
 *              while ((kind = conn_next(c, now, &line, &n)) != LINE_NONE)  dispatch …  conn_answer(c, reply)
 *
 * conn_next() returns no line while the region does not read its answers (CONN_QUEUE_BOUND) or asks faster than
 * PIPE_REQUESTS_PER_SEC, and at most CONN_TURN_LINES lines between two polls: a line may cost a durable commit, and the
 * loop has deadlines. The bytes then wait in the buffer, and behind the buffer in the kernel's pipe, where the region's
 * write blocks. So a flood costs the region its own time, and costs other regions no time. The same holds for
 * descriptors: conn_wants() leaves out (fd -1) an end that must wait, because poll always reports a hang-up. */
#pragma once

#include "base/line.h"
#include "schema/limits.h"

#include <poll.h>

#define CONN_QUEUE_BOUND (256 * 1024)                    /* bytes of unread answers before requests wait */
#define CONN_TURN_LINES 8                                /* lines from conn_next() until conn_wants() is called again */
#define CONN_RATE_BURST (PIPE_REQUESTS_PER_SEC / 10)     /* lines allowed at once */

enum {
        CONN_E_CLOSED = 1, /* every writer closed its end: buffered lines still come out of conn_next() */
};

typedef struct Conn {
        int fd_in;  /* for requests: the read end of the region's REGION_PIPE_OUT_FD; owned; -1 when closed */
        int fd_out; /* for answers: the write end of the region's REGION_PIPE_IN_FD; owned; -1 when closed */
        LineReader reader;
        LineQueue queue;
        LineRate rate;
        unsigned turn; /* lines given since conn_wants() */
        bool ended;    /* fd_in is at end of file */
        bool unread;   /* the reader may hold lines not yet returned by conn_next() */
        bool draining; /* conn_drain() */
} Conn;

/* Takes both descriptors over and sets O_NONBLOCK. Returns 0 or -errno (the caller then keeps both descriptors). */
int conn_init(Conn *c, int fd_in, int fd_out);
/* Closes open ends. A Conn of zeros with both descriptors -1 is allowed. */
void conn_deinit(Conn *c);

/* Sets the ends to poll: ret[0] for requests, ret[1] for answers. Returns the microseconds until conn_next() must be
 * called even without a ready end, -1 for no limit. */
int64_t conn_wants(Conn *c, uint64_t now_usec, struct pollfd ret[static 2]);
/* Reads once. Returns 0, CONN_E_CLOSED, -errno. */
int conn_readable(Conn *c);
/* Writes as much as the kernel takes. A region that closed its end loses its answers: still 0. Returns 0 or -errno. */
int conn_writable(Conn *c);
/* The next line, as line_reader_next(); LINE_PARTIAL once after the end. *ret is lent until the next call. */
LineKind conn_next(Conn *c, uint64_t now_usec, const char **ret, size_t *ret_n);
/* Queues an answer with its newline, and tries to write at once. Returns 0 or -errno. */
int conn_answer(Conn *c, const char *bytes, size_t n);
/* The region is dead: its last lines must still be judged, but its answers have no reader. From now on answers are
 * dropped and no bound delays a line, so that conn_readable() until CONN_E_CLOSED and conn_next() until LINE_NONE come
 * to an end: without a writer, the kernel's pipe holds at most its capacity. An empty pipe counts as its end, even
 * while dead processes at their exit stop still have the pipe open. */
void conn_drain(Conn *c);
