/* Requests to routes: an accepted head has a plain path of plain segments; an accepted body in chunks is the same in any
 * pieces. */
#include "proxy/http-head.h"
#include "proxy/route-path.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

int LLVMFuzzerInitialize(int *argc, char ***argv) {
        return 0;
}

static void check_chunks(const char *bytes, size_t n) {
        _cleanup_buf_ Buf whole = {}, parts = {};
        HttpChunks a = {}, b = {};
        size_t n_whole = http_chunks_decode(&a, bytes, n, &whole), n_parts = 0;

        while (n_parts < n && !b.over) {
                const size_t one = http_chunks_decode(&b, bytes + n_parts, 1, &parts);

                if (one == HTTP_CHUNKS_BAD) {
                        fuzz_check(n_whole == HTTP_CHUNKS_BAD);
                        return;
                }
                n_parts += one;
        }
        fuzz_check(n_whole == n_parts && a.over == b.over && whole.n == parts.n && (whole.n == 0 || memcmp(whole.data, parts.data, whole.n) == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n) {
        const char *bytes = (const char *)data, *why = NULL;
        HttpHead h;
        HttpLine l;
        RoutePath p;
        size_t at = 0, lines = 0;
        int r = http_origin_parse(bytes, n, &h, &why);

        check_chunks(bytes, n);
        fuzz_check(r != HTTP_E_BAD || why);
        if (r != 0)
                return 0;
        fuzz_check(h.n <= n && h.path + h.n_path <= h.n && bytes[h.path] == '/' && !h.connect);
        while (http_head_next(bytes, &h, &at, &l)) {
                fuzz_check(l.name >= bytes && l.value + l.n_value <= bytes + h.n && !http_is(l.name, l.n_name, "connection") &&
                           !http_is(l.name, l.n_name, "host"));
                fuzz_check(++lines <= HTTP_HEADERS_MAX);
        }
        if (route_path_parse(bytes + h.path, h.n_path, &p))
                return 0;
        fuzz_check(p.n_name > 0 && p.n_name + p.n_path + p.n_query + 1 == h.n_path && !memmem(p.path, p.n_path, "/../", 4) && !memmem(p.path, p.n_path, "//", 2));
        return 0;
}
