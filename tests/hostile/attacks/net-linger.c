// I-62, I-13: a connection to a port argv[1] where nobody reads, whose last close waits an hour for the other side (SO_LINGER). A task that ends does not
// wait so; whoever holds a copy of the descriptor then does.
#include "attack.h"

#include <netinet/in.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(arg(argc, argv, 1))), .sin_addr = {htonl(INADDR_LOOPBACK)}};
        int s = socket(AF_INET, SOCK_STREAM, 0);
        struct linger l = {.l_onoff = 1, .l_linger = 3600};
        socklen_t n = sizeof l;
        static char block[1 << 16];

        if (s < 0 || setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof l) < 0)
                contained("SO_LINGER before connect");
        if (connect(s, (struct sockaddr *)&a, sizeof a) < 0 || setsockopt(s, SOL_SOCKET, SO_LINGER, &l, sizeof l) < 0)
                contained("SO_LINGER");
        while (send(s, block, sizeof block, MSG_DONTWAIT) > 0)
                ;
        if (getsockopt(s, SOL_SOCKET, SO_LINGER, &l, &n) < 0 || !l.l_onoff)
                contained("it is not set");
        escaped("the close of a connection waits for an hour");
}
