/* The region's own network: lo set up, all ports for everybody, and the supervisor's sockets. */
#include "schema/limits.h"
#include "schema/zygote.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BACKLOG 128

/* Writes a setting of the region's network. The kernel shows those of the caller's own namespace, in any /proc. */
static int loopback_set(const Worker *w, const char *name, const char *value) {
        const bool kept = w->spec.flags & LAUNCH_TEMPLATE;
        _autoclose_ int folder = openat(kept ? ZYGOTE_FD_KEPT : AT_FDCWD, kept ? "sys/net/ipv4" : "/proc/sys/net/ipv4",
                                        O_PATH | O_DIRECTORY | O_CLOEXEC);
        _autoclose_ int fd = folder < 0 ? -1 : openat(folder, name, O_WRONLY | O_CLOEXEC);
        const ssize_t n = (ssize_t)strlen(value);

        /* A container with a read-only /proc/sys: the setting stays that of the container. */
        if (fd < 0)
                return errno == EROFS || errno == EACCES || errno == ENOENT ? 0 : -errno;
        return write(fd, value, (size_t)n) == n ? 0 : -errno;
}

/* Ports below 1024 are for everybody. lo is never congested: a congestion control that paces, as the host's own may
 * (bbr), would make each connection wait for timers. */
static int loopback_settings(const Worker *w) {
        const int e = loopback_set(w, "ip_unprivileged_port_start", "0");

        (void)loopback_set(w, "tcp_congestion_control", "reno"); /* slower without */
        return e;
}

static int loopback_listen(uint16_t port) {
        const StatusRecord r = {.kind = STATUS_LISTENING, .a = port};
        const struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(port),
                                      .sin_addr = {htonl(INADDR_LOOPBACK)}};
        _autoclose_ int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

        if (fd < 0 || bind(fd, (const void *)&a, sizeof(a)) < 0 || listen(fd, BACKLOG) < 0)
                return -errno;
        return report(&r, fd);
}

/* Sockets that lethe-proxy connects inside the region's network (schema/proxy.h): one message, in a pair's end. */
static int loopback_sockets(void) {
        static const StatusRecord r = {.kind = STATUS_SOCKETS};
        union {
                struct cmsghdr head;
                char space[CMSG_SPACE(SOCKETS_MAX * sizeof(int))];
        } control = {.head = {.cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS, .cmsg_len = CMSG_LEN(SOCKETS_MAX * sizeof(int))}};
        struct iovec v = {.iov_base = (void *)"s", .iov_len = 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof(control)};
        int fds[SOCKETS_MAX], pair[2], e = 0;

        if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0)
                return -errno;
        for (size_t i = 0; i < SOCKETS_MAX; i++) {
                fds[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
                e = e == 0 && fds[i] < 0 ? -errno : e;
        }
        memcpy(CMSG_DATA(&control.head), fds, sizeof(fds));
        if (e == 0 && sendmsg(pair[0], &m, MSG_NOSIGNAL) < 0)
                e = -errno;
        e = e ?: report(&r, pair[1]);
        for (size_t i = 0; i < SOCKETS_MAX; i++)
                if (fds[i] >= 0)
                        close(fds[i]);
        close(pair[0]);
        close(pair[1]);
        return e;
}

int step_loopback(Worker *w) {
        struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
        _autoclose_ int fd = -1;
        int e;

        if (!(w->spec.flags & LAUNCH_LOOPBACK))
                return 0;
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) < 0)
                return -errno;
        e = loopback_settings(w);
        for (size_t i = 0; e == 0 && i < LISTEN_MAX && w->spec.listen[i]; i++)
                e = loopback_listen(w->spec.listen[i]);
        return e ?: w->spec.flags & LAUNCH_SOCKETS ? loopback_sockets()
                                                   : 0;
}
