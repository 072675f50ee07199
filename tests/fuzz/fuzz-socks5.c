/* SOCKS 5: an accepted message is incomplete at every earlier byte, and its host is accepted in its own form. */
#include "manifest/net-name.h"
#include "proxy/socks5.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        ProxyRule host = {}, twin;
        Socks5Reply reply = SOCKS5_OK;
        uint16_t port = 0;
        size_t size = 0;
        int r = socks5_greeting(data, n, &size);

        fuzz_check(r != 0 || (size <= n && size <= SOCKS5_BYTES_MAX));
        for (size_t part = 0; r == 0 && part < size; part++)
                fuzz_check(socks5_greeting(data, part, &(size_t){0}) == SOCKS5_E_MORE);
        fuzz_check(r != SOCKS5_E_MORE || n < SOCKS5_BYTES_MAX);
        r = socks5_request(data, n, &size, &host, &port, &reply);
        fuzz_check(r != SOCKS5_E_BAD || reply != SOCKS5_OK);
        fuzz_check(r != SOCKS5_E_MORE || n < SOCKS5_BYTES_MAX);
        if (r != 0)
                return 0;
        fuzz_check(size <= n && size <= SOCKS5_BYTES_MAX && port > 0);
        fuzz_check(net_host_parse(host.name, strlen(host.name), &twin) == 0 && memcmp(&host, &twin, sizeof(host)) == 0);
        for (size_t part = 0; part < size; part++)
                fuzz_check(socks5_request(data, part, &(size_t){0}, &twin, &port, &reply) == SOCKS5_E_MORE);
        return 0;
}
