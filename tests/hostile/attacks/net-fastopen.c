// Where connect() is judged by address, TCP fast open connects without it: sendto and sendmsg with MSG_FASTOPEN, port argv[1].
#include "attack.h"

#include <arpa/inet.h>

int main(int argc, char **argv) {
        struct sockaddr_in a = {.sin_family = AF_INET, .sin_port = htons(atoi(arg(argc, argv, 1))), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        struct iovec v = {CANARY, sizeof CANARY};
        struct msghdr m = {.msg_name = &a, .msg_namelen = sizeof a, .msg_iov = &v, .msg_iovlen = 1};
        int s = socket(AF_INET, SOCK_STREAM, 0);
        if (s < 0)
                contained("socket");
        if (sendto(s, CANARY, sizeof CANARY, MSG_FASTOPEN, (struct sockaddr *)&a, sizeof a) > 0)
                escaped("sendto connected to port %s", argv[1]);
        s = socket(AF_INET, SOCK_STREAM, 0);
        if (sendmsg(s, &m, MSG_FASTOPEN) > 0)
                escaped("sendmsg connected to port %s", argv[1]);
        contained("fast open");
}
