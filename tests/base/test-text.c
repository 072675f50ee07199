/* Messages, quotations, sizes, durations, times, hexadecimal, base64 and ids. */
#include "base/clock.h"
#include "base/diag.h"
#include "base/hash.h"
#include "base/id.h"
#include "base/size.h"

#include <criterion/criterion.h>
#include <criterion/theories.h>
#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

Test(diag, quotes_hostile_bytes) {
        static const struct {
                const char *in;
                size_t n;
                const char *out;
        } rows[] = {
                {"plain", 5, "plain"},
                {"", 0, ""},
                {"a\"b\\c", 5, "a\\x22b\\x5cc"},
                {"\x1b[31m\n\0\x7f", 8, "\\x1b[31m\\x0a\\x00\\x7f"},
                {"\u00e9\u20ac\xf0\x9f\x98\x80", 9, "\u00e9\u20ac\xf0\x9f\x98\x80"},
                {"\xff\xc0\x80\xed\xa0\x80\xf5\x80\x80\x80", 10, "\\xff\\xc0\\x80\\xed\\xa0\\x80\\xf5\\x80\\x80\\x80"},
                {"\xe2\x82", 2, "\\xe2\\x82"},
                {"\xf0\x9f\x98", 3, "\\xf0\\x9f\\x98"},
                {"\xc2\x9b" "1m", 4, "\\xc2\\x9b1m"},                  /* a C1 control: what terminals take as ESC [ */
                {"\xe2\x80\xae" "x", 4, "\\xe2\\x80\\xaex"},           /* right-to-left override */
                {"\xe2\x81\xa6", 3, "\\xe2\\x81\\xa6"},                /* isolate */
                {"\xe2\x80\xa8", 3, "\\xe2\\x80\\xa8"},                /* line separator */
                {"\xef\xbb\xbf" "x", 4, "\\xef\\xbb\\xbfx"},           /* byte order mark */
                {"\xe2\x80\x93", 3, "\xe2\x80\x93"},                   /* a dash */
        };
        char out[400];

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect(strcmp(diag_quote(rows[i].in, rows[i].n, out, sizeof(out)), rows[i].out) == 0, "row %zu: %s", i, out);
}

/* Where nothing is quoted nothing can end the quotation: a person sees "foo", not \x22foo\x22. */
Test(diag, shows_json_as_it_is) {
        char out[400];

        cr_expect_str_eq(diag_show("\"a\":\"b\"", 7, out, sizeof(out)), "\"a\":\"b\"");
        cr_expect_str_eq(diag_show("\\\n\xe2\x80\xae\xff", 6, out, sizeof(out)), "\\x5c\\x0a\\xe2\\x80\\xae\\xff");
}

/* Whatever the input and the room, a quotation fits, ends, is valid UTF-8 and has no control character. */
TheoryDataPoints(diag, a_quotation_fits) = {
        DataPoints(int, 0, 1, 2, 3, 4),
        DataPoints(size_t, 0, 1, 15, 95, 96, 97, 98, 300),
        DataPoints(size_t, 16, 17, 18, 19, 20, 21, 64, 390, 400),
};

Theory((int kind, size_t n, size_t room), diag, a_quotation_fits) {
        static const char *const kinds[] = {"a", "\x01", "\xf0\x9f\x98\x80", "\xe2\x82\xac", "\xff"};
        char in[300], out[400];
        _cleanup_free_ char *seen = malloc(room);
        json_t *s;

        for (size_t i = 0; i < n; i++)
                in[i] = kinds[kind][i % strlen(kinds[kind])];
        cr_assert(seen != NULL);
        diag_quote(in, n, seen, room); /* from the heap, so that a sanitizer sees a byte too many */
        cr_assert(strlen(seen) < room);
        snprintf(out, sizeof(out), "%s", seen);
        s = json_string(out);
        cr_assert(s != NULL, "not UTF-8");
        json_decref(s);
        for (char *p = out; *p; p++)
                cr_assert((unsigned char)*p >= 0x20);
}

Test(diag, a_message_that_is_cut_is_still_text) {
        for (size_t shift = 0; shift < 4; shift++) {
                char in[2000];
                Diag d;
                json_t *s;

                memset(in, 'x', shift);
                for (size_t i = shift; i + 4 < sizeof(in); i += 4)
                        memcpy(in + i, "\xf0\x9f\x98\x80", 4);
                in[sizeof(in) - 4] = 0;
                cr_assert(diag(&d, 7, "%s", in) == 7);
                s = json_string(d.text);
                cr_expect(s != NULL && strlen(d.text) == sizeof(d.text) - 1, "shift %zu", shift);
                json_decref(s);
                diag_prefix(&d, "file %d", 1);
                s = json_string(d.text);
                cr_expect(s != NULL && strncmp(d.text, "file 1: ", 8) == 0, "shift %zu", shift);
                json_decref(s);
        }
        cr_expect(diag(NULL, 9, "nobody listens") == 9);
        diag_prefix(NULL, "nobody");
}

typedef int (*Parse)(const char *text, uint64_t *ret);

typedef struct Row {
        const char *text;
        int r;
        uint64_t value;
} Row;

static void check(const char *what, Parse parse, const Row *rows, size_t n) {
        for (size_t i = 0; i < n; i++) {
                uint64_t v = 77;
                int r = parse(rows[i].text, &v);

                cr_expect(r == rows[i].r && v == (r == 0 ? rows[i].value : 77), "%s \"%s\": %d, %" PRIu64, what, rows[i].text, r, v);
        }
}

Test(size, sizes_counts_and_durations) {
        static const Row sizes[] = {
                {"0", 0, 0},
                {"64", 0, 64},
                {"64b", 0, 64},
                {"64k", 0, 65536},
                {"64K", 0, 65536},
                {"64kb", 0, 65536},
                {"64KiB", 0, 65536},
                {"128m", 0, UINT64_C(128) << 20},
                {"1g", 0, UINT64_C(1) << 30},
                {"1t", 0, UINT64_C(1) << 40},
                {"9007199254740991", 0, (UINT64_C(1) << 53) - 1},
                {"9007199254740992", -ERANGE, 0},
                {"8192t", -ERANGE, 0},
                {"8191t", 0, UINT64_C(8191) << 40},
                {"99999999999999999999999", -ERANGE, 0},
                {"", -EINVAL, 0},
                {"k", -EINVAL, 0},
                {"-1", -EINVAL, 0},
                {"+1", -EINVAL, 0},
                {" 1", -EINVAL, 0},
                {"1 ", -EINVAL, 0},
                {"1 k", -EINVAL, 0},
                {"1.5g", -EINVAL, 0},
                {"1ki", -EINVAL, 0},
                {"1kk", -EINVAL, 0},
                {"1p", -EINVAL, 0},
                {"0x10", -EINVAL, 0},
        };
        static const Row counts[] = {
                {"0", 0, 0}, {"007", 0, 7}, {"9007199254740991", 0, (UINT64_C(1) << 53) - 1}, {"9007199254740992", -ERANGE, 0},
                {"", -EINVAL, 0}, {"1k", -EINVAL, 0}, {"-1", -EINVAL, 0}, {"1.0", -EINVAL, 0},
        };
        static const Row durations[] = {
                {"500us", 0, 500},
                {"250ms", 0, 250000},
                {"30s", 0, 30000000},
                {"30", 0, 30000000},
                {"5m", 0, UINT64_C(300000000)},
                {"5min", 0, UINT64_C(300000000)},
                {"1h", 0, UINT64_C(3600000000)},
                {"0.5", 0, 500000},
                {"1.5s", 0, 1500000},
                {"0.25h", 0, UINT64_C(900000000)},
                {"1.9999999s", 0, 1999999}, /* digits beyond a microsecond are dropped */
                {"0.9us", 0, 0},
                {"3000000us", 0, 3000000},
                {"9007199254740991us", 0, (UINT64_C(1) << 53) - 1},
                {"9007199254740992us", -ERANGE, 0},
                {"2501999h", 0, UINT64_C(2501999) * 3600000000},
                {"2502000h", -ERANGE, 0},
                {"99999999999999999999s", -ERANGE, 0},
                {"", -EINVAL, 0},
                {".5", -EINVAL, 0},
                {"1.", -EINVAL, 0},
                {"1.s", -EINVAL, 0},
                {"-1s", -EINVAL, 0},
                {"1d", -EINVAL, 0},
                {"1 s", -EINVAL, 0},
                {"1e3", -EINVAL, 0},
        };
        char out[SIZE_TEXT_MAX];

        check("size", size_parse, sizes, ARRAY_SIZE(sizes));
        check("count", count_parse, counts, ARRAY_SIZE(counts));
        check("duration", duration_parse, durations, ARRAY_SIZE(durations));
        cr_expect_str_eq(size_format(713, out), "713 B");
        cr_expect_str_eq(size_format(UINT64_C(128) << 20, out), "128 MiB");
        cr_expect_str_eq(size_format(UINT64_C(3) << 29, out), "1.5 GiB");
        cr_expect_str_eq(size_format(UINT64_MAX, out), "16384 PiB");
        cr_expect_str_eq(duration_format(48, out), "48 us");
        cr_expect_str_eq(duration_format(250000, out), "250 ms");
        cr_expect_str_eq(duration_format(1500, out), "1.5 ms");
        cr_expect_str_eq(duration_format(2000000, out), "2 s");
        cr_expect_str_eq(duration_format(1250000, out), "1.25 s");
}

Test(clock, text_round_trip_and_nothing_else) {
        static const uint64_t rows[] = {0, 1, UINT64_C(951782400000000) /* 2000-02-29 */, UINT64_C(1795256981000123),
                                        UINT64_C(253402300799999999) /* the last of the year 9999 */};
        static const char *const bad[] = {
                "2026-13-01T00:00:00.000000Z", "2026-02-30T00:00:00.000000Z", "2026-11-21T24:00:00.000000Z", "2026-11-21T10:29:61.000000Z",
                "2026-+1-21T10:29:41.000123Z", "2026- 1-21T10:29:41.000123Z", "2026-11-21 10:29:41.000123Z", "2026-11-21T10:29:41.000123z",
                "2026-11-21T10:29:41.00012Z",  "2026-11-21T10:29:41Z",        "1969-12-31T23:59:59.000000Z", "2026-11-21T10:29:41.000123Z ",
                "", "2026-11-21T10:29:41.-00123Z",
        };
        char text[CLOCK_TEXT_MAX];
        uint64_t back;

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect(clock_parse(clock_format(rows[i], text), &back) == 0 && back == rows[i], "%s", text);
        cr_expect_str_eq(clock_format(UINT64_C(1795256981000123), text), "2026-11-21T10:29:41.000123Z");
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                cr_expect(clock_parse(bad[i], &back) == -EINVAL, "%s", bad[i]);
        cr_expect(clock_mono_usec() <= clock_mono_usec());
}

/* RFC 4648 section 10 and what a strict reader refuses. */
Test(hash, base64_and_hex) {
        static const struct {
                const char *plain, *text;
        } rows[] = {{"", ""}, {"f", "Zg=="}, {"fo", "Zm8="}, {"foo", "Zm9v"}, {"foob", "Zm9vYg=="}, {"fooba", "Zm9vYmE="}, {"foobar", "Zm9vYmFy"}};
        static const char *const bad[] = {"Z", "Zg", "Zg=", "Zg===", "Zh==", "Zm9=", " Zg==", "Zg==\n", "Zm9v Zg==", "Zm-_", "Zg==Zg==", "====", "Zm\xc3\xa9="};
        uint8_t out[64], digest[HASH_BYTES];
        char hex[HASH_HEX_MAX];

        cr_assert(sodium_init() >= 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                size_t n = strlen(rows[i].plain);
                _cleanup_free_ char *text = base64_encode(rows[i].plain, n);

                cr_expect_str_eq(text, rows[i].text);
                cr_expect(base64_decode(text, strlen(text), out, sizeof(out)) == (ssize_t)n && memcmp(out, rows[i].plain, n) == 0, "%s", text);
                cr_expect(base64_decode(text, strlen(text), out, n) == (ssize_t)n, "%s into just enough", text);
                if (n > 0)
                        cr_expect(base64_decode(text, strlen(text), out, n - 1) == -ENOSPC, "%s into too little", text);
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                cr_expect(base64_decode(bad[i], strlen(bad[i]), out, sizeof(out)) == -EINVAL, "\"%s\"", bad[i]);
        hash_bytes("abc", 3, digest); /* FIPS 180-4's example */
        cr_expect_str_eq(hex_encode(digest, sizeof(digest), hex), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        cr_expect(hex_decode(hex, out, HASH_BYTES) == 0 && memcmp(out, digest, HASH_BYTES) == 0);
        cr_expect(hex_decode("0aFf", out, 2) == 0 && out[0] == 0x0a && out[1] == 0xff);
        cr_expect(hex_decode("0aF", out, 2) == -EINVAL && hex_decode("0aFg", out, 2) == -EINVAL && hex_decode("0aFf00", out, 2) == -EINVAL);
        cr_expect(hex_decode("", out, 0) == 0);
}

/* I-53: ids never repeat, and sort by time. */
Test(id, region_ids) {
        static const char *const bad[] = {"", "0", "01jdabcdefghjkmnpqrstvwxy", "01jdabcdefghjkmnpqrstvwxyzz", "01JDABCDEFGHJKMNPQRSTVWXYZ",
                                          "01jdabcdefghjkmnpqrstvwxyi", "01jdabcdefghjkmnpqrstvwxyu", "01jdabcdefghjkmnpqrstvwxy/",
                                          "81jdabcdefghjkmnpqrstvwxyz", "zzzzzzzzzzzzzzzzzzzzzzzzzz"};
        char last[REGION_ID_MAX] = "", id[REGION_ID_MAX], twin[REGION_ID_MAX];

        for (uint64_t ms = 1; ms < (UINT64_C(1) << 48); ms *= 3) {
                cr_assert(region_id_new(ms * 1000, id) == 0 && region_id_new(ms * 1000 + 999, twin) == 0);
                cr_expect(region_id_valid(id) && strlen(id) == REGION_ID_LEN, "%s", id);
                cr_expect(strcmp(last, id) < 0, "%s is not after %s", id, last);
                cr_expect(strncmp(id, twin, 10) == 0 && strcmp(id, twin) != 0, "%s and %s", id, twin);
                memcpy(last, id, sizeof(last));
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
                cr_expect(!region_id_valid(bad[i]), "%s", bad[i]);
}

Test(text, moments_as_people_write_them) {
        static const struct {
                const char *text, *is; /* NULL: refused */
        } rows[] = {
                {"2026-11-21", "2026-11-21T00:00:00.000000Z"},
                {"2026-11-21Z", "2026-11-21T00:00:00.000000Z"},
                {"2026-11-21T10:29", "2026-11-21T10:29:00.000000Z"},
                {"2026-11-21T10:29Z", "2026-11-21T10:29:00.000000Z"},
                {"2026-11-21T10:29:41Z", "2026-11-21T10:29:41.000000Z"},
                {"2026-11-21T10:29:41.5Z", "2026-11-21T10:29:41.500000Z"},
                {"2026-11-21T10:29:41.000123Z", "2026-11-21T10:29:41.000123Z"},
                {"90s", "2026-11-21T23:58:30.000000Z"},
                {"12h", "2026-11-21T12:00:00.000000Z"},
                {"7d", "2026-11-15T00:00:00.000000Z"},
                {"", NULL},
                {"2026", NULL},
                {"2026-11-31", NULL},
                {"2026-11-21T10", NULL},
                {"2026-11-21T10:29:41.", NULL},
                {"2026-11-21T10:29:41+01:00", NULL},
                {"2026-11-21T25:00", NULL},
                {"yesterday", NULL},
                {"d", NULL},
                {"-1d", NULL},
                {"999999999999d", NULL},
        };
        uint64_t now, got;
        char text[CLOCK_TEXT_MAX];

        cr_assert_eq(clock_parse("2026-11-22T00:00:00.000000Z", &now), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                int r = clock_parse_moment(rows[i].text, now, &got);

                cr_expect_eq(r, rows[i].is ? 0 : -EINVAL, "\"%s\": %d", rows[i].text, r);
                if (r == 0 && rows[i].is)
                        cr_expect_str_eq(clock_format(got, text), rows[i].is, "\"%s\"", rows[i].text);
        }
}
