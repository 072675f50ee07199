/* The TLS hello: accepted or refused, never incomplete beyond the bound; a name is a host; an accepted hello in records of one byte is the
 * same hello. */
#include "manifest/net-name.h"
#include "proxy/tls-hello.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

/* The content of the records, each byte in a record of its own. */
static size_t split(const uint8_t *data, size_t n, uint8_t *out, size_t most) {
        size_t made = 0;

        for (size_t at = 0; at + 5 <= n;) {
                size_t size = (size_t)data[at + 3] << 8 | data[at + 4];

                for (size_t i = 0; i < size && at + 5 + i < n && made + 6 <= most; i++) {
                        memcpy(out + made, (const uint8_t[]){22, 3, 1, 0, 1}, 5);
                        out[made + 5] = data[at + 5 + i];
                        made += 6;
                }
                at += 5 + size;
        }
        return made;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        static uint8_t out[6 * TLS_HELLO_MAX];
        char name[PROXY_NAME_MAX], again[PROXY_NAME_MAX];
        int r = tls_hello_parse(data, n, name);
        ProxyRule host;

        fuzz_check(r == 0 || r == TLS_E_MORE || r == TLS_E_BAD);
        fuzz_check(r != TLS_E_MORE || n < TLS_HELLO_MAX);
        if (r != 0)
                return 0;
        fuzz_check(memchr(name, 0, sizeof(name)));
        fuzz_check(!*name || (net_host_parse(name, strlen(name), &host) == 0 && strcmp(host.name, name) == 0));
        if (n < TLS_HELLO_MAX / 6) {
                fuzz_check(tls_hello_parse(out, split(data, n, out, sizeof(out)), again) == 0 && strcmp(again, name) == 0);
                for (size_t part = 0; part < 5; part++)
                        fuzz_check(tls_hello_parse(data, part, again) == TLS_E_MORE);
        }
        return 0;
}
