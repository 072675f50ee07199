/* Runs: supervisor. The supervisor's two ends of one region's pipe, nonblocking, for a loop that polls.
 *
 *         conn_wants(c, now, &polled[k]) -> ppoll -> conn_readable() / conn_writable() as revents say
 *         then, after every wake for whatever reason:
 *                 while ((kind = conn_next(c, now, &line, &n)) != LINE_NONE)  dispatch …  conn_answer(c, reply)
 *
 * conn_next() gives nothing while the region does not read its answers (CONN_QUEUE_BOUND) or asks faster than
 * PIPE_REQUESTS_PER_SEC, and never more than CONN_TURN_LINES between two polls: a line may cost a durable commit, and
 * the loop has deadlines to look after. The bytes then wait in our buffer, and behind it in the kernel's pipe, where
 * the region's own write blocks. So a flood costs the region its time and nobody else anything. The same holds for
 * descriptors: conn_wants() leaves out (fd -1) an end that is not to be looked at, because poll reports a hang-up even
 * when nothing was asked for. */
#pragma once

#include "base/line.h"
#include "schema/limits.h"

#include <poll.h>

#define CONN_QUEUE_BOUND (256 * 1024)                    /* bytes of unread answers before requests wait */
#define CONN_TURN_LINES 8                                /* lines that conn_next() gives before conn_wants() is asked again */
#define CONN_RATE_BURST (PIPE_REQUESTS_PER_SEC / 10)     /* lines that may come at once */

enum {
        CONN_E_CLOSED = 1, /* every writer closed its end: lines that are still buffered come out of conn_next() */
};

typedef struct Conn {
        int fd_in;  /* we read requests: the read end of what is REGION_PIPE_OUT_FD inside; owned; -1 when closed */
        int fd_out; /* we write answers: the write end of what is REGION_PIPE_IN_FD inside; owned; -1 when closed */
        LineReader reader;
        LineQueue queue;
        LineRate rate;
        unsigned turn; /* lines given since conn_wants() */
        bool ended;    /* fd_in came to its end */
        bool unread;   /* the reader may hold lines that conn_next() did not give yet */
        bool draining; /* conn_drain() */
} Conn;

/* Takes both descriptors over and puts O_NONBLOCK on them. Returns 0 or -errno (the descriptors stay the caller's
 * then). */
int conn_init(Conn *c, int fd_in, int fd_out);
/* Closes what is open. A Conn of zeros with both descriptors -1 is fine. */
void conn_deinit(Conn *c);

/* What to poll for: ret[0] is for the requests, ret[1] for the answers. Returns the microseconds after which
 * conn_next() is to be called even when nothing is ready, -1 for none. */
int64_t conn_wants(Conn *c, uint64_t now_usec, struct pollfd ret[static 2]);
/* Reads once. Returns 0, CONN_E_CLOSED, -errno. */
int conn_readable(Conn *c);
/* Writes what the kernel takes. A region that closed its end loses its answers; that is its own affair and returns 0. 0
 * or -errno. */
int conn_writable(Conn *c);
/* The next line, as line_reader_next(); LINE_PARTIAL once after the end. What *ret points to is lent until the next
 * call. */
LineKind conn_next(Conn *c, uint64_t now_usec, const char **ret, size_t *ret_n);
/* Queues one answer, with its newline, and tries to write at once. 0 or -errno. */
int conn_answer(Conn *c, const char *bytes, size_t n);
/* The region is dead: what it wrote before is still to be judged, but nobody waits for answers. Answers are dropped
 * from now on and no bound delays a line, so that conn_readable() until CONN_E_CLOSED and conn_next() until LINE_NONE
 * come to an end: with no writer left, the kernel's pipe holds at most its capacity. An empty pipe is the end of it,
 * also when dead processes that are held still have it open. */
void conn_drain(Conn *c);
