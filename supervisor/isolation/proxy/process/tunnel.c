/* Runs: lethe-proxy. The bytes of a connection, both ways: read into a piece of memory, and sent. A copy of a large warm
 * piece takes less processor time than splice(2), which handles each page by itself; and pipes are limited for each user,
 * hence for all regions together. A side that does not read holds back a single connection. */
#include "proxy/process/state.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define PIECE (1U << 20)
#define SMALL 65536
#define LARGE_MAX 8      /* pieces of PIECE bytes at once; more connections that wait to send have SMALL ones */
#define TURN (2 * PIECE) /* bytes of a direction before the turn of another connection */

/* Bytes on their way. */
struct TunnelPiece {
        size_t size, used; /* used: the most bytes that were ever in the piece */
        uint8_t bytes[];
};

static TunnelPiece *tunnel_spare; /* PIECE bytes, warm, for the next read */
static unsigned tunnel_n_large;

static TunnelPiece *tunnel_take_piece(void) {
        const size_t size = tunnel_n_large < LARGE_MAX ? PIECE : SMALL;
        TunnelPiece *p = TAKE_PTR(tunnel_spare);

        if (!p && (p = malloc(sizeof(*p) + size))) {
                *p = (TunnelPiece){.size = size};
                tunnel_n_large += size == PIECE;
        }
        return p;
}

static void tunnel_free_piece(TunnelPiece *p) {
        if (!p)
                return;
        tunnel_n_large -= p->size == PIECE;
        explicit_bzero(p->bytes, p->used);
        free(p);
}

static void tunnel_give_piece(TunnelPiece **piece) {
        if (*piece && !tunnel_spare && (*piece)->size == PIECE)
                tunnel_spare = TAKE_PTR(*piece);
        tunnel_free_piece(TAKE_PTR(*piece));
}

void tunnel_region_side(int fd) {
        static const char plain[] = "reno";

        setsockopt(fd, IPPROTO_TCP, TCP_CONGESTION, plain, sizeof(plain) - 1);
}

void tunnel_open(ProxyConn *c) {
        c->client.ready = c->server.ready = true;
}

void tunnel_close(ProxyConn *c) {
        tunnel_give_piece(&c->up.piece);
        tunnel_give_piece(&c->down.piece);
}

void tunnel_wipe(void) {
        tunnel_free_piece(TAKE_PTR(tunnel_spare));
}

static size_t tunnel_room(size_t most) {
        return (size_t)MIN((uint64_t)most, proxy_bytes_left());
}

static void tunnel_count(ConnFlow *f, bool up, size_t n) {
        f->bytes += n;
        *(up ? &proxy.sums.up : &proxy.sums.down) += n;
}

/* Sends a buffer. Returns false when the peer takes no more now, or is gone (*ret_gone). */
static bool tunnel_send(int fd, const void *bytes, size_t n, size_t *sent, bool *ret_gone) {
        while (*sent < n) {
                ssize_t r = send(fd, (const char *)bytes + *sent, n - *sent, MSG_NOSIGNAL | MSG_DONTWAIT);

                if (r < 0 && errno == EINTR)
                        continue;
                *ret_gone = r < 0 && errno != EAGAIN;
                if (r < 0)
                        return false;
                *sent += (size_t)r;
        }
        return true;
}

static bool tunnel_send_buf(int fd, Buf *b, bool *ret_gone) {
        size_t sent = 0;
        bool all = tunnel_send(fd, b->data, b->n, &sent, ret_gone);

        buf_drop(b, sent);
        return all;
}

bool tunnel_frame(ProxyConn *c) {
        size_t n = c->n_in;

        if (c->chunked) {
                n = http_chunks_feed(&c->chunks, (char *)c->in, c->n_in);
                c->body_over = c->chunks.over;
        } else {
                n = (size_t)MIN((uint64_t)n, c->body);
                c->body -= n;
                c->body_over = c->body == 0;
        }
        if (n == HTTP_CHUNKS_BAD)
                return false;
        c->n_in = n; /* a second request on the connection is dropped */
        return true;
}

/* A plain request's body: read, framed, sent. Returns -1 when the connection has to end, 1 when it waits to send. */
static int tunnel_body(ProxyConn *c) {
        bool gone = false;

        for (unsigned turns = 0; turns < 8; turns++) {
                ssize_t n;

                if (c->n_in > 0) {
                        const size_t before = c->sent_in;
                        const bool all = tunnel_send(c->server.fd, c->in, c->n_in, &c->sent_in, &gone);

                        tunnel_count(&c->up, true, c->sent_in - before);
                        if (!all)
                                return gone ? -1 : 1;
                        c->n_in = c->sent_in = 0;
                }
                if (c->body_over)
                        return 0;
                n = recv(c->client.fd, c->in, tunnel_room(IN_MAX), MSG_DONTWAIT);
                if (n < 0)
                        return errno == EAGAIN || errno == EINTR ? 0 : -1;
                if (n == 0)
                        return -1; /* the body is cut off */
                c->n_in = (size_t)n;
                if (!tunnel_frame(c))
                        return -1;
        }
        return 0;
}

/* Reads a piece; up: the bytes are the region's. Returns false when the connection has to end. */
static bool tunnel_read(ConnSide *from, ConnFlow *f, bool up) {
        size_t room = tunnel_room(PIECE);
        ssize_t n;

        if (room == 0 || !(f->piece = f->piece ?: tunnel_take_piece()))
                return false;
        room = MIN(room, f->piece->size);
        n = TEMP_FAILURE_RETRY(recv(from->fd, f->piece->bytes, room, MSG_DONTWAIT));
        /* A closed peer gives no events any more, and is read to its end. */
        from->ready = n > 0 && ((size_t)n == room || from->gone);
        if (n < 0)
                return errno == EAGAIN;
        f->end = n == 0;
        f->sent = 0;
        f->n = (size_t)n;
        f->piece->used = MAX(f->piece->used, f->n);
        tunnel_count(f, up, f->n);
        return true;
}

/* Moves the bytes of a direction. Returns false when the connection has to end. */
static bool tunnel_move(ConnSide *from, ConnSide *to, ConnFlow *f, bool up) {
        bool good = true;

        for (size_t moved = 0; good && moved < TURN && !f->shut && (f->n > 0 || from->ready || from->gone);) {
                if (f->n == 0 && !f->end)
                        good = tunnel_read(from, f, up);
                if (!good || (f->n == 0 && !f->end))
                        break;
                if (f->n > 0) {
                        const size_t before = f->sent;
                        bool gone = false, all = tunnel_send(to->fd, f->piece->bytes, f->n, &f->sent, &gone);

                        moved += f->sent - before;
                        if (!all)
                                return !gone;
                        f->n = 0;
                }
                if (f->end) {
                        shutdown(to->fd, SHUT_WR);
                        f->shut = true;
                }
        }
        if (f->n == 0)
                tunnel_give_piece(&f->piece);
        return good;
}

static uint32_t tunnel_wants(const ConnFlow *in, const ConnFlow *out) {
        return (in->n == 0 && !in->end ? (uint32_t)EPOLLIN : 0) | (out->n > 0 ? (uint32_t)EPOLLOUT : 0);
}

/* Bytes read together with the request go first. Returns as tunnel_body(). */
static int tunnel_begin(ProxyConn *c) {
        const size_t n_head = c->head.n, before = c->sent_in;
        bool gone = false, all = tunnel_send_buf(c->server.fd, &c->head, &gone);

        tunnel_count(&c->up, true, n_head - c->head.n);

        if (all && !c->framed && c->n_in > 0) {
                all = tunnel_send(c->server.fd, c->in, c->n_in, &c->sent_in, &gone);
                tunnel_count(&c->up, true, c->sent_in - before);
                if (all) {
                        c->n_in = c->sent_in = 0;
                        free(TAKE_PTR(c->in));
                }
        }
        return all ? 0 : gone ? -1
                              : 1;
}

void tunnel_pump(ProxyConn *c) {
        bool gone = false, good;
        uint32_t client = 0, server = 0;
        int begun = tunnel_begin(c);

        if (tunnel_room(1) == 0) {
                conn_end(c, PROXY_WHY_BUDGET);
                return;
        }
        if (begun == 0 && c->framed)
                begun = tunnel_body(c);
        good = begun >= 0;
        if (!tunnel_send_buf(c->client.fd, &c->out, &gone)) {
                client |= (uint32_t)EPOLLOUT;
                good &= !gone;
        } else if (good)
                good = tunnel_move(&c->server, &c->client, &c->down, c->published);
        if (begun == 0 && good && !c->framed)
                good = tunnel_move(&c->client, &c->server, &c->up, !c->published);
        if (!good || (c->down.shut && (c->up.shut || c->framed))) {
                conn_end(c, tunnel_room(1) == 0 ? PROXY_WHY_BUDGET : PROXY_WHY_CLOSED);
                return;
        }
        server |= begun > 0 ? (uint32_t)EPOLLOUT : 0;
        if (c->framed) {
                client |= begun == 0 && !c->body_over ? (uint32_t)EPOLLIN : 0;
                client |= c->down.n > 0 ? (uint32_t)EPOLLOUT : 0;
                server |= c->down.n == 0 && !c->down.end && c->out.n == 0 ? (uint32_t)EPOLLIN : 0;
        } else {
                client |= begun == 0 ? tunnel_wants(&c->up, &c->down) : tunnel_wants(&(ConnFlow){.n = 1}, &c->down);
                server |= c->out.n == 0 ? tunnel_wants(&c->down, &c->up) : 0;
        }
        /* A closed peer gives no events any more: the events of the other side fetch the rest. */
        client |= c->server.gone && !c->down.shut ? (uint32_t)EPOLLOUT : 0;
        server |= c->client.gone && !c->up.shut && !c->framed ? (uint32_t)EPOLLOUT : 0;
        side_watch(&c->client, client);
        side_watch(&c->server, server);
}
