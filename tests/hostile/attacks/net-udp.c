// Phones home without a connection: a datagram to 127.0.0.1, port argv[1] (a name server's, say). Where nobody has the port, as in a
// network of the region's own, the kernel refuses the second datagram.
#include "attack.h"

#include <arpa/inet.h>

int main(int argc, char **argv) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(arg(argc, argv, 1))), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int s = socket(AF_INET, SOCK_DGRAM, 0);
        if (s < 0)
                contained("socket");
        if (sendto(s, CANARY, sizeof CANARY, 0, (struct sockaddr *)&a, sizeof a) < 0)
                contained("sendto");
        if (connect(s, (struct sockaddr *)&a, sizeof a) < 0 || send(s, CANARY, sizeof CANARY, 0) < 0 || send(s, CANARY, sizeof CANARY, 0) < 0)
                contained("send");
        escaped("sent a datagram to port %s", argv[1]);
}
