// I-66, A-7: argv[1] MiB in TCP connections to a port of its own that nobody accepts, their clients closed. It waits then for argv[2] milliseconds.
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
        socklen_t n = sizeof a;
        static char block[1 << 18];
        int to = socket(AF_INET, SOCK_STREAM, 0);

        if (to < 0 || bind(to, (struct sockaddr *)&a, n) < 0 || listen(to, 2000) < 0 || getsockname(to, (struct sockaddr *)&a, &n) < 0)
                contained("socket");
        for (int i = 0; i < 2000 && got < mib << 20; i++) {
                int s = socket(AF_INET, SOCK_STREAM, 0);
                if (s < 0 || connect(s, (struct sockaddr *)&a, n) < 0)
                        break;
                for (ssize_t k; (k = send(s, block, sizeof block, MSG_DONTWAIT)) > 0;)
                        got += (size_t)k;
                close(s);
        }
        if (argc > 2)
                sleep_msec(atol(argv[2]));
        if (got < mib << 20)
                contained("%zu KiB in queues", got >> 10);
        escaped("%zu MiB in queues", got >> 20);
}
