/* Runs: supervisor. Bytes held by a single pipe or socket, and descriptors on their way through a socket. */
#include "region/region-queues.h"

#include "base/timed-syscall.h"
#include "base/proc.h"
#include "schema/limits.h"

#include <errno.h>
#include <linux/sock_diag.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define QUEUES_SENT_LEAST 768    /* of a message of any length */
#define QUEUES_MESSAGES_MAX 1024 /* looked at in a socket */
#define QUEUES_PARTS 256         /* buffers of a look, all at the same address */
#define QUEUES_CONTROL (CMSG_SPACE(QUEUES_MESSAGE_FDS * sizeof(int)) + 512) /* also the sender */

/* The kernel's default, when the file is unreadable. */
#define QUEUES_WMEM (208ULL << 10)

static uint64_t queues_twice(const char *limit, atomic_ullong *known) {
        uint64_t most = atomic_load_explicit(known, memory_order_relaxed);
        char text[32];

        if (most == 0) {
                size_t n = proc_read(limit, text, sizeof(text));

                most = 2 * MAX(n > 0 ? strtoull(text, NULL, 10) : 0, QUEUES_WMEM);
                atomic_store_explicit(known, most, memory_order_relaxed);
        }
        return most;
}

uint64_t queues_each_most(void) {
        static atomic_ullong known;

        return queues_twice("/proc/sys/net/core/wmem_max", &known);
}

uint64_t queues_unix_most(void) {
        static atomic_ullong known;

        return queues_twice("/proc/sys/net/core/wmem_default", &known);
}

/* Reads the third number of "least first most". */
static uint64_t queues_third(const char *path) {
        unsigned long long most = 0;
        char text[128];

        return proc_read(path, text, sizeof(text)) > 0 && sscanf(text, "%*u %*u %llu", &most) == 1 ? most : 0;
}

uint64_t queues_tcp_most(void) {
        static atomic_ullong known;
        uint64_t most = atomic_load_explicit(&known, memory_order_relaxed);

        if (most == 0) {
                most = queues_third("/proc/sys/net/ipv4/tcp_rmem") + queues_third("/proc/sys/net/ipv4/tcp_wmem");
                most = MAX(most, queues_each_most());
                atomic_store_explicit(&known, most, memory_order_relaxed);
        }
        return most;
}

int queues_option(int fd, int name) {
        socklen_t n = sizeof(int);
        int v = -1;

        return getsockopt(fd, SOL_SOCKET, name, &v, &n) < 0 ? -1 : v;
}

bool queues_is_datagram(int fd) {
        return queues_option(fd, SO_DOMAIN) == AF_UNIX && queues_option(fd, SO_TYPE) == SOCK_DGRAM;
}

/* The sending Unix socket is charged with a message. After its close only the number of readable bytes is known. */
static uint64_t queues_left_by_closed(int fd, short events) {
        int n = 0;

        if (queues_option(fd, SO_DOMAIN) != AF_UNIX || !(events & POLLHUP) || !(events & POLLIN) ||
            ioctl(fd, FIONREAD, &n) < 0)
                return 0;
        if (queues_option(fd, SO_TYPE) == SOCK_SEQPACKET) /* messages may be empty */
                return queues_unix_most();
        /* A byte read out of band leaves an empty message: at most one behind each other message. */
        return n > 0 ? MIN((2 * (uint64_t)n + 1) * QUEUES_SENT_LEAST, queues_unix_most()) : 0;
}

uint64_t queues_charged(const uint32_t *charged) {
        return (uint64_t)charged[SK_MEMINFO_RMEM_ALLOC] +
               MAX(charged[SK_MEMINFO_WMEM_ALLOC], charged[SK_MEMINFO_WMEM_QUEUED]) + charged[SK_MEMINFO_BACKLOG] +
               charged[SK_MEMINFO_OPTMEM];
}

/* For a socket the kernel tells the charged bytes, sent and received (sock_diag(7)). A size query of a pipe would wait
 * for a writer, perhaps stuck in a served file system. So a pipe not known as empty counts as full (I-62). */
uint64_t queues_held_by(int fd, bool pipe) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        struct pollfd p = {.fd = fd, .events = POLLIN};
        socklen_t n = sizeof(charged);

        if (pipe)
                return poll(&p, 1, 0) > 0 && p.revents & POLLIN ? REGION_PIPE_BYTES : 0;
        if (getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n) < 0 || poll(&p, 1, 0) < 0)
                return 0;
        return queues_left_by_closed(fd, p.revents) + queues_charged(charged);
}

uint64_t queues_unsent(int fd) {
        uint32_t charged[SK_MEMINFO_VARS] = {};
        socklen_t n = sizeof(charged);
        int family = queues_option(fd, SO_DOMAIN);

        if ((family != AF_INET && family != AF_INET6) || queues_option(fd, SO_TYPE) != SOCK_DGRAM ||
            getsockopt(fd, SOL_SOCKET, SO_MEMINFO, charged, &n) < 0)
                return 0;
        return charged[SK_MEMINFO_WMEM_ALLOC];
}

typedef struct QueuesPeek {
        int fd;
        uint64_t most;
        QueuesSent sent;
        struct iovec v[QUEUES_PARTS];
        uint8_t bytes[4096];
        _Alignas(8) uint8_t control[QUEUES_CONTROL];
} QueuesPeek;

/* Job for timed_run(): peeks at messages in the socket, without taking. A reader of the region may lock the socket for
 * any time. Each message is read as a whole: a second look at the rest would find the descriptors again. */
__attribute__((no_sanitize("address", "undefined"))) static long queues_peek_timed(void *job) {
        QueuesPeek *p = job;
        int from = 0, off = -1;
        long got = 0;

        for (size_t i = 0; i < QUEUES_PARTS; i++)
                p->v[i] = (struct iovec){p->bytes, sizeof(p->bytes)};
        if (timed_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &from, sizeof(from)) < 0)
                return -1;
        for (unsigned i = 0; i < QUEUES_MESSAGES_MAX && p->sent.n < p->most &&
                             p->sent.n + QUEUES_MESSAGE_FDS <= QUEUES_SENT_MAX;
             i++) {
                struct msghdr m = {.msg_iov = p->v, .msg_iovlen = QUEUES_PARTS, .msg_control = p->control,
                                   .msg_controllen = sizeof(p->control)};

                if (got >= (long)(QUEUES_PARTS * sizeof(p->bytes)) ||
                    (got = timed_do(SYS_recvmsg, p->fd, &m, MSG_PEEK | MSG_DONTWAIT | MSG_CMSG_CLOEXEC | MSG_TRUNC)) <
                            0)
                        break;
                p->sent.length += (uint64_t)got + QUEUES_SENT_LEAST;
                for (size_t at = 0; at + sizeof(struct cmsghdr) <= m.msg_controllen;) {
                        const struct cmsghdr *c = (const struct cmsghdr *)(const void *)(p->control + at);
                        const int *sent = (const int *)(const void *)CMSG_DATA(c);

                        if (c->cmsg_len < sizeof(*c))
                                break;
                        for (size_t k = 0; c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_RIGHTS &&
                                           k < (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
                             k++)
                                p->sent.fds[p->sent.n++] = sent[k];
                        at += CMSG_ALIGN(c->cmsg_len);
                }
        }
        timed_do(SYS_setsockopt, p->fd, SOL_SOCKET, SO_PEEK_OFF, &off, sizeof(off));
        return 0;
}

int queues_peek(int fd, uint64_t most, QueuesSent *ret) {
        QueuesPeek *p = calloc(1, sizeof(*p));
        int e = 0;

        if (!p)
                return -ENOMEM;
        p->fd = fd;
        p->most = most;
        if (timed_run(queues_peek_timed, p, sizeof(*p), TIMED_ALL, TIMED_USEC) == -ETIMEDOUT)
                e = -ETIMEDOUT;
        else
                *ret = p->sent;
        explicit_bzero(p->bytes, sizeof(p->bytes));
        free(p);
        return e;
}
