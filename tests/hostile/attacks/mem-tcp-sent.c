// I-66: bytes that closed connections have still to send, to a port argv[2] where a granted program listens and never reads: argv[1] MiB. The attack waits then
// for argv[3] milliseconds.
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0, before = 1;
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arg(argc, argv, 2))), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        static char block[1 << 18];

        for (int i = 0; i < 400 && got < mib << 20 && got != before; i++) {
                int s = socket(AF_INET, SOCK_STREAM, 0);
                if (s < 0 || connect(s, (struct sockaddr *)&a, sizeof a) < 0)
                        break;
                before = got;
                for (ssize_t k; (k = send(s, block, sizeof block, MSG_DONTWAIT)) > 0;)
                        got += (size_t)k;
                close(s);
        }
        if (argc > 3)
                sleep_msec(atol(argv[3]));
        if (got < mib << 20)
                contained("%zu KiB to be sent", got >> 10);
        escaped("%zu MiB to be sent", got >> 20);
}
