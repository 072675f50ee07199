/* Runs: supervisor. */
#include "base/conn.h"

#include "base/io.h"

#include <errno.h>

#define CHUNK (64 * 1024) /* a pipe's usual capacity */

int conn_init(Conn *c, int fd_in, int fd_out) {
        int r;

        r = io_set_nonblock(fd_in);
        r = r ?: io_set_nonblock(fd_out);
        if (r < 0)
                return r;
        *c = (Conn){.fd_in = fd_in, .fd_out = fd_out};
        line_reader_init(&c->reader, PIPE_LINE_MAX);
        line_queue_init(&c->queue, CONN_QUEUE_BOUND);
        line_rate_init(&c->rate, PIPE_REQUESTS_PER_SEC, CONN_RATE_BURST);
        return 0;
}

void conn_deinit(Conn *c) {
        closep(&c->fd_in);
        closep(&c->fd_out);
        line_reader_deinit(&c->reader);
        line_queue_deinit(&c->queue);
}

int64_t conn_wants(Conn *c, uint64_t now_usec, struct pollfd ret[static 2]) {
        uint64_t wait = c->draining ? 0 : line_rate_wait(&c->rate, now_usec);
        bool held = !c->draining && line_queue_full(&c->queue);
        const char *unused;

        c->turn = 0;
        ret[0] = (struct pollfd){.fd = -1, .events = POLLIN};
        ret[1] = (struct pollfd){.fd = -1, .events = POLLOUT};
        /* Reads only when all complete lines are taken: otherwise a slowed-down flood would fill the memory. */
        if (!c->ended && !c->unread && wait == 0)
                ret[0].fd = c->fd_in;
        if (line_queue_peek(&c->queue, &unused) > 0)
                ret[1].fd = c->fd_out;
        if (held || (wait == 0 && !c->unread))
                return -1;
        return (int64_t)wait;
}

int conn_readable(Conn *c) {
        char *space;
        ssize_t n;
        int r;

        if (c->ended || c->fd_in < 0)
                return CONN_E_CLOSED;
        r = line_reader_space(&c->reader, CHUNK, &space);
        if (r < 0)
                return r;
        n = TEMP_FAILURE_RETRY(read(c->fd_in, space, CHUNK));
        if (n < 0 && (errno != EAGAIN || !c->draining))
                return errno == EAGAIN ? 0 : -errno;
        n = MAX(n, (ssize_t)0); /* the region is dead: no more bytes, even if a held process has the pipe */
        c->unread = true;
        if (n == 0) {
                c->ended = true;
                return CONN_E_CLOSED;
        }
        line_reader_fed(&c->reader, (size_t)n);
        return 0;
}

int conn_writable(Conn *c) {
        const char *p;
        size_t n;

        while ((n = line_queue_peek(&c->queue, &p)) > 0) {
                ssize_t w = c->fd_out < 0 ? 0 : write(c->fd_out, p, n);

                if (w > 0) {
                        line_queue_sent(&c->queue, (size_t)w);
                        continue;
                }
                if (w < 0 && errno == EINTR)
                        continue;
                if (w < 0 && errno == EAGAIN)
                        return 0;
                line_queue_clear(&c->queue);
                if (w < 0 && errno != EPIPE)
                        return -errno;
                closep(&c->fd_out);
        }
        return 0;
}

LineKind conn_next(Conn *c, uint64_t now_usec, const char **ret, size_t *ret_n) {
        LineKind kind;

        if (!c->draining &&
            (c->turn >= CONN_TURN_LINES || line_queue_full(&c->queue) || line_rate_wait(&c->rate, now_usec) > 0))
                return LINE_NONE;
        kind = line_reader_next(&c->reader, ret, ret_n);
        if (kind == LINE_NONE && c->ended)
                kind = line_reader_finish(&c->reader, ret, ret_n);
        if (kind == LINE_NONE)
                c->unread = false;
        else {
                line_rate_take(&c->rate, now_usec);
                c->turn++;
        }
        return kind;
}

int conn_answer(Conn *c, const char *bytes, size_t n) {
        int r;

        if (n == 0 || c->draining || c->fd_out < 0)
                return 0;
        r = line_queue_add(&c->queue, bytes, n);
        return r < 0 ? r : conn_writable(c);
}

void conn_drain(Conn *c) {
        c->draining = true;
        line_queue_clear(&c->queue);
}
