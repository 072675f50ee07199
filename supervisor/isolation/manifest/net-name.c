#include "manifest/net-name.h"

#include "base/ascii.h"
#include "base/size.h"
#include "manifest/vocabulary.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define LABEL_MAX 63
#define RULE                                                                                                         \
        "must be HOST:PORT, *.NAME:PORT or ADDRESS:PORT, for example api.example.org:443; other alphabets in their " \
        "xn-- form"

void net_names_free(NetName *g, size_t n) {
        for (size_t i = 0; i < n; i++)
                free(g[i].text);
        free(g);
}

/* Programs take 127.1, 0x7f000001 or 2130706433 for addresses: a name's last label is no number. */
static bool net_is_number(const char *label) {
        size_t n = strlen(label);

        if (strncmp(label, "0x", 2) == 0)
                return strspn(label + 2, "0123456789abcdef") == n - 2;
        return strspn(label, "0123456789") == n;
}

static bool net_label_valid(const char *label, size_t n) {
        if (n < 1 || n > LABEL_MAX || label[0] == '-' || label[n - 1] == '-')
                return false;
        for (size_t i = 0; i < n; i++)
                if (!ascii_letter(label[i]) && !ascii_digit(label[i]) && label[i] != '-')
                        return false;
        /* Hyphens in places 3 and 4 belong to xn-- (RFC 5891 4.2.3.1). */
        return n < 4 || label[2] != '-' || label[3] != '-' || memcmp(label, "xn", 2) == 0;
}

/* `name` is in small letters. */
static bool net_name_valid(const char *name) {
        const char *label = name;

        for (const char *dot; (dot = strchr(label, '.')); label = dot + 1)
                if (!net_label_valid(label, (size_t)(dot - label)))
                        return false;
        return net_label_valid(label, strlen(label)) && !net_is_number(label);
}

int net_host_parse(const char *text, size_t n, ProxyRule *ret) {
        ProxyRule r = {};

        if (n > 0 && text[n - 1] == '.')
                n--;
        if (n < 1 || n >= sizeof(r.name))
                return -EINVAL;
        for (size_t i = 0; i < n; i++)
                r.name[i] = ascii_lower(text[i]);
        if (strlen(r.name) != n)
                return -EINVAL;
        if (inet_pton(AF_INET, r.name, r.addr) == 1)
                r.host = PROXY_HOST_IPV4;
        else if (inet_pton(AF_INET6, r.name, r.addr) == 1) {
                r.host = PROXY_HOST_IPV6;
                inet_ntop(AF_INET6, r.addr, r.name, sizeof(r.name));
        } else if (net_name_valid(r.name))
                r.host = PROXY_HOST_NAME;
        else
                return -EINVAL;
        *ret = r;
        return 0;
}

static bool net_is_below(const char *name, const char *root) {
        size_t n = strlen(name), n_root = strlen(root);

        return n > n_root + 1 && name[n - n_root - 1] == '.' && strcmp(name + n - n_root, root) == 0;
}

static bool net_host_covers(const ProxyRule *wide, const ProxyRule *narrow) {
        switch ((ProxyHost)wide->host) {
        case PROXY_HOST_IPV4:
                return narrow->host == PROXY_HOST_IPV4 && memcmp(wide->addr, narrow->addr, 4) == 0;
        case PROXY_HOST_IPV6:
                return narrow->host == PROXY_HOST_IPV6 && memcmp(wide->addr, narrow->addr, 16) == 0;
        case PROXY_HOST_NAME:
                return narrow->host == PROXY_HOST_NAME && strcmp(wide->name, narrow->name) == 0;
        case PROXY_HOST_BELOW:
                if (narrow->host == PROXY_HOST_BELOW && strcmp(wide->name, narrow->name) == 0)
                        return true;
                return (narrow->host == PROXY_HOST_NAME || narrow->host == PROXY_HOST_BELOW) &&
                       net_is_below(narrow->name, wide->name);
        }
        return false;
}

const ProxyRule *net_rule_find(const ProxyRule *rules, size_t n, const ProxyRule *asked, uint16_t port) {
        const ProxyRule *found = NULL;

        for (size_t i = 0; i < n; i++)
                if (port >= rules[i].first && port <= rules[i].last && net_host_covers(&rules[i], asked) &&
                    (!found || rules[i].plain))
                        found = &rules[i];
        return found;
}

bool net_name_same(const NetName *a, const NetName *b) {
        return strcmp(a->text, b->text) == 0;
}

bool net_name_covers(const NetName *wide, const NetName *narrow) {
        return narrow->rule.first >= wide->rule.first && narrow->rule.last <= wide->rule.last &&
               wide->rule.plain >= narrow->rule.plain && net_host_covers(&wide->rule, &narrow->rule);
}

static int net_port_parse(const char *text, size_t n, uint16_t *ret) {
        char digits[6];
        uint64_t v;

        if (n < 1 || n >= sizeof(digits) || *text == '0')
                return -EINVAL;
        memcpy(digits, text, n);
        digits[n] = 0;
        if (count_parse(digits, &v) < 0 || v < 1 || v > UINT16_MAX)
                return -EINVAL;
        *ret = (uint16_t)v;
        return 0;
}

/* "443" or "8000-8999", of n bytes. */
static int net_ports_parse(const char *text, size_t n, ProxyRule *r) {
        const char *dash = memchr(text, '-', n);
        size_t first = dash ? (size_t)(dash - text) : n;

        if (net_port_parse(text, first, &r->first) < 0)
                return -EINVAL;
        r->last = r->first;
        if (dash && (net_port_parse(dash + 1, n - first - 1, &r->last) < 0 || r->last <= r->first))
                return -EINVAL;
        return 0;
}

/* The host of n bytes: with its star, or its brackets. */
static int net_allowed_host_parse(const char *text, size_t n, ProxyRule *ret) {
        const bool star = n > 2 && text[0] == '*' && text[1] == '.', v6 = n > 2 && *text == '[' && text[n - 1] == ']';
        int r = net_host_parse(text + (star ? 2 : v6), n - (star ? 2 : v6 ? 2
                                                                          : 0),
                               ret);

        if (r < 0 || v6 != (ret->host == PROXY_HOST_IPV6) || (star && ret->host != PROXY_HOST_NAME))
                return -EINVAL;
        /* A whole top-level domain is no host that somebody knows. */
        if (star && !strchr(ret->name, '.'))
                return -EINVAL;
        if (star)
                ret->host = PROXY_HOST_BELOW;
        return 0;
}

int net_name_parse(const char *text, NetName *ret, Diag *reterr) {
        const char *shown = DIAG_QUOTED(text), *slash = strrchr(text, '/');
        const bool plain = slash && strcmp(slash, "/plain") == 0;
        const size_t n = plain ? (size_t)(slash - text) : strlen(text);
        const char *colon = memrchr(text, ':', n);
        ProxyRule rule, ports = {};
        bool v6;

        if (strcmp(text, "*") == 0 || strncmp(text, "*:", 2) == 0)
                return diag(reterr, TERMS_E_BAD,
                            "\"%s\": all hosts are no list of names; --network host, or \"network\": \"host\", is that",
                            shown);
        if (strstr(text, "://"))
                return diag(reterr, TERMS_E_BAD, "\"%s\": has a scheme: " RULE, shown);
        if (!colon)
                return diag(reterr, TERMS_E_BAD, "\"%s\": " RULE, shown);
        if (net_ports_parse(colon + 1, n - (size_t)(colon + 1 - text), &ports) < 0)
                return diag(reterr, TERMS_E_BAD, "\"%s\": the port must be from 1 to 65535, or a range FIRST-LAST",
                            shown);
        if (net_allowed_host_parse(text, (size_t)(colon - text), &rule) < 0)
                return diag(reterr, TERMS_E_BAD, "\"%s\": " RULE, shown);
        rule.first = ports.first;
        rule.last = ports.last;
        rule.plain = plain;
        v6 = rule.host == PROXY_HOST_IPV6;
        if (asprintf(&ret->text, "%s%s%s%s:%.*s%s", rule.host == PROXY_HOST_BELOW ? "*." : "", v6 ? "[" : "", rule.name,
                     v6 ? "]" : "", (int)(n - (size_t)(colon + 1 - text)), colon + 1, plain ? "/plain" : "") < 0)
                return -ENOMEM;
        ret->rule = rule;
        return 0;
}

bool net_rule_is_loopback(const ProxyRule *r) {
        static const uint8_t one[16] = {[15] = 1};

        return r->host == PROXY_HOST_IPV4   ? r->addr[0] == 127
               : r->host == PROXY_HOST_IPV6 ? memcmp(r->addr, one, sizeof(one)) == 0
                                            : r->host == PROXY_HOST_NAME && strcmp(r->name, "localhost") == 0;
}

int net_range_parse(const char *text, ProxyNet *ret, Diag *reterr) {
        const char *slash = strchrnul(text, '/'), *shown = DIAG_QUOTED(text);
        ProxyNet r = {};
        char address[INET6_ADDRSTRLEN] = "";
        uint64_t prefix;
        unsigned most;

        if ((size_t)(slash - text) < sizeof(address))
                memcpy(address, text, (size_t)(slash - text));
        if (inet_pton(AF_INET, address, r.addr) != 1) {
                r.v6 = 1;
                if (inet_pton(AF_INET6, address, r.addr) != 1)
                        return diag(reterr, TERMS_E_BAD,
                                    "\"%s\": must be an address or a range, for example 127.0.0.1 or 10.1.0.0/16", shown);
        }
        most = r.v6 ? 128 : 32;
        prefix = most;
        if (*slash && (count_parse(slash + 1, &prefix) < 0 || prefix > most))
                return diag(reterr, TERMS_E_BAD, "\"%s\": the prefix must be from 0 to %u", shown, most);
        r.prefix = (uint8_t)prefix;
        for (unsigned bit = r.prefix; bit < most; bit++)
                if (r.addr[bit / 8] & 0x80 >> bit % 8)
                        return diag(reterr, TERMS_E_BAD, "\"%s\": the address has bits beyond its prefix", shown);
        *ret = r;
        return 0;
}

bool net_prefix_same(const uint8_t *a, const uint8_t *b, unsigned prefix) {
        return memcmp(a, b, prefix / 8) == 0 && (prefix % 8 == 0 || (a[prefix / 8] ^ b[prefix / 8]) >> (8 - prefix % 8) == 0);
}

const char *net_range_format(const ProxyNet *r, char out[static NET_RANGE_TEXT_MAX]) {
        char address[INET6_ADDRSTRLEN];

        inet_ntop(r->v6 ? AF_INET6 : AF_INET, r->addr, address, sizeof(address));
        snprintf(out, NET_RANGE_TEXT_MAX, "%s/%u", address, r->prefix);
        return out;
}
