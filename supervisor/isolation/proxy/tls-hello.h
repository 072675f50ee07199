/* Runs: lethe-proxy. The server name in the first message of TLS (RFC 8446 4.1.2, RFC 6066 3). Records may be of any
 * size, the message may be spread over several. Unknown extensions, GREASE values and encrypted client hellos are
 * tolerated: the outer name counts. */
#pragma once

#include "schema/proxy.h"

#include <stddef.h>

#define TLS_HELLO_MAX 32768 /* of the handshake message and its records; post-quantum key shares take 2 KiB */

enum { TLS_E_MORE = 1,
       TLS_E_BAD }; /* not complete; no client hello, or broken */

/* Returns 0 with the name in small letters (empty: no server name); TLS_E_MORE; TLS_E_BAD. */
int tls_hello_parse(const uint8_t *bytes, size_t n, char ret_name[static PROXY_NAME_MAX]);
