#include "manifest/net-publish.h"

#include "base/size.h"
#include "manifest/vocabulary.h"
#include "schema/proxy.h"
#include "schema/route.h"

#include <arpa/inet.h>
#include <stdio.h>
#include <string.h>

#define RULE "must be [ADDRESS:]HOST-PORT:PORT, for example 8080:80 or 127.0.0.1:8080:80"
#define RULE_RANGE "must be ADDRESS:PORT or ADDRESS:FIRST-LAST, for example 127.0.0.1:8000-8999 or [::1]:8080"

/* Ports of the host begin at 0. */
static bool publish_port(const char *text, size_t n, unsigned least, uint16_t *ret) {
        char digits[6] = "";
        uint64_t v;

        if (n < 1 || n >= sizeof(digits))
                return false;
        memcpy(digits, text, n);
        if (count_parse(digits, &v) < 0 || v < least || v > UINT16_MAX)
                return false;
        *ret = (uint16_t)v;
        return true;
}

/* The address of n bytes. */
static bool publish_address(const char *text, size_t n, uint8_t *ret_v6, uint8_t ret[static 16]) {
        const bool v6 = n > 2 && *text == '[' && text[n - 1] == ']';
        char host[INET6_ADDRSTRLEN] = "";

        n -= v6 ? 2 : 0;
        if (n >= sizeof(host))
                return false;
        memcpy(host, text + v6, n);
        *ret_v6 = v6;
        return inet_pton(v6 ? AF_INET6 : AF_INET, host, ret) == 1;
}

int net_publish_parse(const char *text, NetPublish *ret, Diag *reterr) {
        const char *shown = DIAG_QUOTED(text), *slash = strchr(text, '/'), *end = slash ?: text + strlen(text),
                   *colon = memrchr(text, ':', (size_t)(end - text)), *port = colon ? colon + 1 : text, *host_port = text;
        NetPublish p = {.addr = {127, 0, 0, 1}};

        if (slash && strcmp(slash, "/tcp") != 0)
                return diag(reterr, TERMS_E_BAD, "\"%s\": TCP alone is published: write it without \"%s\"", shown,
                            DIAG_QUOTED(slash));
        if (!publish_port(port, (size_t)(end - port), 1, &p.port))
                return diag(reterr, TERMS_E_BAD, "\"%s\": the region's port \"%s\" must be from 1 to 65535, a single one; "
                                                 "the form is [ADDRESS:]HOST-PORT:PORT",
                            shown, DIAG_QUOTED_N(port, (size_t)(end - port)));
        if (p.port == PROXY_PORT || p.port == PROXY_ROUTE_PORT) /* else others would have the region's hosts and secrets */
                return diag(reterr, TERMS_E_BAD, "\"%s\": port %u of the region belongs to its proxy: another port", shown, p.port);
        if (colon) {
                const char *before = memrchr(text, ':', (size_t)(colon - text));

                host_port = before ? before + 1 : text;
                if (before && !publish_address(text, (size_t)(before - text), &p.v6, p.addr))
                        return diag(reterr, TERMS_E_BAD, "\"%s\": the address \"%s\" must be numeric, an IPv6 address in "
                                                         "brackets; the form is [ADDRESS:]HOST-PORT:PORT",
                                    shown, DIAG_QUOTED_N(text, (size_t)(before - text)));
                if (host_port < colon && !publish_port(host_port, (size_t)(colon - host_port), 0, &p.host_port))
                        return diag(reterr, TERMS_E_BAD, "\"%s\": the host's port \"%s\" must be from 0 to 65535, a single "
                                                         "one; 0: the kernel chooses",
                                    shown, DIAG_QUOTED_N(host_port, (size_t)(colon - host_port)));
        }
        *ret = p;
        return 0;
}

int net_publish_range_parse(const char *text, NetPublishRange *ret, Diag *reterr) {
        const char *shown = DIAG_QUOTED(text), *colon = strrchr(text, ':'), *dash = colon ? strchr(colon, '-') : NULL;
        NetPublishRange r = {};

        if (!colon || !publish_address(text, (size_t)(colon - text), &r.v6, r.addr))
                return diag(reterr, TERMS_E_BAD, "\"%s\": " RULE_RANGE, shown);
        if (!publish_port(colon + 1, dash ? (size_t)(dash - colon - 1) : strlen(colon + 1), 0, &r.first) ||
            (dash && !publish_port(dash + 1, strlen(dash + 1), 0, &r.last)))
                return diag(reterr, TERMS_E_BAD, "\"%s\": the port must be from 0 to 65535, or a range FIRST-LAST; " RULE_RANGE,
                            shown);
        r.last = dash ? r.last : r.first;
        if (r.last < r.first)
                return diag(reterr, TERMS_E_BAD, "\"%s\": the range of ports ends before it begins", shown);
        *ret = r;
        return 0;
}

const char *net_publish_format(const NetPublish *p, char out[static NET_PUBLISH_TEXT_MAX]) {
        char host[INET6_ADDRSTRLEN] = "";

        inet_ntop(p->v6 ? AF_INET6 : AF_INET, p->addr, host, sizeof(host));
        snprintf(out, NET_PUBLISH_TEXT_MAX, "%s%s%s:%u:%u", p->v6 ? "[" : "", host, p->v6 ? "]" : "", p->host_port, p->port);
        return out;
}

bool net_publish_covers(const NetPublishRange *r, const NetPublish *p) {
        return r->v6 == p->v6 && memcmp(r->addr, p->addr, p->v6 ? 16 : 4) == 0 && p->host_port >= r->first &&
               p->host_port <= r->last;
}

bool net_publish_is_usual(const NetPublish *p) {
        static const uint8_t loopback[16] = {[15] = 1};

        return (p->v6 ? memcmp(p->addr, loopback, 16) == 0 : p->addr[0] == 127) && (p->host_port == 0 || p->host_port >= 1024);
}
