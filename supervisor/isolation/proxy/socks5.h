/* Runs: lethe-proxy. SOCKS 5 (RFC 1928) as far as a region needs it: no authentication, CONNECT, a name or an address.
 * The bytes may come in pieces of any size. */
#pragma once

#include "schema/proxy.h"

#include <stddef.h>

#define SOCKS5_VERSION 5
#define SOCKS5_BYTES_MAX 262 /* of the longest greeting or request */

enum { SOCKS5_E_MORE = 1,
       SOCKS5_E_BAD };
/* Replies of RFC 1928 6. */
typedef enum Socks5Reply {
        SOCKS5_OK = 0,
        SOCKS5_FAILED,
        SOCKS5_NOT_ALLOWED,
        SOCKS5_NET_UNREACHABLE,
        SOCKS5_HOST_UNREACHABLE,
        SOCKS5_REFUSED,
        SOCKS5_EXPIRED,
        SOCKS5_NO_COMMAND,
        SOCKS5_NO_ADDRESS_TYPE,
} Socks5Reply;

/* The greeting. Returns 0 with its size; SOCKS5_E_MORE; SOCKS5_E_BAD: no SOCKS 5, or the client wants authentication. */
int socks5_greeting(const uint8_t *bytes, size_t n, size_t *ret_n);
/* The request. Returns 0 with its size, host and port; SOCKS5_E_MORE; SOCKS5_E_BAD with the reply. */
int socks5_request(const uint8_t *bytes, size_t n, size_t *ret_n, ProxyRule *ret_host, uint16_t *ret_port,
                   Socks5Reply *reterr);
#define SOCKS5_REPLY_BYTES 10
void socks5_reply(Socks5Reply r, uint8_t out[static SOCKS5_REPLY_BYTES]);
