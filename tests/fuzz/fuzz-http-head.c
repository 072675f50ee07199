/* The head of a request to the proxy: what is accepted is written as a head that is accepted again as the same request, with no second
 * length, and every beginning of an accepted head is incomplete. */
#include "proxy/http-head.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static unsigned count(const char *text, const char *word) {
        unsigned n = 0;

        for (const char *at = text; (at = strcasestr(at, word)); at++)
                n++;
        return n;
}

/* The server's view: an origin server takes the path, so that the target's host is put before it again. */
static void check_rewritten(const char *text, const HttpHead *h) {
        _cleanup_buf_ Buf out = {}, again = {}, twice = {};
        const char *why = "", *path;
        HttpHead twin;

        fuzz_check(http_head_rewrite(text, h, &out) == 0);
        fuzz_check(count(out.data, "\nhost:") == 1 && count(out.data, "\nconnection:") == 1);
        fuzz_check(count(out.data, "\ncontent-length:") + count(out.data, "\ntransfer-encoding:") <= 1);
        fuzz_check(!strstr(out.data, "\n\n") && strcmp(out.data + out.n - 4, "\r\n\r\n") == 0 && strstr(out.data, "\r\n\r\n") == out.data + out.n - 4);
        path = strchr(out.data, ' ') + 1;
        fuzz_check(*path == '/');
        fuzz_check(buf_printf(&again, "%.*shttp://%s%s%s:%u%s", (int)(path - out.data), out.data, h->host.host == PROXY_HOST_IPV6 ? "[" : "", h->host.name,
                              h->host.host == PROXY_HOST_IPV6 ? "]" : "", h->port, path) == 0);
        if (again.n > HTTP_HEAD_MAX)
                return;
        fuzz_check(http_head_parse(again.data, again.n, &twin, &why) == 0, "%s\n%s", why, again.data);
        fuzz_check(twin.port == h->port && twin.length == h->length && twin.chunked == h->chunked && strcmp(twin.host.name, h->host.name) == 0);
        fuzz_check(http_head_rewrite(again.data, &twin, &twice) == 0 && twice.n == out.n && memcmp(twice.data, out.data, out.n) == 0);
}

static void check_chunks(const char *bytes, size_t n) {
        HttpChunks whole = {}, pieces = {};
        size_t end = http_chunks_feed(&whole, bytes, n), at = 0, some = 0;

        while (at < n && !pieces.over && (some = http_chunks_feed(&pieces, bytes + at, 1)) != HTTP_CHUNKS_BAD)
                at += some;
        fuzz_check((some == HTTP_CHUNKS_BAD) == (end == HTTP_CHUNKS_BAD));
        fuzz_check(end == HTTP_CHUNKS_BAD || (end == at && whole.over == pieces.over));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *text = (const char *)data, *why = NULL;
        HttpHead h, part;
        int r = http_head_parse(text, n, &h, &why);

        fuzz_check(r == 0 || r == HTTP_E_MORE || (r == HTTP_E_BAD && why));
        if (r == 0) {
                fuzz_check(h.n <= n && h.n <= HTTP_HEAD_MAX && h.port > 0 && *h.host.name && h.path + h.n_path <= h.n && !(h.chunked && h.length > 0));
                fuzz_check(http_head_parse(text, h.n - 1, &part, &why) == HTTP_E_MORE);
                if (!h.connect)
                        check_rewritten(text, &h);
        }
        check_chunks(text, n);
        return 0;
}
