#include "region/region-connected.h"

#include <errno.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/stat.h>

#define CONNECTED_ANSWER 4096
#define CONNECTED_LOOKS 8 /* looks in a row: a single look can miss a descriptor on its way to another process */
#define CONNECTED_SOCKET 4096 /* kernel bytes for the socket itself */

struct ConnectedOne {
        struct inet_diag_sockid id;
        int family;
        QueuesSocket socket; /* as found behind a descriptor, after the end of the connection */
        unsigned unseen;     /* looks in a row without the socket */
        bool closed, over;
};

void region_connected_address(const struct sockaddr_storage *a, uint16_t *port, uint32_t address[static 4]) {
        if (a->ss_family == AF_INET6) {
                const struct sockaddr_in6 *six = (const void *)a;

                *port = six->sin6_port;
                memcpy(address, &six->sin6_addr, sizeof(six->sin6_addr));
        } else {
                const struct sockaddr_in *four = (const void *)a;

                *port = four->sin_port;
                address[0] = four->sin_addr.s_addr;
        }
}

typedef enum ConnectedState { CONNECTED_UNKNOWN, CONNECTED_OVER, CONNECTED_OPEN, CONNECTED_CLOSED } ConnectedState;

static ConnectedState connected_read(const uint8_t *answer, size_t n, uint64_t *bytes) {
        const struct nlmsghdr *h = (const struct nlmsghdr *)(const void *)answer;
        const struct inet_diag_msg *m;
        uint32_t held[SK_MEMINFO_VARS] = {};
        int left;

        if (!NLMSG_OK(h, n))
                return CONNECTED_UNKNOWN;
        if (h->nlmsg_type == NLMSG_ERROR && h->nlmsg_len >= NLMSG_LENGTH(sizeof(struct nlmsgerr))) {
                int e = ((const struct nlmsgerr *)NLMSG_DATA(h))->error;

                return e == -ENOENT || e == -ESTALE ? CONNECTED_OVER : CONNECTED_UNKNOWN;
        }
        if (h->nlmsg_type != SOCK_DIAG_BY_FAMILY || h->nlmsg_len < NLMSG_LENGTH(sizeof(*m)))
                return CONNECTED_UNKNOWN;
        m = NLMSG_DATA(h);
        if (m->idiag_state == TCP_TIME_WAIT || m->idiag_state == TCP_CLOSE)
                return CONNECTED_OVER;
        left = (int)h->nlmsg_len - (int)NLMSG_SPACE(sizeof(*m));
        for (const struct rtattr *a = (const struct rtattr *)(const void *)(m + 1); RTA_OK(a, left);
             a = RTA_NEXT(a, left))
                if (a->rta_type == INET_DIAG_SKMEMINFO)
                        memcpy(held, RTA_DATA(a), MIN(sizeof(held), RTA_PAYLOAD(a)));
        *bytes = queues_charged(held) + CONNECTED_SOCKET;
        return m->idiag_inode != 0 ? CONNECTED_OPEN : CONNECTED_CLOSED; /* an inode: a descriptor is open */
}

static ConnectedState connected_state(int ask, const ConnectedOne *one, uint64_t *bytes) {
        struct {
                struct nlmsghdr head;
                struct inet_diag_req_v2 what;
        } q = {.head = {.nlmsg_len = sizeof(q), .nlmsg_type = SOCK_DIAG_BY_FAMILY, .nlmsg_flags = NLM_F_REQUEST},
               .what = {.sdiag_family = (uint8_t)one->family, .sdiag_protocol = IPPROTO_TCP,
                        .idiag_ext = 1 << (INET_DIAG_SKMEMINFO - 1), .idiag_states = UINT32_MAX, .id = one->id}};
        _Alignas(struct nlmsghdr) uint8_t answer[CONNECTED_ANSWER];
        ssize_t n;

        while (recv(ask, answer, sizeof(answer), MSG_DONTWAIT) > 0)
                ; /* drop answers to an abandoned question */
        if (send(ask, &q, sizeof(q), MSG_DONTWAIT) < 0 || (n = recv(ask, answer, sizeof(answer), MSG_DONTWAIT)) <= 0)
                return CONNECTED_UNKNOWN;
        return connected_read(answer, (size_t)n, bytes);
}

uint64_t region_connected_bytes(RegionConnected *c) {
        uint64_t sum = 0, bytes;
        size_t kept = 0;

        for (size_t i = 0; i < c->n; i++) {
                ConnectedOne one = c->v[i];

                bytes = one.socket.bytes;
                switch (one.over ? CONNECTED_OPEN : connected_state(c->ask, &one, &bytes)) {
                case CONNECTED_OVER:
                        one.over = c->all && !one.closed; /* the region may have the socket open, unless seen closed */
                        if (!one.over)
                                continue;
                        break;
                case CONNECTED_CLOSED:
                        one.closed = true;
                        sum += bytes;
                        break;
                case CONNECTED_UNKNOWN:
                case CONNECTED_OPEN:
                        sum += c->all ? bytes : 0;
                        break;
                }
                c->v[kept++] = one;
        }
        c->n = kept;
        return sum;
}

void region_connected_look(RegionConnected *c, QueuesLook *l, pid_t root, Guard *guard) {
        _cleanup_free_ QueuesSocket *v = NULL;
        size_t n = 0, kept = 0;
        bool whole;

        for (size_t i = 0; i < c->n; i++)
                n += c->v[i].over;
        if (n == 0 || !(v = calloc(n, sizeof(*v))))
                return;
        n = 0;
        for (size_t i = 0; i < c->n; i++)
                if (c->v[i].over)
                        v[n++].inode = c->v[i].socket.inode;
        whole = queues_sockets(l, root, guard, v, n);
        n = 0;
        for (size_t i = 0; i < c->n; i++) {
                ConnectedOne one = c->v[i];
                const QueuesSocket *s = one.over ? &v[n++] : NULL;

                if (s && s->seen)
                        one.socket.bytes = s->bytes;
                one.unseen = s && !s->seen ? one.unseen + whole : 0;
                if (one.unseen < CONNECTED_LOOKS)
                        c->v[kept++] = one;
        }
        c->n = kept;
}

bool region_connected_any(const RegionConnected *c) {
        return c->ask != -1;
}

bool region_connected_has_room(RegionConnected *c) {
        if (c->n == CONNECTED_MAX)
                region_connected_bytes(c);
        return c->n < CONNECTED_MAX;
}

int region_connected_add(RegionConnected *c, int fd, const struct sockaddr_storage *a) {
        struct sockaddr_storage own = {};
        ConnectedOne one = {};
        uint64_t cookie, bytes;
        socklen_t n_own = sizeof(own), n_cookie = sizeof(cookie);
        struct stat st;

        if (c->ask < -1)
                return 0;
        if (fstat(fd, &st) < 0 || getsockname(fd, (void *)&own, &n_own) < 0 ||
            getsockopt(fd, SOL_SOCKET, SO_COOKIE, &cookie, &n_cookie) < 0)
                return -errno;
        if (!c->v && !(c->v = reallocarray(NULL, CONNECTED_MAX, sizeof(*c->v))))
                return -ENOMEM;
        if (c->ask == -1 && (c->ask = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG)) < 0) {
                c->ask = errno == EMFILE || errno == ENFILE || errno == ENOBUFS ? -1 : -EIO;
                return c->ask == -1 ? -EAGAIN : 0;
        }
        one.family = own.ss_family;
        one.socket.inode = st.st_ino;
        region_connected_address(&own, &one.id.idiag_sport, one.id.idiag_src);
        region_connected_address(a, &one.id.idiag_dport, one.id.idiag_dst);
        one.id.idiag_cookie[0] = (uint32_t)cookie;
        one.id.idiag_cookie[1] = (uint32_t)(cookie >> 32);
        if (c->n < CONNECTED_MAX && connected_state(c->ask, &one, &bytes) == CONNECTED_OPEN)
                c->v[c->n++] = one;
        return 0;
}

void region_connected_deinit(RegionConnected *c) {
        closep(&c->ask);
        free(c->v);
        *c = REGION_CONNECTED_NULL;
}
