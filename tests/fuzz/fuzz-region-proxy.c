/* Messages of a lethe-proxy that is not ours: each is taken whole, or ends the channel for good; the record stays within its bounds. An input
 * is a row of packets: a kind of packet, 0 raw bytes, 1 an END, 2 SUMS, a place in it, a count, and as many bytes for that place. */
#include "base/io.h"
#include "region/region-proxy.h"
#include "tests/fuzz/fuzz.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

/* Makes a packet of the input's next bytes. Returns its size. */
static size_t packet(const uint8_t **data, size_t *n, uint8_t out[static 1024]) {
        const ProxyEnd end = {.head = {PROXY_END, sizeof(end)}, .name = "web.test"};
        const ProxySums sums = {.head = {PROXY_SUMS, sizeof(sums)}};
        const uint8_t kind = (*data)[0] % 3;
        const size_t at = (*data)[1] * 4U % 1024, size = MIN((size_t)(*data)[2], MIN(*n - 3, 1024 - at));
        const size_t whole = kind == 1 ? sizeof(end) : kind == 2 ? sizeof(sums)
                                                                 : 0;

        memset(out, 0, 1024);
        memcpy(out, kind == 1 ? (const void *)&end : &sums, whole);
        memcpy(out + at, *data + 3, size);
        *data += 3 + size;
        *n -= 3 + size;
        return whole > 0 ? whole : at + size;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        RegionProxy p = REGION_PROXY_NULL;
        Denials denials = {};
        uint8_t bytes[1024];
        int pair[2];
        json_t *o;
        bool denied;

        fuzz_check(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) == 0 && io_set_nonblock(pair[0]) == 0);
        p.control = pair[0];
        p.wanted = true;
        while (n > 3 && p.control >= 0) {
                const size_t size = packet(&data, &n, bytes);
                int r;

                fuzz_check(send(pair[1], bytes, size, MSG_NOSIGNAL | MSG_DONTWAIT) == (ssize_t)size);
                r = region_proxy_read(&p, &denials, &denied);
                fuzz_check(r == 0 || (r == -EPIPE && p.control < 0 && p.lost));
                fuzz_check(!p.summed || p.control < 0);
        }
        close(pair[1]);
        region_proxy_finish(&p, &denials);
        fuzz_check(p.control < 0 && (p.lost || p.summed));
        fuzz_check(json_array_size(p.ends) <= 512);
        o = region_proxy_json(&p);
        fuzz_check(o && (p.summed || json_is_true(json_object_get(o, "lost"))));
        json_decref(o);
        region_proxy_deinit(&p);
        denials_deinit(&denials);
        return 0;
}
