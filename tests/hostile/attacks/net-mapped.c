// The same address in another family: ::ffff:127.0.0.1, port argv[1], and AF_UNSPEC in between.
#include "attack.h"

#include <arpa/inet.h>

int main(int argc, char **argv) {
        struct sockaddr_in6 a = {.sin6_family = AF_INET6, .sin6_port = htons(atoi(arg(argc, argv, 1)))};
        inet_pton(AF_INET6, "::ffff:127.0.0.1", &a.sin6_addr);
        int s = socket(AF_INET6, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        struct sockaddr u = {.sa_family = AF_UNSPEC};
        connect(s, &u, sizeof u);
        if (connect(s, (struct sockaddr *)&a, sizeof a) < 0)
                contained("connect");
        escaped("connected to a mapped address");
}
