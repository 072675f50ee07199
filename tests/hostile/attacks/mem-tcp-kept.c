// I-66: what came in on connections that are over, and that a descriptor still leads to, from a port argv[2] where a granted program answers and closes:
// argv[1] MiB. It waits then for argv[3] milliseconds.
#include "attack.h"

#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arg(argc, argv, 2))), .sin_addr = {htonl(INADDR_LOOPBACK)}};

        while (got < mib << 20) {
                int s = socket(AF_INET, SOCK_STREAM, 0), n = 0;
                struct pollfd p = {.fd = s, .events = POLLRDHUP};

                if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a) < 0 || shutdown(s, SHUT_WR) < 0)
                        break;
                poll(&p, 1, 10000); /* the other side has closed, too */
                if (ioctl(s, FIONREAD, &n) < 0 || n <= 0)
                        break;
                got += (size_t)n;
        }
        if (argc > 3)
                sleep_msec(atol(argv[3]));
        if (got < mib << 20)
                contained("%zu KiB that came in", got >> 10);
        escaped("%zu MiB that came in", got >> 20);
}
