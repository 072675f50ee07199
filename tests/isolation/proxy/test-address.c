#include "manifest/net-name.h"
#include "proxy/address.h"

#include <arpa/inet.h>
#include <criterion/criterion.h>
#include <string.h>

static ProxyAddress address(const char *text) {
        ProxyAddress a = {.v6 = strchr(text, ':')};

        cr_assert(inet_pton(a.v6 ? AF_INET6 : AF_INET, text, a.addr) == 1, "%s", text);
        return a;
}

//
Test(address, only_public_addresses_are_reached) {
        static const char *const refused[] = {
                "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.255.255.254", "169.254.169.254",
                "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.88.99.1", "192.168.0.1", "198.18.0.1", "198.19.255.255", "198.51.100.1",
                "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1",
                "::ffff:8.8.8.8", "64:ff9b::7f00:1", "64:ff9b::808:808", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::1",
                "2002:808:808::1", "3fff::1", "5f00::1", "fc00::1", "fd12::1", "fe00::1", "fe80::1", "febf::1", "fec0::1", "ff02::1", "ff0e::1",
        };
        static const char *const reached[] = {
                "8.8.8.8", "1.1.1.1", "9.255.255.255", "11.0.0.1", "100.63.255.255", "100.128.0.1", "126.255.255.255", "128.0.0.1", "169.253.0.1",
                "172.15.255.255", "172.32.0.1", "192.167.255.255", "192.169.0.1", "198.17.0.1", "198.20.0.1", "223.255.255.255", "2001:4860:4860::8888",
                "2606:4700::1111", "2a00:1450::1", "2003::1",
        };
        AddressOwn own = {};

        for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
                ProxyAddress a = address(refused[i]);

                cr_assert(address_is_private(&a) && !address_is_allowed(&a, &own, NULL, 0), "%s", refused[i]);
        }
        for (size_t i = 0; i < sizeof(reached) / sizeof(*reached); i++) {
                ProxyAddress a = address(reached[i]);

                cr_assert(!address_is_private(&a) && address_is_allowed(&a, &own, NULL, 0), "%s", reached[i]);
                own.unknown = true;
                cr_assert(!address_is_allowed(&a, &own, NULL, 0), "%s: the machine's own addresses are not known", reached[i]);
                own.unknown = false;
        }
}

//
Test(address, the_machines_own_addresses_are_refused_and_a_policy_names_exceptions) {
        AddressOwn own = {.n = 2, .list = {address("8.8.4.4"), address("2606:4700::1")}};
        static const struct {
                const char *range, *address;
                bool allowed;
        } rows[] = {
                {"8.8.8.8", "8.8.4.4", false}, {"8.8.4.4", "8.8.4.4", true}, {"2606::/16", "2606:4700::1", true}, {"127.0.0.0/8", "2606:4700::1", false},
                {"127.0.0.0/8", "127.3.4.5", true}, {"127.0.0.0/8", "128.0.0.1", true}, {"127.0.0.1", "127.0.0.2", false}, {"10.1.0.0/16", "10.1.2.3", true},
                {"10.1.0.0/17", "10.1.128.0", false}, {"::1", "::1", true}, {"fd00::/8", "fd00::1", true}, {"fd00::/8", "fc00::1", false},
                /* An IPv6 form of a private IPv4 address needs both. */
                {"::/0", "::ffff:127.0.0.1", false}, {"::/0", "64:ff9b::a00:1", false}, {"::/0", "2002:7f00:1::1", false}, {"::/0", "64:ff9b::808:808", true},
                {"127.0.0.0/8", "::ffff:127.0.0.1", false}, {"::/0", "::ffff:8.8.4.4", false},
        };

        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                ProxyAddress a = address(rows[i].address);
                ProxyNet net;

                cr_assert(net_range_parse(rows[i].range, &net, NULL) == 0);
                cr_assert(address_is_allowed(&a, &own, &net, 1) == rows[i].allowed, "%s %s", rows[i].range, rows[i].address);
        }
}
