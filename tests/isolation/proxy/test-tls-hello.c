#include "base/util.h"
#include "proxy/tls-hello.h"

#include <criterion/criterion.h>
#include <string.h>

typedef struct Bytes {
        uint8_t at[4096];
        size_t n;
} Bytes;

static void add(Bytes *b, const void *p, size_t n) {
        memcpy(b->at + b->n, p, n);
        b->n += n;
}
static void add_number(Bytes *b, size_t v, size_t n) {
        while (n-- > 0)
                b->at[b->n++] = (uint8_t)(v >> 8 * n);
}

/* A client hello with a GREASE extension, server_name (unless NULL), and an encrypted client hello. */
static Bytes hello(const char *name, size_t n_name) {
        static const uint8_t grease[] = {0x0a, 0x0a, 0, 1, 0}, ech[] = {0xfe, 0x0d, 0, 4, 1, 2, 3, 4};
        Bytes list = {}, b = {};

        add(&list, grease, sizeof(grease));
        if (name) {
                add_number(&list, 0, 2);
                add_number(&list, n_name + 5, 2);
                add_number(&list, n_name + 3, 2);
                add_number(&list, 0, 1);
                add_number(&list, n_name, 2);
                add(&list, name, n_name);
        }
        add(&list, ech, sizeof(ech));
        add_number(&b, 1, 1);
        add_number(&b, 2 + 32 + 1 + 32 + 4 + 2 + 2 + list.n, 3);
        add_number(&b, 0x0303, 2);
        b.n += 32;
        add_number(&b, 32, 1);
        b.n += 32;
        add_number(&b, 2, 2);
        add_number(&b, 0x1301, 2);
        add_number(&b, 1, 1);
        add_number(&b, 0, 1);
        add_number(&b, list.n, 2);
        add(&b, list.at, list.n);
        return b;
}

/* The message in records of at most `most` bytes. */
static Bytes records(const Bytes *message, size_t most) {
        Bytes b = {};

        for (size_t at = 0; at < message->n;) {
                size_t n = MIN(most, message->n - at);

                add_number(&b, 22, 1);
                add_number(&b, 0x0301, 2);
                add_number(&b, n, 2);
                add(&b, message->at + at, n);
                at += n;
        }
        return b;
}

static int parse(const Bytes *b, size_t n, char *name) {
        uint8_t *exact = malloc(n + !n);
        int r;

        memcpy(exact, b->at, n);
        r = tls_hello_parse(exact, n, name);
        free(exact);
        return r;
}

//
Test(tls_hello, the_name_is_found_however_the_bytes_are_split) {
        Bytes message = hello("API.example.org", 15), none = hello(NULL, 0), b;
        char name[PROXY_NAME_MAX];

        for (size_t most = 1; most <= message.n; most += most < 40 ? 1 : 37) {
                b = records(&message, most);
                for (size_t n = 0; n < b.n; n++)
                        cr_assert(parse(&b, n, name) == TLS_E_MORE, "records of %zu bytes, %zu bytes", most, n);
                cr_assert(parse(&b, b.n, name) == 0);
                cr_assert_str_eq(name, "api.example.org");
        }
        b = records(&none, 4096);
        cr_assert(parse(&b, b.n, name) == 0 && !*name);
}

//
Test(tls_hello, everything_else_is_no_hello) {
        static const char *const texts[] = {"GET / HTTP/1.1\r\n\r\n", "SSH-2.0-x\r\n", "\x15\x03\x01\x00\x02\x01\x00", "\x80\x2e\x01\x03\x01"};
        Bytes message, b;
        char name[PROXY_NAME_MAX];

        for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
                b = (Bytes){};
                add(&b, texts[i], 5);
                cr_assert(parse(&b, b.n, name) == TLS_E_BAD, "text %zu", i);
        }
        message = hello("a.org", 5);
        message.at[0] = 2; /* a server hello */
        b = records(&message, 4096);
        cr_assert(parse(&b, 6, name) == TLS_E_BAD);
        message = hello("a\0b.org", 7);
        b = records(&message, 4096);
        cr_assert(parse(&b, b.n, name) == TLS_E_BAD);
        message = hello("", 0);
        b = records(&message, 4096);
        cr_assert(parse(&b, b.n, name) == TLS_E_BAD);
        message = hello("10.0.0.1", 8);
        b = records(&message, 4096);
        cr_assert(parse(&b, b.n, name) == 0); /* never equal to a host name */
        message = hello("a.org", 5);
        message.at[1] = 1; /* 64 KiB */
        b = records(&message, 4096);
        cr_assert(parse(&b, b.n, name) == TLS_E_BAD);
}

//
Test(tls_hello, a_wrong_length_anywhere_reads_nothing_beyond) {
        Bytes message = hello("a.example.org", 13);

        for (size_t at = 1; at < message.n; at++)
                for (unsigned v = 0; v < 256; v += 5) {
                        Bytes changed = message, b;
                        char name[PROXY_NAME_MAX];

                        changed.at[at] = (uint8_t)v;
                        b = records(&changed, 4096);
                        if (parse(&b, b.n, name) == 0)
                                cr_assert(memchr(name, 0, sizeof(name)), "byte %zu", at);
                }
}
