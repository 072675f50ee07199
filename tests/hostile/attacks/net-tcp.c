// Phones home: TCP to 127.0.0.1, port argv[1].
#include "attack.h"

#include <arpa/inet.h>

int main(int argc, char **argv) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(arg(argc, argv, 1))), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        if (connect(s, (struct sockaddr *)&a, sizeof a) < 0)
                contained("connect");
        escaped("connected to the host's port %s", argv[1]);
}
