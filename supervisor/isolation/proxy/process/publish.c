/* Runs: lethe-proxy. Published ports: connections from outside into the region's loopback (schema/proxy.h). The sockets
 * of the region's network are few, so each serves many connections in turn: connect(2) with AF_UNSPEC makes a closed TCP
 * socket new. */
#include "proxy/process/state.h"
#include "schema/limits.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>

#define ACCEPT_TURN 16

/* Aligned as the epoll set's tags ask for. */
typedef struct Published {
        int listener;
        bool listening; /* in the epoll set */
        uint16_t host_port, port;
} __attribute__((aligned(8))) Published;

typedef struct PublishSocket {
        int fd;
        bool lent, closing; /* closing: the kernel still sends what the region did not read */
} PublishSocket;

static Published publish_ports[PROXY_PUBLISH_MAX];
static PublishSocket publish_sockets[SOCKETS_MAX];
static unsigned publish_n_ports, publish_n_sockets;

static uint64_t publish_number(int fd, int name) {
        uint64_t v = 0;
        socklen_t n = name == SO_NETNS_COOKIE ? sizeof(v) : sizeof(int);

        return getsockopt(fd, SOL_SOCKET, name, &v, &n) == 0 ? v : UINT64_MAX;
}

/* A TCP socket of another network namespace than the host's. */
static bool publish_is_of_region(int fd) {
        const uint64_t cookie = publish_number(fd, SO_NETNS_COOKIE);
        int own = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const bool good = own >= 0 && publish_number(fd, SO_DOMAIN) == AF_INET && publish_number(fd, SO_TYPE) == SOCK_STREAM &&
                          cookie != UINT64_MAX && cookie != publish_number(own, SO_NETNS_COOKIE);

        closep(&own);
        return good;
}

void publish_sockets_read(int channel) {
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(SOCKETS_MAX * sizeof(int))];
        } control;
        char byte;
        struct iovec v = {.iov_base = &byte, .iov_len = 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};

        if (publish_n_sockets > 0 || channel < 0 || recvmsg(channel, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC) != 1 ||
            m.msg_flags & MSG_CTRUNC)
                proxy_die();
        for (struct cmsghdr *c = CMSG_FIRSTHDR(&m); c; c = CMSG_NXTHDR(&m, c))
                for (size_t i = 0; c->cmsg_type == SCM_RIGHTS && CMSG_LEN((i + 1) * sizeof(int)) <= c->cmsg_len; i++) {
                        PublishSocket *s = &publish_sockets[publish_n_sockets++];

                        memcpy(&s->fd, CMSG_DATA(c) + i * sizeof(int), sizeof(int));
                        if (!publish_is_of_region(s->fd))
                                proxy_die();
                        tunnel_region_side(s->fd);
                }
        if (publish_n_sockets == 0)
                proxy_die();
        close(channel);
}

static void publish_listen(Published *p, bool on) {
        struct epoll_event e = {.events = EPOLLIN, .data.ptr = p};

        if (p->listening != on && epoll_ctl(proxy.epoll, on ? EPOLL_CTL_ADD : EPOLL_CTL_DEL, p->listener, &e) < 0)
                proxy_die();
        p->listening = on;
}

void publish_read(const ProxyPublish *o, int listener) {
        Published *p = &publish_ports[publish_n_ports];

        if (publish_n_ports >= PROXY_PUBLISH_MAX || publish_n_sockets == 0 || listener < 0)
                proxy_die();
        *p = (Published){.listener = listener, .host_port = o->host_port, .port = o->port};
        publish_n_ports++;
        publish_listen(p, true);
}

/* Sends a reset, if the connection is still open, and makes the socket new. */
static bool publish_renew(PublishSocket *s) {
        static const struct sockaddr none = {.sa_family = AF_UNSPEC};

        s->closing = false;
        return connect(s->fd, &none, sizeof(none)) == 0;
}

static bool publish_is_free(PublishSocket *s) {
        struct tcp_info info;
        socklen_t n = sizeof(info);

        if (s->lent || !s->closing)
                return !s->lent;
        return getsockopt(s->fd, IPPROTO_TCP, TCP_INFO, &info, &n) == 0 && info.tcpi_state == TCP_CLOSE && publish_renew(s);
}

static PublishSocket *publish_find_free(void) {
        for (unsigned i = 0; i < publish_n_sockets; i++)
                if (publish_is_free(&publish_sockets[i]))
                        return &publish_sockets[i];
        return NULL;
}

int publish_take(void) {
        PublishSocket *s = publish_find_free();

        if (!s)
                return -1;
        s->lent = true;
        return s->fd;
}

void publish_give(int fd, bool ended) {
        for (unsigned i = 0; i < publish_n_sockets; i++) {
                PublishSocket *s = &publish_sockets[i];

                if (s->fd != fd)
                        continue;
                s->lent = false;
                s->closing = ended;
                if (!ended && !publish_renew(s))
                        s->lent = true; /* of no use any more */
        }
}

static bool publish_has_room(void) {
        return proxy.n_busy < PROXY_CONNECTIONS_MAX && publish_find_free();
}

static void publish_accept(Published *p) {
        for (unsigned i = 0; i < ACCEPT_TURN && publish_has_room(); i++) {
                struct sockaddr_storage from = {};
                socklen_t n = sizeof(from);
                const struct sockaddr_in6 *v6 = (void *)&from;
                const struct sockaddr_in *v4 = (void *)&from;
                int fd = accept4(p->listener, (void *)&from, &n, SOCK_NONBLOCK | SOCK_CLOEXEC);
                char peer[INET6_ADDRSTRLEN] = "";

                if (fd < 0)
                        return;
                inet_ntop(from.ss_family, from.ss_family == AF_INET6 ? (const void *)&v6->sin6_addr : &v4->sin_addr, peer,
                          sizeof(peer));
                conn_from_outside(fd, peer, p->host_port, p->port);
        }
        publish_sweep();
}

bool publish_event(const void *tag) {
        for (unsigned i = 0; i < publish_n_ports; i++)
                if (tag == &publish_ports[i]) {
                        publish_accept(&publish_ports[i]);
                        return true;
                }
        return false;
}

void publish_close(void) {
        for (unsigned i = 0; i < publish_n_ports; i++)
                closep(&publish_ports[i].listener);
        publish_n_ports = 0;
}

bool publish_sweep(void) {
        const bool room = publish_n_ports > 0 && publish_has_room();

        for (unsigned i = 0; i < publish_n_ports; i++)
                publish_listen(&publish_ports[i], room);
        return room || publish_n_ports == 0;
}
