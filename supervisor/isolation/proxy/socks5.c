#include "proxy/socks5.h"

#include "manifest/net-name.h"

#include <arpa/inet.h>
#include <string.h>

enum { SOCKS5_CONNECT = 1,
       SOCKS5_IPV4 = 1,
       SOCKS5_DOMAIN = 3,
       SOCKS5_IPV6 = 4 };

int socks5_greeting(const uint8_t *bytes, size_t n, size_t *ret_n) {
        if (n > 0 && bytes[0] != SOCKS5_VERSION)
                return SOCKS5_E_BAD;
        if (n < 2 || n < 2U + bytes[1])
                return SOCKS5_E_MORE;
        *ret_n = 2U + bytes[1];
        return memchr(bytes + 2, 0, bytes[1]) ? 0 : SOCKS5_E_BAD;
}

static int socks5_bad(Socks5Reply r, Socks5Reply *reterr) {
        *reterr = r;
        return SOCKS5_E_BAD;
}

/* The address field, of n bytes behind the type and the domain's length. */
static int socks5_host(uint8_t type, const uint8_t *field, size_t n, ProxyRule *ret) {
        char text[INET6_ADDRSTRLEN];

        if (type == SOCKS5_DOMAIN)
                return net_host_parse((const char *)field, n, ret);
        inet_ntop(type == SOCKS5_IPV4 ? AF_INET : AF_INET6, field, text, sizeof(text));
        return net_host_parse(text, strlen(text), ret);
}

int socks5_request(const uint8_t *bytes, size_t n, size_t *ret_n, ProxyRule *ret_host, uint16_t *ret_port,
                   Socks5Reply *reterr) {
        size_t n_host, at = 4;

        if (n > 0 && bytes[0] != SOCKS5_VERSION)
                return socks5_bad(SOCKS5_FAILED, reterr);
        if (n > 1 && bytes[1] != SOCKS5_CONNECT)
                return socks5_bad(SOCKS5_NO_COMMAND, reterr);
        if (n > 2 && bytes[2] != 0)
                return socks5_bad(SOCKS5_FAILED, reterr);
        if (n > 3 && bytes[3] != SOCKS5_IPV4 && bytes[3] != SOCKS5_DOMAIN && bytes[3] != SOCKS5_IPV6)
                return socks5_bad(SOCKS5_NO_ADDRESS_TYPE, reterr);
        if (n < 5)
                return SOCKS5_E_MORE;
        n_host = bytes[3] == SOCKS5_IPV4 ? 4 : bytes[3] == SOCKS5_IPV6 ? 16
                                                                       : bytes[at++];
        if (n < at + n_host + 2)
                return SOCKS5_E_MORE;
        *ret_port = (uint16_t)(bytes[at + n_host] << 8 | bytes[at + n_host + 1]);
        *ret_n = at + n_host + 2;
        if (*ret_port == 0 || socks5_host(bytes[3], bytes + at, n_host, ret_host) < 0)
                return socks5_bad(SOCKS5_NOT_ALLOWED, reterr);
        return 0;
}

void socks5_reply(Socks5Reply r, uint8_t out[static SOCKS5_REPLY_BYTES]) {
        memset(out, 0, SOCKS5_REPLY_BYTES); /* bound address 0.0.0.0:0 */
        out[0] = SOCKS5_VERSION;
        out[1] = (uint8_t)r;
        out[3] = SOCKS5_IPV4;
}
