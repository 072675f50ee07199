#include "manifest/net-name.h"
#include "manifest/vocabulary.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

typedef struct Row {
        const char *text, *canonical; /* NULL: refused */
} Row;

//
Test(net_name, a_grant_is_a_host_and_ports) {
        static const Row rows[] = {
                {"api.example.org:443", "api.example.org:443"},
                {"API.Example.org.:443", "api.example.org:443"},
                {"*.example.net:443", "*.example.net:443"},
                {"*.Example.net.:8000-8999", "*.example.net:8000-8999"},
                {"db.example.org:443/plain", "db.example.org:443/plain"},
                {"127.0.0.1:8080", "127.0.0.1:8080"},
                {"[2001:DB8:0:0::1]:443", "[2001:db8::1]:443"},
                {"xn--bcher-kva.example:443", "xn--bcher-kva.example:443"},
                {"localhost:80", "localhost:80"},
                {"", NULL}, {"*", NULL}, {"*:443", NULL}, {"*.org:443", NULL}, {"*.:443", NULL}, {"a.*.org:443", NULL},
                {"*.1.2.3.4:443", NULL}, {"**.example.net:443", NULL}, {"example.org", NULL}, {"example.org:", NULL},
                {"example.org:0", NULL}, {"example.org:65536", NULL}, {"example.org:0443", NULL}, {"example.org:443-", NULL},
                {"example.org:443-443", NULL}, {"example.org:9-8", NULL}, {"example.org:*", NULL}, {"example..org:443", NULL},
                {".example.org:443", NULL}, {"-a.example.org:443", NULL}, {"a-.example.org:443", NULL}, {"b\xc3\xbc""cher.example:443", NULL},
                {"ab--cd.example.org:443", NULL}, {"a_b.example.org:443", NULL}, {"127.1:80", NULL}, {"0x7f.0.0.1:80", NULL},
                {"0177.0.0.1:80", NULL}, {"2130706433:80", NULL}, {"1.2.3.4.5:80", NULL}, {"::1:80", NULL}, {"[127.0.0.1]:80", NULL}, {"[::1:80", NULL},
                {"[fe80::1%1]:80", NULL}, {"a b.example.org:443", NULL}, {"user@example.org:443", NULL}, {"http://example.org:443", NULL},
                {"example.org:443/tls", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                NetName g = {}, again = {};
                Diag d = {};
                int r = net_name_parse(rows[i].text, &g, &d);

                cr_assert(r == (rows[i].canonical ? 0 : TERMS_E_BAD), "%s: %d %s", rows[i].text, r, d.text);
                if (r != 0) {
                        cr_assert(*d.text, "%s", rows[i].text);
                        continue;
                }
                cr_assert_str_eq(g.text, rows[i].canonical);
                cr_assert(net_name_parse(g.text, &again, &d) == 0 && net_name_same(&g, &again), "%s", g.text);
                free(g.text);
                free(again.text);
        }
}

static ProxyRule rule(const char *text) {
        NetName g = {};

        cr_assert(net_name_parse(text, &g, NULL) == 0, "%s", text);
        free(g.text);
        return g.rule;
}

//
Test(net_name, a_host_is_found_in_the_table) {
        const ProxyRule table[] = {rule("api.example.org:443"), rule("*.example.net:443"), rule("10.0.0.1:80-89"), rule("[::1]:80"),
                                   rule("plain.example.net:443/plain")};
        static const struct {
                const char *host;
                uint16_t port;
                int row; /* -1: none */
        } rows[] = {
                {"api.example.org", 443, 0}, {"API.EXAMPLE.ORG.", 443, 0}, {"api.example.org", 444, -1}, {"x.api.example.org", 443, -1},
                {"example.org", 443, -1}, {"a.example.net", 443, 1}, {"a.b.example.net", 443, 1}, {"example.net", 443, -1},
                {"badexample.net", 443, -1}, {"a.example.net.evil.org", 443, -1}, {"10.0.0.1", 85, 2}, {"10.0.0.1", 90, -1}, {"10.0.0.2", 80, -1},
                {"0:0::1", 80, 3}, {"::ffff:10.0.0.1", 80, -1}, {"plain.example.net", 443, 4},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                ProxyRule asked;
                const ProxyRule *found;

                cr_assert(net_host_parse(rows[i].host, strlen(rows[i].host), &asked) == 0, "%s", rows[i].host);
                found = net_rule_find(table, ARRAY_SIZE(table), &asked, rows[i].port);
                cr_assert(found == (rows[i].row < 0 ? NULL : &table[rows[i].row]), "%s:%u", rows[i].host, rows[i].port);
        }
}

//
Test(net_name, a_policy_covers_less_than_its_own) {
        static const struct {
                const char *wide, *narrow;
                bool covers;
        } rows[] = {
                {"*.example.net:443", "a.example.net:443", true}, {"*.example.net:443", "*.example.net:443", true},
                {"*.example.net:443", "*.a.example.net:443", true}, {"*.a.example.net:443", "*.example.net:443", false},
                {"a.example.net:443", "*.a.example.net:443", false}, {"*.example.net:443", "example.net:443", false},
                {"a.example.net:1-443", "a.example.net:80-90", true}, {"a.example.net:80", "a.example.net:80-90", false},
                {"a.example.net:443", "a.example.net:443/plain", false}, {"a.example.net:443/plain", "a.example.net:443", true},
                {"10.0.0.1:80", "10.0.0.1:80", true}, {"10.0.0.1:80", "10.0.0.2:80", false}, {"[::1]:80", "[::1]:80", true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                NetName wide = {}, narrow = {};

                cr_assert(net_name_parse(rows[i].wide, &wide, NULL) == 0 && net_name_parse(rows[i].narrow, &narrow, NULL) == 0);
                cr_assert(net_name_covers(&wide, &narrow) == rows[i].covers, "%s %s", rows[i].wide, rows[i].narrow);
                free(wide.text);
                free(narrow.text);
        }
}

Test(net_name, a_host_with_a_hidden_end_is_no_host) {
        ProxyRule r;
        char longest[260];

        cr_assert(net_host_parse("a.org\0.example.net", 18, &r) == -EINVAL);
        cr_assert(net_host_parse("a.org..", 7, &r) == -EINVAL);
        cr_assert(net_host_parse("", 0, &r) == -EINVAL);
        memset(longest, 'a', sizeof(longest));
        for (size_t i = 60; i < sizeof(longest); i += 61)
                longest[i] = '.';
        cr_assert(net_host_parse(longest, 253, &r) == 0);
        cr_assert(net_host_parse(longest, 254, &r) == -EINVAL);
        cr_assert(net_host_parse(longest + 61, 64, &r) == 0);
        memset(longest, 'a', 64);
        cr_assert(net_host_parse(longest, 64, &r) == -EINVAL);
}

//
Test(net_name, a_range_has_no_bits_beyond_its_prefix) {
        static const Row rows[] = {
                {"127.0.0.1", "127.0.0.1/32"}, {"10.0.0.0/8", "10.0.0.0/8"}, {"fd00::/8", "fd00::/8"}, {"::1", "::1/128"}, {"0.0.0.0/0", "0.0.0.0/0"},
                {"10.0.0.1/8", NULL}, {"10.0.0.0/33", NULL}, {"fd00::1/64", NULL}, {"::/129", NULL}, {"10.0.0.0/", NULL}, {"", NULL}, {"localhost", NULL},
                {"10.0.0.0/-1", NULL}, {"127.1", NULL},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char shown[NET_RANGE_TEXT_MAX];
                Diag d = {};
                ProxyNet r;
                int e = net_range_parse(rows[i].text, &r, &d);

                cr_assert(e == (rows[i].canonical ? 0 : TERMS_E_BAD), "%s", rows[i].text);
                if (e == 0)
                        cr_assert_str_eq(net_range_format(&r, shown), rows[i].canonical);
        }
}
