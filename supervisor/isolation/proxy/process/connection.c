/* Runs: lethe-proxy. The life of a connection: request, look-up, connect, hello, tunnel. */
#include "base/clock.h"
#include "manifest/net-name.h"
#include "proxy/process/state.h"
#include "proxy/socks5.h"
#include "proxy/tls-hello.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define TLS_PORT 443
#define ACCEPT_TURN 16

static void conn_looked_up(NameLookup *l);

static ProxyConn *conn_new(int fd) {
        ProxyConn *c = calloc(1, sizeof(*c));

        if (!c || !(c->in = malloc(IN_MAX))) {
                free(c);
                return NULL;
        }
        c->client = (ConnSide){.conn = c, .fd = fd};
        c->server = (ConnSide){.conn = c, .fd = -1};
        c->found.done = conn_looked_up;
        c->out.max = c->head.max = HTTP_HEAD_MAX * 2;
        c->began = clock_mono_usec();
        c->deadline = c->began + REQUEST_USEC;
        c->next_conn = proxy.conns;
        proxy.conns = c;
        proxy.n_busy++;
        return c;
}

void conn_accept(void) {
        for (unsigned i = 0; i < ACCEPT_TURN; i++) {
                ProxyConn *c;
                int fd;

                if (proxy.n_busy >= PROXY_CONNECTIONS_MAX) {
                        epoll_ctl(proxy.epoll, EPOLL_CTL_DEL, proxy.listener, NULL); /* the others wait in the backlog */
                        proxy.listening = false;
                        return;
                }
                fd = accept4(proxy.listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
                if (fd < 0)
                        return;
                c = conn_new(fd);
                if (c)
                        side_watch(&c->client, EPOLLIN);
                else
                        close(fd);
        }
}

void conn_sweep(void) {
        for (ProxyConn **at = &proxy.conns; *at;) {
                ProxyConn *c = *at;

                if (c->state != CONN_OVER) {
                        at = &c->next_conn;
                        continue;
                }
                *at = c->next_conn;
                free(c);
                proxy.n_busy--;
        }
        if (!proxy.listening && proxy.listener >= 0 && proxy.n_busy < PROXY_CONNECTIONS_MAX) {
                struct epoll_event e = {.events = EPOLLIN, .data.ptr = &proxy.listener};

                proxy.listening = epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, proxy.listener, &e) == 0;
        }
}

static void conn_close(ProxyConn *c, bool reset) {
        if (reset && c->client.fd >= 0)
                setsockopt(c->client.fd, SOL_SOCKET, SO_LINGER, &(struct linger){.l_onoff = 1}, sizeof(struct linger));
        lookup_leave(&c->found);
        side_close(&c->client);
        side_close(&c->server);
        tunnel_close(c);
        buf_deinit(&c->out);
        buf_deinit(&c->head);
        free(TAKE_PTR(c->in));
        c->state = CONN_OVER;
}

/* Counted and told once: CONN_LINGER is told already. */
void conn_end(ProxyConn *c, ProxyWhy why) {
        if (c->state == CONN_OVER)
                return;
        if (c->state != CONN_LINGER) {
                c->why = why;
                control_tell(c);
        }
        /* A region that is refused after the answer "connected" sees a reset, never an end that looks like success. */
        conn_close(c, c->state != CONN_LINGER && why != PROXY_WHY_CLOSED);
}

static void conn_linger(ProxyConn *c) {
        char bytes[4096];
        ssize_t n;

        while (c->out.n > 0 && (n = send(c->client.fd, c->out.data, c->out.n, MSG_NOSIGNAL | MSG_DONTWAIT)) > 0) {
                buf_drop(&c->out, (size_t)n);
                if (c->out.n == 0)
                        shutdown(c->client.fd, SHUT_WR);
        }
        /* Bytes that nobody reads would turn the end into a reset, and the answer would be lost. */
        for (unsigned i = 0; i < 16; i++) {
                n = recv(c->client.fd, bytes, sizeof(bytes), MSG_DONTWAIT);
                if (n == 0 || (n < 0 && errno != EAGAIN && errno != EINTR)) {
                        conn_close(c, false);
                        return;
                }
                if (n < 0)
                        break;
        }
        side_watch(&c->client, EPOLLIN | (c->out.n > 0 ? (uint32_t)EPOLLOUT : 0));
}

/* The region is told, counted, and has a moment to read. */
static void conn_refuse(ProxyConn *c, ProxyWhy why, const char *rule) {
        if (c->published) {
                conn_end(c, why);
                return;
        }
        answer_refused(c, why, rule);
        c->why = why;
        control_tell(c);
        side_close(&c->server);
        c->state = CONN_LINGER;
        c->deadline = clock_mono_usec() + LINGER_USEC;
        conn_linger(c);
}

static void conn_connect(ProxyConn *c) {
        c->state = CONN_CONNECT;
        while (c->next < c->found.n) {
                const ProxyAddress *a = &c->found.list[c->next++];
                struct sockaddr_storage sa;
                socklen_t n = address_to_sockaddr(a, c->port, &sa);

                side_close(&c->server);
                c->server = (ConnSide){.conn = c, .fd = c->published ? publish_take()
                                                                 : socket(sa.ss_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP)};
                c->deadline = clock_mono_usec() + CONNECT_USEC;
                if (c->server.fd < 0)
                        continue;
                if (connect(c->server.fd, (const struct sockaddr *)&sa, n) == 0 || errno == EINPROGRESS) {
                        side_watch(&c->server, EPOLLOUT);
                        side_watch(&c->client, 0);
                        return;
                }
        }
        conn_refuse(c, PROXY_WHY_UNREACHED, NULL);
}

static void conn_looked_up(NameLookup *l) {
        ProxyConn *c = (ProxyConn *)((char *)l - offsetof(ProxyConn, found));

        if (c->found.n == 0) {
                conn_refuse(c, PROXY_WHY_UNKNOWN, NULL);
                return;
        }
        lookup_own_addresses();
        /* A refused address refuses the name: an answer that mixes public and private addresses is an attack or a
         * mistake, and the part that is used would depend on luck. */
        for (size_t i = 0; i < c->found.n; i++)
                if (!address_is_allowed(&c->found.list[i], &proxy.own, proxy.nets, proxy.n_nets)) {
                        c->next = i + 1;
                        conn_refuse(c, PROXY_WHY_PRIVATE, NULL);
                        return;
                }
        conn_connect(c);
}

static bool conn_is_beyond_budget(void) {
        return (proxy.budget.connections > 0 && proxy.granted >= proxy.budget.connections) ||
               proxy_bytes_left() == 0;
}

void conn_from_outside(int fd, const char *peer, uint16_t host_port, uint16_t port) {
        ProxyConn *c = conn_new(fd);

        if (!c) {
                close(fd);
                return;
        }
        free(TAKE_PTR(c->in));
        c->published = host_port;
        c->port = port;
        c->plain = true;
        snprintf(c->asked.name, sizeof(c->asked.name), "%s", peer);
        if (conn_is_beyond_budget()) {
                conn_end(c, PROXY_WHY_BUDGET);
                return;
        }
        proxy.granted++;
        c->found.list[0] = (ProxyAddress){.addr = {127, 0, 0, 1}};
        c->found.n = 1;
        conn_connect(c);
}

/* The request is known: is the region allowed to make it? */
static void conn_judge(ProxyConn *c) {
        const ProxyRule *rule = net_rule_find(proxy.rules, proxy.n_rules, &c->asked, c->port);
        ProxyAddress *a = &c->found.list[0];

        if (!rule) {
                conn_refuse(c, PROXY_WHY_NOT_ALLOWED, NULL);
                return;
        }
        c->plain = rule->plain;
        if (conn_is_beyond_budget()) {
                conn_refuse(c, PROXY_WHY_BUDGET, NULL);
                return;
        }
        if (c->protocol == PROTOCOL_HTTP && c->port == TLS_PORT && !c->plain) {
                conn_refuse(c, PROXY_WHY_NOT_TLS, NULL);
                return;
        }
        proxy.granted++;
        side_watch(&c->client, 0); /* an end of the region's side is seen without */
        if (c->asked.host == PROXY_HOST_NAME) {
                c->state = CONN_LOOKUP;
                c->deadline = clock_mono_usec() + LOOKUP_USEC;
                lookup_ask(&c->found, c->asked.name);
                return;
        }
        *a = (ProxyAddress){.v6 = c->asked.host == PROXY_HOST_IPV6};
        memcpy(a->addr, c->asked.addr, sizeof(a->addr));
        c->found.n = 1;
        conn_looked_up(&c->found);
}

static void conn_take_in(ProxyConn *c, size_t n) {
        memmove(c->in, c->in + n, c->n_in - n);
        c->n_in -= n;
}

static void conn_request_http(ProxyConn *c) {
        const char *why = NULL;
        HttpHead h;
        int r = http_head_parse((char *)c->in, c->n_in, &h, &why);

        if (r == HTTP_E_MORE)
                return;
        if (r != 0) {
                conn_refuse(c, PROXY_WHY_BROKEN, why);
                return;
        }
        c->protocol = h.connect ? PROTOCOL_CONNECT : PROTOCOL_HTTP;
        c->asked = h.host;
        c->port = h.port;
        c->framed = !h.connect;
        c->chunked = h.chunked;
        c->body = h.length;
        c->body_over = !h.chunked && h.length == 0;
        if (c->framed && http_head_rewrite((char *)c->in, &h, &c->head) < 0) {
                conn_refuse(c, PROXY_WHY_BROKEN, "out of memory");
                return;
        }
        conn_take_in(c, h.n);
        conn_judge(c);
}

static void conn_request_socks(ProxyConn *c) {
        Socks5Reply reply = SOCKS5_FAILED;
        size_t n;
        int r;

        c->protocol = PROTOCOL_SOCKS5;
        if (!c->greeted) {
                r = socks5_greeting(c->in, c->n_in, &n);
                if (r == SOCKS5_E_BAD) {
                        send(c->client.fd, "\5\xff", 2, MSG_NOSIGNAL | MSG_DONTWAIT);
                        conn_end(c, PROXY_WHY_BROKEN);
                }
                if (r != 0)
                        return;
                conn_take_in(c, n);
                c->greeted = true;
                if (send(c->client.fd, "\5\0", 2, MSG_NOSIGNAL | MSG_DONTWAIT) != 2) {
                        conn_end(c, PROXY_WHY_CLOSED);
                        return;
                }
        }
        r = socks5_request(c->in, c->n_in, &n, &c->asked, &c->port, &reply);
        if (r == SOCKS5_E_BAD) {
                uint8_t bytes[SOCKS5_REPLY_BYTES];

                socks5_reply(reply, bytes);
                send(c->client.fd, bytes, sizeof(bytes), MSG_NOSIGNAL | MSG_DONTWAIT);
                c->asked = (ProxyRule){};
                conn_end(c, PROXY_WHY_BROKEN);
        }
        if (r != 0)
                return;
        conn_take_in(c, n);
        conn_judge(c);
}

static void conn_tunnel(ProxyConn *c) {
        c->state = CONN_TUNNEL;
        c->deadline = proxy.budget.usec > 0 ? c->began + proxy.budget.usec : UINT64_MAX;
        tunnel_open(c);
        tunnel_pump(c);
}

/* Port 443: the region's first bytes have to be a hello that asks for the very host. */
static void conn_hello(ProxyConn *c) {
        int r = tls_hello_parse(c->in, c->n_in, c->seen);

        if (r == TLS_E_MORE)
                return;
        if (r != 0)
                conn_end(c, PROXY_WHY_NOT_TLS);
        else if (c->asked.host == PROXY_HOST_NAME ? strcmp(c->seen, c->asked.name) != 0 : *c->seen && strcmp(c->seen, c->asked.name) != 0)
                conn_end(c, PROXY_WHY_OTHER_NAME); /* an address has no name in a hello (RFC 6066 3) */
        else {
                *c->seen = 0;
                conn_tunnel(c);
        }
}

/* Reads what the region sends before the tunnel. False: the connection is over. */
static bool conn_read(ProxyConn *c) {
        ssize_t n = recv(c->client.fd, c->in + c->n_in, IN_MAX - c->n_in, MSG_DONTWAIT);

        if (n < 0 && (errno == EAGAIN || errno == EINTR))
                return true;
        if (n <= 0) {
                conn_end(c, c->state == CONN_HELLO ? PROXY_WHY_CLOSED : PROXY_WHY_BROKEN);
                return false;
        }
        c->n_in += (size_t)n;
        return true;
}

static void conn_connected(ProxyConn *c) {
        static const int on = 1;
        int error = 0;
        socklen_t n = sizeof(error);

        if (getsockopt(c->server.fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 || error != 0) {
                conn_connect(c);
                return;
        }
        setsockopt(c->server.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(c->client.fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
        setsockopt(c->server.fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof(on));
        c->connected = true;
        if (!c->published)
                answer_connected(c);
        if (c->framed || c->port != TLS_PORT || c->plain) {
                if (c->framed && c->n_in > 0 && !tunnel_frame(c))
                        conn_end(c, PROXY_WHY_BROKEN);
                else
                        conn_tunnel(c);
                return;
        }
        c->state = CONN_HELLO;
        c->deadline = clock_mono_usec() + REQUEST_USEC;
        if (send(c->client.fd, c->out.data, c->out.n, MSG_NOSIGNAL | MSG_DONTWAIT) != (ssize_t)c->out.n) {
                conn_end(c, PROXY_WHY_CLOSED);
                return;
        }
        buf_drop(&c->out, c->out.n);
        side_watch(&c->server, 0);
        side_watch(&c->client, EPOLLIN);
        conn_hello(c);
}

static void conn_step(ProxyConn *c, ConnSide *s) {
        switch (c->state) {
        case CONN_REQUEST:
                if (!conn_read(c))
                        break;
                if (c->protocol == PROTOCOL_SOCKS5 || c->in[0] == SOCKS5_VERSION)
                        conn_request_socks(c);
                else
                        conn_request_http(c);
                break;
        case CONN_CONNECT:
                if (s == &c->server)
                        conn_connected(c);
                break;
        case CONN_HELLO:
                if (s == &c->client && conn_read(c))
                        conn_hello(c);
                break;
        case CONN_TUNNEL:
                tunnel_pump(c);
                break;
        case CONN_LINGER:
                conn_linger(c);
                break;
        case CONN_LOOKUP:
        case CONN_OVER:
                break;
        }
}

void conn_event(ProxyConn *c, ConnSide *s, uint32_t events) {
        s->ready |= (events & ~(uint32_t)EPOLLOUT) != 0;
        if (events & (EPOLLERR | EPOLLHUP)) {
                const bool client = s == &c->client;

                if (client && c->state != CONN_TUNNEL) {
                        conn_end(c, PROXY_WHY_CLOSED);
                        return;
                }
                if (c->state != CONN_CONNECT) { /* told again and again; what is left to read is read without */
                        epoll_ctl(proxy.epoll, EPOLL_CTL_DEL, s->fd, NULL);
                        s->gone = true;
                        s->watched = false;
                }
                if (c->state == CONN_HELLO) {
                        conn_end(c, PROXY_WHY_CLOSED);
                        return;
                }
        }
        conn_step(c, s);
}

void conn_tick(uint64_t now) {
        for (ProxyConn *c = proxy.conns; c; c = c->next_conn) {
                if (c->state == CONN_OVER || now < c->deadline)
                        continue;
                if (c->state == CONN_CONNECT)
                        conn_connect(c);
                else if (c->state == CONN_LOOKUP) {
                        lookup_leave(&c->found);
                        conn_refuse(c, PROXY_WHY_TIMED, NULL);
                } else
                        conn_end(c, c->state == CONN_TUNNEL ? PROXY_WHY_BUDGET : PROXY_WHY_TIMED);
        }
}
