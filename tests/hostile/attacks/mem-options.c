// I-66: options of sockets that are memory of nobody's budget: keys of TCP_MD5SIG, 128 KiB for each socket, and memberships of IPv6, which the kernel
// keeps at the host's interface.
#include "attack.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

int main(int argc, char **argv) {
        bool keys = *arg(argc, argv, 1) == 'k';
        int s = socket(keys ? AF_INET : AF_INET6, keys ? SOCK_STREAM : SOCK_DGRAM, 0), n;

        if (s < 0)
                contained("socket");
        for (n = 0; n < 20; n++) {
                struct ipv6_mreq m = {.ipv6mr_interface = 1};
                struct tcp_md5sig k = {.tcpm_keylen = 80};
                struct sockaddr_in *a = (struct sockaddr_in *)(void *)&k.tcpm_addr;

                a->sin_family = AF_INET;
                a->sin_addr.s_addr = htonl(0x0a000000U + (unsigned)n);
                m.ipv6mr_multiaddr.s6_addr[0] = 0xff;
                m.ipv6mr_multiaddr.s6_addr[1] = 1;
                m.ipv6mr_multiaddr.s6_addr[15] = (uint8_t)(n + 100);
                if (keys ? setsockopt(s, IPPROTO_TCP, TCP_MD5SIG, &k, sizeof k) < 0 : setsockopt(s, IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &m, sizeof m) < 0)
                        contained("option %d", n);
        }
        escaped("%d %s", n, keys ? "keys" : "memberships");
}
