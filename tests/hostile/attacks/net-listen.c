// A server inside is a way in: bind and listen on a port of the host.
#include "attack.h"

#include <arpa/inet.h>

int main(void) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        if (bind(s, (struct sockaddr *)&a, sizeof a) < 0 || listen(s, 1) < 0)
                contained("bind and listen");
        escaped("listens");
}
