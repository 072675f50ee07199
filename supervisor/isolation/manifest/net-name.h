/* Runs: supervisor, CLI, lethe-proxy. Hosts by name: the grants of "network": {"allow": [...]}, and the match of a host
 * that a region asks for (schema/manifest.md).
 *
 *   HOST:PORT  HOST:FIRST-LAST     HOST is a name, *.NAME, an IPv4 address, or an IPv6 address in brackets
 *   …/plain                        on port 443, other protocols than TLS are allowed
 *
 * A name has letters, digits and hyphens; other alphabets are written in their ASCII form (xn--…). *.NAME means each
 * name with one or more labels before NAME, and not NAME. A number is an address only in the usual four-part form:
 * 127.1, 0x7f.0.0.1 and similar forms are refused, because some programs read addresses in them. */
#pragma once

#include "base/diag.h"
#include "base/util.h"
#include "schema/proxy.h"

typedef struct NetName {
        char *text; /* canonical: small letters, no trailing dot */
        ProxyRule rule;
} NetName;
void net_names_free(NetName *g, size_t n);
/* Returns 0, TERMS_E_BAD with a message, or -ENOMEM. */
int net_name_parse(const char *text, NetName *ret, Diag *reterr);
bool net_name_same(const NetName *a, const NetName *b);
/* Whether `wide` allows all of `narrow`. */
bool net_name_covers(const NetName *wide, const NetName *narrow);
#define NET_NAME_TEXT_MAX (PROXY_NAME_MAX + 64)

/* A host as a region asks for it: a name, or an address. Returns 0 with name (small letters, no trailing dot; of an
 * address its usual text), host and addr of *ret set; -EINVAL. Square brackets belong to an IPv6 address of a URI, and
 * are not taken off here. */
int net_host_parse(const char *text, size_t n, ProxyRule *ret);
/* The row of the table that allows the host and port, or NULL. `asked` is of net_host_parse(). */
const ProxyRule *net_rule_find(const ProxyRule *rules, size_t n, const ProxyRule *asked, uint16_t port);

/* localhost, 127.0.0.0/8 or ::1: for programs of the region that is the region's own loopback. */
bool net_rule_is_loopback(const ProxyRule *r);

/* "10.0.0.0/8", "fd00::/8", or one address. Returns 0 or TERMS_E_BAD. */
int net_range_parse(const char *text, ProxyNet *ret, Diag *reterr);
#define NET_RANGE_TEXT_MAX 64
/* Whether the first `prefix` bits of both addresses are the same. */
bool net_prefix_same(const uint8_t *a, const uint8_t *b, unsigned prefix);
const char *net_range_format(const ProxyNet *r, char out[static NET_RANGE_TEXT_MAX]);
