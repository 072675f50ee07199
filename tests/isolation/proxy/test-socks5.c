#include "proxy/socks5.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct Row {
        const char *bytes;
        size_t n;
        int r, reply;
        const char *host;
        uint16_t port;
} Row;
#define BYTES(s) s, sizeof(s) - 1

static const Row requests[] = {
        {BYTES("\5\1\0\3\7foo.org\1\xbb"), 0, 0, "foo.org", 443},
        {BYTES("\5\1\0\3\10FOO.org.\0\x50"), 0, 0, "foo.org", 80},
        {BYTES("\5\1\0\1\12\0\0\1\0\x50"), 0, 0, "10.0.0.1", 80},
        {BYTES("\5\1\0\4\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\1\0\x50"), 0, 0, "::1", 80},
        {BYTES("\5\2\0\1\12\0\0\1\0\x50"), SOCKS5_E_BAD, SOCKS5_NO_COMMAND, "", 0},
        {BYTES("\5\3\0\1\12\0\0\1\0\x50"), SOCKS5_E_BAD, SOCKS5_NO_COMMAND, "", 0},
        {BYTES("\5\1\1\1\12\0\0\1\0\x50"), SOCKS5_E_BAD, SOCKS5_FAILED, "", 0},
        {BYTES("\4\1\0\1\12\0\0\1\0\x50"), SOCKS5_E_BAD, SOCKS5_FAILED, "", 0},
        {BYTES("\5\1\0\2\12\0\0\1\0\x50"), SOCKS5_E_BAD, SOCKS5_NO_ADDRESS_TYPE, "", 0},
        {BYTES("\5\1\0\1\12\0\0\1\0\0"), SOCKS5_E_BAD, SOCKS5_NOT_ALLOWED, "", 0},
        {BYTES("\5\1\0\3\0\0\x50"), SOCKS5_E_BAD, SOCKS5_NOT_ALLOWED, "", 0},
        {BYTES("\5\1\0\3\5a\0b.c\0\x50"), SOCKS5_E_BAD, SOCKS5_NOT_ALLOWED, "", 0},
        {BYTES("\5\1\0\3\5" "127.1\0\x50"), SOCKS5_E_BAD, SOCKS5_NOT_ALLOWED, "", 0},
};

//
Test(socks5, a_request_in_pieces_is_the_same_request) {
        for (size_t i = 0; i < sizeof(requests) / sizeof(*requests); i++) {
                const Row *row = &requests[i];
                ProxyRule host = {};
                Socks5Reply reply = SOCKS5_OK;
                uint16_t port = 0;
                size_t n = 0;
                int r = SOCKS5_E_MORE;

                for (size_t have = 0; have <= row->n && r == SOCKS5_E_MORE; have++) {
                        uint8_t *piece = malloc(have + !have); /* so that a read beyond is found */

                        memcpy(piece, row->bytes, have);
                        r = socks5_request(piece, have, &n, &host, &port, &reply);
                        cr_assert(r != 0 || have == row->n, "row %zu: complete after %zu", i, have);
                        free(piece);
                }
                cr_assert(r == row->r && (r != 0 || n == row->n), "row %zu: %d", i, r);
                cr_assert(r == 0 ? strcmp(host.name, row->host) == 0 && port == row->port : (int)reply == row->reply, "row %zu: %s %u %d", i, host.name, port,
                          (int)reply);
        }
}

Test(socks5, a_greeting_offers_no_authentication) {
        static const Row rows[] = {{BYTES("\5\1\0"), 0}, {BYTES("\5\2\2\0"), 0}, {BYTES("\5\1\2"), SOCKS5_E_BAD}, {BYTES("\5\0"), SOCKS5_E_BAD},
                                   {BYTES("\4"), SOCKS5_E_BAD}, {BYTES("\5"), SOCKS5_E_MORE}, {BYTES("\5\2\0"), SOCKS5_E_MORE}, {BYTES(""), SOCKS5_E_MORE}};

        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                size_t n;

                cr_assert(socks5_greeting((const uint8_t *)rows[i].bytes, rows[i].n, &n) == rows[i].r, "row %zu", i);
        }
}
