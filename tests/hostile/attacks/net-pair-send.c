// socketpair() is allowed, and a datagram socket of it can still send to, or be connected with, any name: a datagram listener of the host by
// path (argv[1]) and by abstract name (argv[2]).
#include "attack.h"

#include <stddef.h>
#include <sys/socket.h>
#include <sys/un.h>

int main(int argc, char **argv) {
        struct sockaddr_un p = {.sun_family = AF_UNIX}, q = {.sun_family = AF_UNIX};
        snprintf(p.sun_path, sizeof p.sun_path, "%s", arg(argc, argv, 1));
        size_t n = strlen(arg(argc, argv, 2));
        memcpy(q.sun_path + 1, argv[2], n);
        struct {
                struct sockaddr_un *a;
                socklen_t n;
        } to[] = {{&p, sizeof p}, {&q, (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + n)}};
        int s[2], e = 0;
        for (int i = 0; i < 2; i++) {
                struct iovec v = {CANARY, sizeof CANARY};
                struct msghdr m = {.msg_name = to[i].a, .msg_namelen = to[i].n, .msg_iov = &v, .msg_iovlen = 1};
                if (socketpair(AF_UNIX, SOCK_DGRAM, 0, s) < 0)
                        contained("socketpair");
                if (sendto(s[0], CANARY, sizeof CANARY, 0, (struct sockaddr *)to[i].a, to[i].n) > 0)
                        escaped("sendto reached name %d", i);
                if (sendmsg(s[0], &m, 0) > 0)
                        escaped("sendmsg reached name %d", i);
                e = errno;
                if (connect(s[0], (struct sockaddr *)to[i].a, to[i].n) == 0 && write(s[0], CANARY, sizeof CANARY) > 0)
                        escaped("connect reached name %d", i);
        }
        errno = e;
        contained("datagram pair");
}
