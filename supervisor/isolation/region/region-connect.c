/* Runs: supervisor. */
#include "region/region-connect.h"

#include "base/timed-syscall.h"
#include "region/region-notify-task.h"
#include "region/region-proc.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/seccomp.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>

#define VALUE_MAX 16

/* Options set by a program before the connect. */
static const struct {
        int level, name;
} options[] = {
        {SOL_SOCKET, SO_KEEPALIVE},        {SOL_SOCKET, SO_SNDBUF},     {SOL_SOCKET, SO_RCVBUF},
        {SOL_SOCKET, SO_OOBINLINE},        {SOL_SOCKET, SO_PRIORITY},   {SOL_SOCKET, SO_RCVLOWAT},
        {SOL_SOCKET, SO_RCVTIMEO},         {SOL_SOCKET, SO_SNDTIMEO},   {IPPROTO_TCP, TCP_NODELAY},
        {IPPROTO_TCP, TCP_CORK},           {IPPROTO_TCP, TCP_KEEPIDLE}, {IPPROTO_TCP, TCP_KEEPINTVL},
        {IPPROTO_TCP, TCP_KEEPCNT},        {IPPROTO_TCP, TCP_SYNCNT},   {IPPROTO_TCP, TCP_LINGER2},
        {IPPROTO_TCP, TCP_WINDOW_CLAMP},   {IPPROTO_TCP, TCP_QUICKACK}, {IPPROTO_TCP, TCP_CONGESTION},
        {IPPROTO_TCP, TCP_USER_TIMEOUT},   {IPPROTO_IP, IP_TOS},        {IPPROTO_IP, IP_TTL},
        {IPPROTO_IPV6, IPV6_UNICAST_HOPS}, {IPPROTO_IPV6, IPV6_V6ONLY},
};

typedef struct ConnectOption {
        uint8_t value[VALUE_MAX];
        socklen_t n; /* 0: the socket has no such option */
} ConnectOption;

/* The region's socket, examined in a separate task. A call may wait for another thread's call on the same socket. And
 * if the region closed the socket meanwhile, the task's close is the last and ends a connection. */
typedef struct ConnectLook {
        int pidfd, fd;
        int family, type, protocol, flags;
        uint8_t state; /* TCP_CLOSE: not connected */
        ConnectOption options[ARRAY_SIZE(options)];
} ConnectLook;

__attribute__((no_sanitize("address", "undefined"))) static long connect_look(void *arg) {
        ConnectLook *l = arg;
        socklen_t n_family = sizeof(int), n_type = sizeof(int), n_protocol = sizeof(int), n_state = sizeof(l->state);
        long fd = timed_do(SYS_pidfd_getfd, l->pidfd, l->fd, 0), e;

        if (fd < 0)
                return fd;
        e = timed_do(SYS_getsockopt, fd, SOL_SOCKET, SO_DOMAIN, &l->family, &n_family);
        e = e ?: timed_do(SYS_getsockopt, fd, SOL_SOCKET, SO_TYPE, &l->type, &n_type);
        e = e ?: timed_do(SYS_getsockopt, fd, SOL_SOCKET, SO_PROTOCOL, &l->protocol, &n_protocol);
        if (e == 0 && l->type == SOCK_STREAM && l->protocol == IPPROTO_TCP)
                e = timed_do(SYS_getsockopt, fd, IPPROTO_TCP, TCP_INFO, &l->state, &n_state);
        if (e == 0)
                l->flags = (int)timed_do(SYS_fcntl, fd, F_GETFL);
        for (unsigned i = 0; e == 0 && l->protocol == IPPROTO_TCP && i < ARRAY_SIZE(options); i++) {
                l->options[i].n = VALUE_MAX;
                if (timed_do(SYS_getsockopt, fd, options[i].level, options[i].name, l->options[i].value,
                             &l->options[i].n) < 0)
                        l->options[i].n = 0;
        }
        timed_do(SYS_close, fd);
        return e;
}

/* Puts the supervisor's socket in the place of the region's. The region's task closes the old file, by now any file. A
 * separate task waits for the end of the close. */
typedef struct ConnectPlace {
        int notify, fd;
        bool closed; /* fd is closed, or about to be */
        struct seccomp_notif_addfd add;
} ConnectPlace;

__attribute__((no_sanitize("address", "undefined"))) static long connect_place(void *arg) {
        ConnectPlace *p = arg;
        long r = timed_do(SYS_ioctl, p->notify, SECCOMP_IOCTL_NOTIF_ADDFD, &p->add);

        p->closed = true; /* the region may have closed its copy: then this close is the last */
        timed_do(SYS_close, p->fd);
        return r;
}

/* Takes the supervisor's socket over. Returns 0 or an errno for the region. */
static int connect_give(Connects *c, uint64_t id, int fd, int place, bool cloexec) {
        const struct seccomp_notif_addfd add = {.id = id, .flags = SECCOMP_ADDFD_FLAG_SETFD, .srcfd = (uint32_t)fd,
                                                .newfd = (uint32_t)place, .newfd_flags = cloexec ? O_CLOEXEC : 0};
        ConnectPlace p = {.notify = c->notify, .fd = fd, .add = add};
        long r = timed_run(connect_place, &p, sizeof(p), TIMED_ALL, TIMED_USEC);

        if (!p.closed && r != -ETIMEDOUT)
                close(fd);
        return r == place ? 0 : EPERM;
}

/* Copies only changed options: the kernel stops tuning a size once set. */
static void connect_like(int fd, const ConnectLook *l) {
        for (size_t i = 0; i < ARRAY_SIZE(options); i++) {
                uint8_t value[VALUE_MAX] = {}, want[VALUE_MAX];
                socklen_t n = sizeof(value);
                int bytes;

                if (l->options[i].n == 0 || getsockopt(fd, options[i].level, options[i].name, value, &n) < 0 ||
                    (n == l->options[i].n && memcmp(value, l->options[i].value, n) == 0))
                        continue;
                memcpy(want, l->options[i].value, sizeof(want));
                if (options[i].level == SOL_SOCKET && (options[i].name == SO_SNDBUF || options[i].name == SO_RCVBUF)) {
                        memcpy(&bytes, want, sizeof(bytes));
                        bytes /= 2; /* the kernel reports twice the set value */
                        memcpy(want, &bytes, sizeof(bytes));
                }
                setsockopt(fd, options[i].level, options[i].name, want, l->options[i].n);
        }
}

static bool connect_waits(const Connects *c, uint64_t id) {
        return ioctl(c->notify, SECCOMP_IOCTL_NOTIF_ID_VALID, &id) == 0;
}

static void connect_drop(PendingConnect *p) {
        closep(&p->fd);
        p->id = 0;
}

/* After a signal, the interrupted call comes again, with a new notification. */
static PendingConnect *connect_room(Connects *c) {
        for (size_t i = 0; i < CONNECTS_MAX; i++)
                if (!c->pending[i].id)
                        return &c->pending[i];
        for (size_t i = 0; i < CONNECTS_MAX; i++)
                if (!connect_waits(c, c->pending[i].id)) {
                        connect_drop(&c->pending[i]);
                        return &c->pending[i];
                }
        return NULL;
}

static int connect_later(Connects *c, PendingConnect *p, uint64_t id, int fd, int place, bool cloexec) {
        struct epoll_event ev = {.events = EPOLLOUT, .data.u64 = (uint64_t)(p - c->pending)};

        if ((c->poll < 0 && (c->poll = epoll_create1(EPOLL_CLOEXEC)) < 0) ||
            epoll_ctl(c->poll, EPOLL_CTL_ADD, fd, &ev) < 0)
                return EAGAIN;
        *p = (PendingConnect){.id = id, .fd = fd, .place = place, .cloexec = cloexec};
        return CONNECT_LATER;
}

/* The errno for a socket that cannot be connected; 0: connectable. */
static int connect_refuses(const ConnectLook *l, const struct sockaddr_storage *a) {
        if (l->type != SOCK_STREAM || l->protocol != IPPROTO_TCP || l->family != a->ss_family)
                return EPERM;
        if (l->state == TCP_SYN_SENT)
                return EALREADY;
        return l->state == TCP_CLOSE ? 0 : EISCONN;
}

int region_connect_start(Connects *c, uint64_t id, pid_t pid, int fd, const struct sockaddr_storage *a, socklen_t n_a) {
        _cleanup_close_ int pidfd = (int)syscall(SYS_pidfd_open, region_notify_process(pid), 0), own = -1;
        bool cloexec = proc_field(PROC_PATH("%d/fdinfo/%d", pid, fd), "flags:", 8) & O_CLOEXEC;
        ConnectLook l = {.pidfd = pidfd, .fd = fd};
        PendingConnect *p;
        long r;
        int e;

        if (pidfd < 0 || !connect_waits(c, id))
                return EPERM;
        r = timed_run(connect_look, &l, sizeof(l), pidfd, TIMED_USEC);
        if (r < 0)
                return r == -EBADF || r == -ENOTSOCK ? (int)-r : EPERM;
        e = connect_refuses(&l, a);
        if (e != 0)
                return e;
        p = connect_room(c);
        if (!p || !region_connected_has_room(c->made))
                return EAGAIN;
        own = socket(l.family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, IPPROTO_TCP);
        if (own < 0)
                return errno == EMFILE || errno == ENFILE || errno == ENOBUFS ? EAGAIN : EPERM;
        connect_like(own, &l);
        e = connect(own, (const void *)a, n_a) == 0 ? 0 : errno;
        if (e != 0 && e != EINPROGRESS)
                return e;
        if (region_connected_add(c->made, own, a) < 0)
                return EAGAIN;
        if (l.flags & O_NONBLOCK) { /* a nonblocking connect: EINPROGRESS is the answer */
                int placed = connect_give(c, id, TAKE_FD(own), fd, cloexec);

                return placed != 0 ? placed : e;
        }
        if (e == EINPROGRESS) {
                e = connect_later(c, p, id, own, fd, cloexec);
                if (e == CONNECT_LATER)
                        TAKE_FD(own);
                return e;
        }
        return fcntl(own, F_SETFL, O_RDWR) < 0 ? EPERM : connect_give(c, id, TAKE_FD(own), fd, cloexec);
}

int region_connect_await(Connects *c, uint64_t id, int fd) {
        PendingConnect *p = connect_room(c);
        int e = p ? connect_later(c, p, id, fd, -1, false) : EAGAIN;

        if (e != CONNECT_LATER)
                region_notify_close(fd);
        return e;
}

bool region_connect_next(Connects *c, uint64_t *ret_id, int *ret_error) {
        struct epoll_event ev;
        PendingConnect *p;
        int error = 0;
        socklen_t n = sizeof(error);

        if (c->poll < 0 || epoll_wait(c->poll, &ev, 1, 0) <= 0)
                return false;
        p = &c->pending[ev.data.u64];
        epoll_ctl(c->poll, EPOLL_CTL_DEL, p->fd, NULL);
        if (getsockopt(p->fd, SOL_SOCKET, SO_ERROR, &error, &n) < 0 ||
            (error == 0 && p->place >= 0 && fcntl(p->fd, F_SETFL, O_RDWR) < 0))
                error = errno;
        if (error == 0 && p->place >= 0)
                error = connect_give(c, p->id, TAKE_FD(p->fd), p->place, p->cloexec);
        *ret_id = p->id;
        *ret_error = error;
        connect_drop(p);
        return true;
}

void region_connects_deinit(Connects *c) {
        for (size_t i = 0; i < CONNECTS_MAX; i++)
                if (c->pending[i].id)
                        connect_drop(&c->pending[i]);
        closep(&c->poll);
}
