/* The region's own network: lo set up, all ports for everybody, and the supervisor's listening sockets. */
#include "schema/zygote.h"
#include "worker/worker.h"

#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#define BACKLOG 128

/* The kernel shows the network settings of the caller's own network namespace, in any /proc. */
static int loopback_open_ports(Worker *w) {
        _autoclose_ int fd = w->spec.flags & LAUNCH_TEMPLATE
                                     ? openat(ZYGOTE_FD_KEPT, "sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC)
                                     : open("/proc/sys/net/ipv4/ip_unprivileged_port_start", O_WRONLY | O_CLOEXEC);

        /* A container with a read-only /proc/sys: the ports below 1024 stay closed. */
        if (fd < 0)
                return errno == EROFS || errno == EACCES || errno == ENOENT ? 0 : -errno;
        return write(fd, "0", 1) == 1 ? 0 : -errno;
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

int step_loopback(Worker *w) {
        struct ifreq up = {.ifr_name = "lo", .ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING};
        _autoclose_ int fd = -1;
        int e;

        if (!(w->spec.flags & LAUNCH_LOOPBACK))
                return 0;
        fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
        if (fd < 0 || ioctl(fd, SIOCSIFFLAGS, &up) < 0)
                return -errno;
        e = loopback_open_ports(w);
        for (size_t i = 0; e == 0 && i < LISTEN_MAX && w->spec.listen[i]; i++)
                e = loopback_listen(w->spec.listen[i]);
        return e;
}
