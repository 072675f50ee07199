/* Runs: lethe-proxy. The addresses that a region may be connected to. */
#pragma once

#include "schema/proxy.h"

#include <stddef.h>
#include <sys/socket.h>

/* An address that lethe-proxy looked up, or that a region asked for. */
typedef struct ProxyAddress {
        bool v6;
        uint8_t addr[16]; /* IPv4: the first 4 bytes */
} ProxyAddress;

/* Whether the address belongs to no public host: loopback, private (RFC 1918, RFC 4193), shared (RFC 6598), link-local,
 * multicast, reserved, documentation, or an IPv6 form of such an IPv4 address (mapped, compatible, NAT64, 6to4,
 * Teredo). */
bool address_is_private(const ProxyAddress *a);
/* The machine's own addresses, as at the last address_own_look(); at most ADDRESS_OWN_MAX. */
#define ADDRESS_OWN_MAX 256
typedef struct AddressOwn {
        ProxyAddress list[ADDRESS_OWN_MAX];
        size_t n;
        bool unknown; /* the list could not be read whole: every address is taken for the machine's own */
} AddressOwn;
/* Whether the address is in a range that the policy names. */
bool address_is_named(const ProxyAddress *a, const ProxyNet *nets, size_t n);
/* Whether the region may be connected: not private and not the machine's own, or named by the policy. An address of a
 * form that holds an IPv4 address is judged by both. */
bool address_is_allowed(const ProxyAddress *a, const AddressOwn *own, const ProxyNet *nets, size_t n);
socklen_t address_to_sockaddr(const ProxyAddress *a, uint16_t port, struct sockaddr_storage *ret);
