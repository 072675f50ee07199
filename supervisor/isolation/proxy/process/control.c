/* Runs: lethe-proxy. Messages of the supervisor, and to the supervisor. */
#include "base/clock.h"
#include "base/io.h"
#include "proxy/process/state.h"

#include <errno.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

static void control_open(const uint8_t *packet, size_t n, int listener) {
        const ProxyOpen *o = (const void *)packet;
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = &proxy.listener};
        const uint8_t *rules = packet + sizeof(*o);

        if (proxy.opened || n < sizeof(*o) || (listener < 0 && o->n_rules > 0) || o->n_rules > PROXY_RULES_MAX || o->n_nets > PROXY_NETS_MAX ||
            n != sizeof(*o) + o->n_rules * sizeof(ProxyRule) + o->n_nets * sizeof(ProxyNet))
                proxy_die();
        proxy.rules = calloc(o->n_rules + 1, sizeof(ProxyRule));
        proxy.nets = calloc(o->n_nets + 1, sizeof(ProxyNet));
        if (!proxy.rules || !proxy.nets)
                proxy_die();
        proxy.n_rules = o->n_rules;
        proxy.n_nets = o->n_nets;
        memcpy(proxy.rules, rules, o->n_rules * sizeof(ProxyRule));
        memcpy(proxy.nets, rules + o->n_rules * sizeof(ProxyRule), o->n_nets * sizeof(ProxyNet));
        proxy.budget = o->budget;
        proxy.every = o->every;
        proxy.opened = true;
        proxy.listener = listener; /* none: the region has routes alone */
        tunnel_region_side(listener);
        if (listener >= 0 && epoll_ctl(proxy.epoll, EPOLL_CTL_ADD, listener, &e) < 0)
                proxy_die();
        proxy.listening = listener >= 0;
}

static _noreturn_ void control_close(void) {
        for (ProxyConn *c = proxy.conns; c; c = c->next_conn)
                if (c->state != CONN_OVER)
                        conn_end(c, PROXY_WHY_ENDED);
        publish_close();
        tunnel_wipe();
        routes_close();
        proxy.sums.head = (ProxyHead){PROXY_SUMS, sizeof(proxy.sums)};
        /* ENDs that the supervisor has not read may fill the channel; the supervisor reads now, or is gone. */
        send(proxy.control, &proxy.sums, sizeof(proxy.sums), MSG_NOSIGNAL);
        proxy_die();
}

void control_read(void) {
        static uint8_t packet[PROXY_PACKET_MAX + 1] __attribute__((aligned(8)));
        ProxyHead head;
        int fd;
        ssize_t n = io_receive_fd(proxy.control, 0, packet, sizeof(packet), &fd);

        if (n == -EAGAIN || n == -EINTR || n == -ETIMEDOUT)
                return;
        if (n < (ssize_t)sizeof(head))
                proxy_die();
        memcpy(&head, packet, sizeof(head));
        if (head.size == (size_t)n && head.kind == PROXY_OPEN)
                control_open(packet, (size_t)n, fd);
        else if (head.size == (size_t)n && head.kind == PROXY_SOCKETS && n == sizeof(head) && proxy.opened)
                publish_sockets_read(fd);
        else if (head.size == (size_t)n && head.kind == PROXY_PUBLISH && n == sizeof(ProxyPublish) && proxy.opened)
                publish_read((const void *)packet, fd);
        else if (head.size == (size_t)n && (head.kind == PROXY_ROUTE || head.kind == PROXY_ROUTES)) {
                routes_read(packet, (size_t)n, fd);
                explicit_bzero(packet, sizeof(packet)); /* a secret */
        }
        else if (head.size == (size_t)n && head.kind == PROXY_CLOSE)
                control_close();
        else
                proxy_die();
}

void control_tell(const ProxyConn *c) {
        const bool denial = proxy_why_is_denial(c->why);
        const ProxyAddress *a = c->next > 0 ? &c->found.list[c->next - 1] : NULL;
        ProxyEnd e = {
                .head = {PROXY_END, sizeof(e)},
                .why = c->why,
                .port = c->port,
                .up = c->published ? c->down.bytes : c->up.bytes,
                .down = c->published ? c->up.bytes : c->down.bytes,
                .published = c->published,
                .usec = clock_mono_usec() - c->began,
        };

        proxy.sums.connections += c->connected;
        proxy.sums.denied += denial;
        proxy.sums.failed += !denial && !c->connected;
        proxy.sums.usec += c->connected ? e.usec : 0;
        if (!denial && !proxy.every)
                return;
        if (a) {
                e.has_address = 1;
                e.v6 = a->v6;
                memcpy(e.addr, a->addr, sizeof(e.addr));
        }
        memcpy(e.name, c->asked.name, sizeof(e.name));
        memcpy(e.seen, c->seen, sizeof(e.seen));
        if (send(proxy.control, &e, sizeof(e), MSG_NOSIGNAL | MSG_DONTWAIT) < 0)
                proxy.sums.denied_unsaid += denial;
}
