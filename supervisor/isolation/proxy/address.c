#include "proxy/address.h"

#include "base/util.h"
#include "manifest/net-name.h"

#include <netinet/in.h>
#include <string.h>

typedef struct AddressRange {
        uint8_t prefix, addr[16];
} AddressRange;

/* IANA's special-purpose registries: no row is globally reachable. */
static const AddressRange address_ipv4[] = {
        {8, {0}},
        {8, {10}},
        {10, {100, 64}},
        {8, {127}},
        {16, {169, 254}},
        {12, {172, 16}},
        {24, {192, 0, 0}},
        {24, {192, 0, 2}},
        {24, {192, 31, 196}},
        {24, {192, 52, 193}},
        {24, {192, 88, 99}},
        {16, {192, 168}},
        {24, {192, 175, 48}},
        {15, {198, 18}},
        {24, {198, 51, 100}},
        {24, {203, 0, 113}},
        {4, {224}},
        {4, {240}},
};
static const AddressRange address_ipv6[] = {
        {8, {0}},                       /* ::, ::1, IPv4-compatible, IPv4-mapped, 64:ff9b::/96 */
        {64, {0x01}},                   /* 100::/64, discard */
        {23, {0x20, 0x01}},             /* 2001::/23: Teredo, ORCHID, benchmarking */
        {32, {0x20, 0x01, 0x0d, 0xb8}}, /* documentation */
        {16, {0x20, 0x02}},             /* 6to4 */
        {20, {0x3f, 0xff}},             /* documentation */
        {16, {0x5f}},                   /* segment routing */
        {7, {0xfc}},                    /* unique local */
        {9, {0xfe}},                    /* fe00::/9, reserved */
        {10, {0xfe, 0x80}},             /* link-local */
        {10, {0xfe, 0xc0}},             /* site-local */
        {8, {0xff}},                    /* multicast */
};

static bool address_in_any(const uint8_t *addr, const AddressRange *list, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (net_prefix_same(addr, list[i].addr, list[i].prefix))
                        return true;
        return false;
}

bool address_is_private(const ProxyAddress *a) {
        if (a->v6)
                return address_in_any(a->addr, address_ipv6, ARRAY_SIZE(address_ipv6));
        return address_in_any(a->addr, address_ipv4, ARRAY_SIZE(address_ipv4));
}

bool address_is_named(const ProxyAddress *a, const ProxyNet *nets, size_t n) {
        for (size_t i = 0; i < n; i++)
                if (nets[i].v6 == a->v6 && net_prefix_same(a->addr, nets[i].addr, nets[i].prefix))
                        return true;
        return false;
}

static bool address_is_own(const ProxyAddress *a, const AddressOwn *own) {
        if (own->unknown)
                return true;
        for (size_t i = 0; i < own->n; i++)
                if (own->list[i].v6 == a->v6 && memcmp(own->list[i].addr, a->addr, a->v6 ? 16 : 4) == 0)
                        return true;
        return false;
}

/* The IPv4 address behind an IPv6 form, to which the kernel or a gateway would connect. */
static bool address_inner(const ProxyAddress *a, ProxyAddress *ret) {
        static const AddressRange forms[] = {
                {96, {[10] = 0xff, [11] = 0xff}}, /* mapped */
                {96, {0}},                        /* compatible */
                {96, {0, 0x64, 0xff, 0x9b}},      /* NAT64 */
                {16, {0x20, 0x02}},               /* 6to4: behind the prefix */
        };

        static const uint8_t none[15];

        if (a->v6 && memcmp(a->addr, none, sizeof(none)) == 0)
                return false; /* ::1 and :: hold no IPv4 address */
        for (size_t i = 0; a->v6 && i < ARRAY_SIZE(forms); i++)
                if (net_prefix_same(a->addr, forms[i].addr, forms[i].prefix)) {
                        *ret = (ProxyAddress){};
                        memcpy(ret->addr, a->addr + forms[i].prefix / 8, 4);
                        return true;
                }
        return false;
}

bool address_is_allowed(const ProxyAddress *a, const AddressOwn *own, const ProxyNet *nets, size_t n) {
        ProxyAddress inner;

        if (!address_is_private(a) && !address_is_own(a, own))
                return true;
        if (!address_is_named(a, nets, n))
                return false;
        return !address_inner(a, &inner) || address_is_allowed(&inner, own, nets, n);
}

socklen_t address_to_sockaddr(const ProxyAddress *a, uint16_t port, struct sockaddr_storage *ret) {
        struct sockaddr_in6 *v6 = (struct sockaddr_in6 *)ret;
        struct sockaddr_in *v4 = (struct sockaddr_in *)ret;

        *ret = (struct sockaddr_storage){};
        if (a->v6) {
                v6->sin6_family = AF_INET6;
                v6->sin6_port = htons(port);
                memcpy(&v6->sin6_addr, a->addr, 16);
                return sizeof(*v6);
        }
        v4->sin_family = AF_INET;
        v4->sin_port = htons(port);
        memcpy(&v4->sin_addr, a->addr, 4);
        return sizeof(*v4);
}
