/* Hosts by name: the canonical text of a grant is the same grant; a grant covers itself; a host that a grant finds is covered by it. */
#include "manifest/net-name.h"
#include "manifest/vocabulary.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_range(const char *text) {
        char shown[NET_RANGE_TEXT_MAX];
        ProxyNet r, twin;
        Diag why = {0};

        if (net_range_parse(text, &r, &why) != 0) {
                fuzz_check(*why.text);
                return;
        }
        fuzz_check(net_range_parse(net_range_format(&r, shown), &twin, NULL) == 0 && memcmp(&r, &twin, sizeof(r)) == 0, "%s", shown);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        _cleanup_free_ char *text = n < 1024 ? strndup((const char *)data, n) : NULL;
        NetName g = {0}, twin = {0};
        Diag why = {0};
        ProxyRule host;
        int r;

        if (!text)
                return 0;
        check_range(text);
        if (net_host_parse(text, strlen(text), &host) == 0)
                fuzz_check(*host.name && strlen(host.name) < PROXY_NAME_MAX && !strpbrk(host.name, " /@\\#?[]ABCXYZ"));
        r = net_name_parse(text, &g, &why);
        fuzz_check(r == 0 || (r == TERMS_E_BAD && *why.text), "%d", r);
        if (r != 0)
                return 0;
        fuzz_check(g.rule.first > 0 && g.rule.first <= g.rule.last && strlen(g.text) < NET_NAME_TEXT_MAX);
        fuzz_check(net_name_parse(g.text, &twin, NULL) == 0 && strcmp(twin.text, g.text) == 0 && net_name_same(&g, &twin), "%s became %s", g.text, twin.text);
        fuzz_check(memcmp(&g.rule, &twin.rule, sizeof(g.rule)) == 0 && net_name_covers(&g, &g));
        if (g.rule.host == PROXY_HOST_NAME) {
                fuzz_check(net_host_parse(g.rule.name, strlen(g.rule.name), &host) == 0);
                fuzz_check(net_rule_find(&g.rule, 1, &host, g.rule.last) == &g.rule);
        }
        free(g.text);
        free(twin.text);
        return 0;
}
