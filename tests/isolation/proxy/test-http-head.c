#include "proxy/http-head.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int parse(const char *text, size_t n, HttpHead *ret, const char **reterr) {
        char *exact = malloc(n + !n); /* so that a read beyond is found */
        int r;

        memcpy(exact, text, n);
        r = http_head_parse(exact, n, ret, reterr);
        free(exact);
        return r;
}

//
Test(http_head, a_request_in_pieces_is_the_same_request) {
        static const struct {
                const char *text, *host, *rewritten;
                uint16_t port;
                bool connect, chunked;
                uint64_t length;
        } rows[] = {
                {"CONNECT api.example.org:443 HTTP/1.1\r\nHost: api.example.org:443\r\nUser-Agent: curl\r\n\r\n", "api.example.org", NULL, 443, true, false, 0},
                {"CONNECT API.example.org.:443 HTTP/1.1\r\nHost: api.example.org\r\n\r\n", "api.example.org", NULL, 443, true, false, 0},
                {"CONNECT [2001:db8::1]:443 HTTP/1.1\r\nHost: [2001:db8::1]:443\r\n\r\n", "2001:db8::1", NULL, 443, true, false, 0},
                {"CONNECT a.example.org:22 HTTP/1.0\r\n\r\n", "a.example.org", NULL, 22, true, false, 0},
                {"GET http://a.example.org/x?y HTTP/1.1\r\nHost: a.example.org\r\nProxy-Connection: keep-alive\r\nConnection: keep-alive, X-Hop\r\nX-Hop: 1\r\n"
                 "Accept: */*\r\nProxy-Authorization: Basic x\r\nUpgrade: h2c\r\n\r\n",
                 "a.example.org", "GET /x?y HTTP/1.1\r\nHost: a.example.org\r\nConnection: close\r\nAccept: */*\r\n\r\n", 80, false, false, 0},
                {"POST http://a.example.org:8080 HTTP/1.1\r\nhost:a.example.org:8080\r\nContent-Length: 12\r\n\r\n", "a.example.org",
                 "POST / HTTP/1.1\r\nHost: a.example.org:8080\r\nConnection: close\r\nContent-Length: 12\r\n\r\n", 8080, false, false, 12},
                {"PUT HTTP://A.Example.org?q HTTP/1.0\r\n\r\n", "a.example.org", "PUT /?q HTTP/1.1\r\nHost: a.example.org\r\nConnection: close\r\n\r\n", 80, false, false, 0},
                {"POST http://[::1]:81/ HTTP/1.1\r\nHost: [::1]:81\r\nTransfer-Encoding: Chunked\r\n\r\n", "::1",
                 "POST / HTTP/1.1\r\nHost: [::1]:81\r\nConnection: close\r\nTransfer-Encoding: Chunked\r\n\r\n", 81, false, true, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const size_t n = strlen(rows[i].text);
                _cleanup_buf_ Buf out = {};
                const char *why = "";
                HttpHead h;
                int r;

                for (size_t have = 0; have < n; have++)
                        cr_assert((r = parse(rows[i].text, have, &h, &why)) == HTTP_E_MORE, "row %zu, %zu bytes: %d %s", i, have, r, why);
                cr_assert(http_head_parse(rows[i].text, n, &h, &why) == 0, "row %zu: %s", i, why);
                cr_assert_str_eq(h.host.name, rows[i].host);
                cr_assert(h.n == n && h.port == rows[i].port && h.connect == rows[i].connect && h.chunked == rows[i].chunked && h.length == rows[i].length,
                          "row %zu", i);
                if (!rows[i].rewritten)
                        continue;
                cr_assert(http_head_rewrite(rows[i].text, &h, &out) == 0);
                cr_assert_str_eq(out.data, rows[i].rewritten);
        }
}

//
Test(http_head, a_request_that_two_readers_may_take_for_two_is_refused) {
#define HEAD "GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n"
        static const char *const rows[] = {
                HEAD "Content-Length: 5\r\nContent-Length: 5\r\n\r\n",
                HEAD "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n",
                HEAD "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n",
                HEAD "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n",
                HEAD "Transfer-Encoding: gzip, chunked\r\n\r\n",
                HEAD "Transfer-Encoding: identity\r\n\r\n",
                HEAD "Content-Length: 5, 5\r\n\r\n",
                HEAD "Content-Length: +5\r\n\r\n",
                HEAD "Content-Length: 0x5\r\n\r\n",
                HEAD "Content-Length: \r\n\r\n",
                HEAD "Content-Length: 99999999999999999999\r\n\r\n",
                HEAD "Content-Length : 5\r\n\r\n",
                HEAD "X: a\n\r\n",
                HEAD "X: a\rb\r\n\r\n",
                HEAD "X: a\r\n b\r\n\r\n",
                HEAD "X: a\r\n\tb\r\n\r\n",
                HEAD "X\r\n\r\n",
                HEAD ": a\r\n\r\n",
                HEAD "X: \1\r\n\r\n",
                HEAD "Host: a.org\r\n\r\n",
                HEAD "Connection: content-length\r\n\r\n",
                HEAD "Connection: x , Host\r\n\r\n",
                "GET http://a.org/ HTTP/1.1\r\n\r\n",
                "GET http://a.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
                "GET http://a.org/ HTTP/1.1\r\nHost: a.org:81\r\n\r\n",
                "GET http://a.org/ HTTP/1.1\r\nHost: a.org, b.org\r\n\r\n",
                "GET http://a.org@b.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
                "GET http://a.org\\@b.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
                "GET http://a.org#@b.org/ HTTP/1.1\r\nHost: b.org\r\n\r\n",
                "GET http://a.org/ b HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "GET http://127.1/ HTTP/1.1\r\nHost: 127.1\r\n\r\n",
                "GET https://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "GET / HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "GET  http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "GET http://a.org/ HTTP/2.0\r\nHost: a.org\r\n\r\n",
                "GET http://a.org/\r\n\r\n",
                " GET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "\r\nGET http://a.org/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "GET http://a.org/ HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
                "CONNECT a.org HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT a.org: HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT a.org:0 HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT a.org:65536 HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT a.org:000443 HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT a.org:443/ HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT http://a.org:443 HTTP/1.1\r\nHost: a.org\r\n\r\n",
                "CONNECT a.org:443 HTTP/1.1\r\nHost: b.org:443\r\n\r\n",
                "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:443\r\nContent-Length: 5\r\n\r\n",
                "CONNECT a.org:443 HTTP/1.1\r\nHost: a.org:443\r\nTransfer-Encoding: chunked\r\n\r\n",
                "CONNECT [a.org]:443 HTTP/1.1\r\nHost: a.org:443\r\n\r\n",
                "CONNECT ::1:443 HTTP/1.1\r\nHost: a.org:443\r\n\r\n",
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const char *why = NULL;
                HttpHead h;

                cr_assert(http_head_parse(rows[i], strlen(rows[i]), &h, &why) == HTTP_E_BAD && why, "row %zu: %s", i, rows[i]);
        }
        cr_assert(http_head_parse(HEAD "X: a\0b\r\n\r\n", sizeof(HEAD "X: a\0b\r\n\r\n") - 1, &(HttpHead){}, &(const char *){NULL}) == HTTP_E_BAD);
}

Test(http_head, a_head_has_bounds) {
        static char text[2 * HTTP_HEAD_MAX];
        const char *why = NULL;
        HttpHead h;
        size_t n = (size_t)sprintf(text, HEAD "X: ");

        memset(text + n, 'a', sizeof(text) - n);
        cr_assert(http_head_parse(text, HTTP_HEAD_MAX - 1, &h, &why) == HTTP_E_MORE);
        cr_assert(http_head_parse(text, HTTP_HEAD_MAX, &h, &why) == HTTP_E_BAD);
        for (size_t headers = 1; headers <= HTTP_HEADERS_MAX; headers++)
                n = (size_t)(stpcpy(text + (headers == 1 ? sizeof(HEAD) - 1 : n), "X: a\r\n") - text);
        strcpy(text + n, "\r\n");
        cr_assert(http_head_parse(text, n + 2, &h, &why) == HTTP_E_BAD);
        strcpy(text + n - 6, "\r\n");
        cr_assert(http_head_parse(text, n - 4, &h, &why) == 0, "%s", why);
}

//
Test(http_head, a_body_in_chunks_ends_where_it_ends) {
        static const struct {
                const char *text;
                size_t n; /* HTTP_CHUNKS_BAD: refused */
                bool over;
        } rows[] = {
                {"5\r\nhello\r\n0\r\n\r\nGET /", 15, true}, {"A;x=\"y\"\r\n0123456789\r\n0\r\n\r\n", 26, true}, {"0\r\n\r\n", 5, true},
                {"5\r\nhel", 6, false}, {"5\nhello", HTTP_CHUNKS_BAD, false}, {"\r\n", HTTP_CHUNKS_BAD, false}, {"5\r\nhello0\r\n\r\n", HTTP_CHUNKS_BAD, false},
                {"0\r\nX: y\r\n\r\n", HTTP_CHUNKS_BAD, false}, {"-1\r\n", HTTP_CHUNKS_BAD, false}, {"0000000000000005\r\n", HTTP_CHUNKS_BAD, false},
                {"5 \r\nhello\r\n", HTTP_CHUNKS_BAD, false}, {"5;a\nb\r\n", HTTP_CHUNKS_BAD, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                HttpChunks whole = {}, pieces = {};
                const size_t n = strlen(rows[i].text);
                size_t fed = 0, some = 0;

                cr_assert(http_chunks_feed(&whole, rows[i].text, n) == rows[i].n, "row %zu", i);
                cr_assert(whole.over == rows[i].over || rows[i].n == HTTP_CHUNKS_BAD, "row %zu", i);
                for (size_t at = 0; at < n && some != HTTP_CHUNKS_BAD; at++, fed += some)
                        if ((some = http_chunks_feed(&pieces, rows[i].text + at, 1)) == HTTP_CHUNKS_BAD)
                                break;
                cr_assert((some == HTTP_CHUNKS_BAD) == (rows[i].n == HTTP_CHUNKS_BAD), "row %zu in pieces", i);
                cr_assert(some == HTTP_CHUNKS_BAD || fed == rows[i].n, "row %zu in pieces: %zu", i, fed);
        }
}
