#include "base/json-form.h"

#include <criterion/criterion.h>
#include <criterion/theories.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static int parse(const char *text, size_t max, unsigned depth, json_t **ret, Diag *why) {
        return json_parse(text, strlen(text), max, depth, ret, why);
}

static char *canonical(const char *text) {
        _cleanup_json_ json_t *v = NULL;
        char *out = NULL;
        Diag why = {0};

        cr_assert(parse(text, 1 << 20, 100, &v, &why) == 0, "%s: %s", text, why.text);
        cr_assert(json_canonical(v, &out, NULL) == 0, "%s", text);
        return out;
}

Test(json, limits_and_places_of_errors) {
        static const struct {
                const char *text;
                size_t max;
                unsigned depth;
                int code;
                const char *message;
        } rows[] = {
                {"[[[]]]", 6, 3, 0, ""},
                {"[[[]]]", 6, 2, JSON_E_DEPTH, "nested 3 deep: at most 2"},
                {"{\"a\":[{\"b\":[]}],\"c\":[[]]}", 99, 4, 0, ""},
                {"[[],[],[],[[]]]", 99, 3, 0, ""},
                {"\"[[[[\\\"[[[\"", 99, 0, 0, ""},
                {"[\"]]]\\\\\",[[]]]", 99, 3, 0, ""},
                {"[[[]]]", 5, 3, JSON_E_SIZE, "6 bytes of JSON: at most 5"},
                {"1", 1, 0, 0, ""},
                {"{\"a\":1,\n \"a\":2}", 99, 9, JSON_E_DUPLICATE, "line 2"},
                {"{\"a\":1,\n \"b\" 2}", 99, 9, JSON_E_SYNTAX, "line 2, column 6"},
                {"1 2", 99, 9, JSON_E_SYNTAX, "line 1"},
                {"", 99, 9, JSON_E_SYNTAX, "line 1"},
                {"9223372036854775808", 99, 9, JSON_E_SYNTAX, "too big"},
                {"1e400", 99, 9, JSON_E_SYNTAX, "overflow"},
                {"\"\xff\"", 99, 9, JSON_E_SYNTAX, "line 1"},
                {"\"\xed\xa0\x80\"", 99, 9, JSON_E_SYNTAX, "line 1"},
                {"\"\\ud800\"", 99, 9, JSON_E_SYNTAX, "line 1"},
                {"nul\x1b[31m", 99, 9, JSON_E_SYNTAX, "line 1"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *v = NULL;
                Diag why = {0};
                int r = parse(rows[i].text, rows[i].max, rows[i].depth, &v, &why);

                cr_expect(r == rows[i].code, "%s: %d %s", rows[i].text, r, why.text);
                cr_expect(strstr(why.text, rows[i].message) != NULL, "%s: %s", rows[i].text, why.text);
                cr_expect(!strchr(why.text, 0x1b), "a control byte in \"%s\"", why.text);
                cr_expect((r == 0) == (v != NULL), "%s", rows[i].text);
        }
}

/* Jansson skips a NUL that follows a number. */
Test(json, a_nul_byte_is_refused_anywhere) {
        static const char text[] = "[1 ,\n 2]";

        for (size_t i = 0; i < sizeof(text); i++) {
                char with[sizeof(text)];
                _cleanup_json_ json_t *v = NULL;
                Diag why = {0};

                memcpy(with, text, i);
                with[i] = 0;
                memcpy(with + i + 1, text + i, sizeof(text) - i - 1);
                cr_expect(json_parse(with, sizeof(with), 99, 9, &v, &why) == JSON_E_SYNTAX, "at %zu", i);
                cr_expect(strncmp(why.text, i <= 4 ? "line 1" : "line 2", 6) == 0 && strstr(why.text, "NUL"), "at %zu: %s", i, why.text);
        }
}

Test(json, a_string_may_hold_nul) {
        _cleanup_json_ json_t *v = NULL;
        _cleanup_free_ char *text = NULL;

        cr_assert(parse("\"a\\u0000b\"", 99, 1, &v, NULL) == 0 && json_string_length(v) == 3);
        text = canonical("\"a\\u0000b\"");
        cr_assert_str_eq(text, "\"a\\u0000b\"");
}

/* I-81 */
Test(json, a_string_with_nul_is_not_the_one_that_ends_there) {
        _cleanup_json_ json_t *o = NULL;
        const char *a = NULL, *b = NULL;
        size_t n = 0;
        Diag why = {0};

        cr_assert(parse("{\"a\":\"ping\\u0000x\",\"b\":\"ping\",\"c\":\"ping\\u0000\"}", 99, 2, &o, NULL) == 0);
        cr_expect(!json_text(json_object_get(o, "a")) && !json_text(json_object_get(o, "c")) && !json_text(NULL));
        cr_expect_str_eq(json_text(json_object_get(o, "b")), "ping");
        cr_expect(!json_text_is(json_object_get(o, "a"), "ping") && json_text_is(json_object_get(o, "b"), "ping") && !json_text_is(json_object_get(o, "c"), "ping"));
        cr_expect(memcmp(json_bytes(json_object_get(o, "a")), "ping\0x", 7) == 0);
        json_object_del(o, "c");
        cr_expect(json_take(o, "{s:s, s?:s%}", "b", &b, "a", &a, &n) == 0 && n == 6, "with its length it is taken");
        cr_expect(json_take(o, "{s:s%, s:s}", "b", &b, &n, "a", &a) < 0, "as a C string it is not");
        json_misfit(o, "{a: string, b: string}", false, &why);
        cr_expect(strstr(why.text, "a holds the character U+0000"), "%s", why.text);
        cr_expect(json_take(o, "{s:s%, s?:s, s:o, s?:o}", "b", &b, &n, "none", &a, "a", &a, "no", &a) == 0);
        cr_expect(json_take(o, "{s:s}", "b", &b) < 0, "a member too many");
}

/* RFC 8785 3.2: what each rule of the canonical form makes of a text. */
Test(json, canonical_form) {
        static const struct {
                const char *in, *out;
        } rows[] = {
                {" { \"b\" : [ 1 , 2.50 , -0.0 ] , \"a\" : null } ", "{\"a\":null,\"b\":[1,2.5,0]}"},
                {"\"\\u20ac$\\u000F\\u000aA'\\u0042\\u0022\\u005c\\\\\\\"\\/\"", "\"\u20ac$\\u000f\\nA'B\\\"\\\\\\\\\\\"/\""},
                {"\"\\b\\f\\n\\r\\t\\u001f\\u007f\\u0080\"", "\"\\b\\f\\n\\r\\t\\u001f\x7f\xc2\x80\""},
                /* Keys stand in the order of UTF-16 units: a surrogate pair comes before U+FB33. */
                {"{\"\\ufb33\":1,\"\\ud83d\\ude00\":2,\"\\u20ac\":3,\"\\u00f6\":4,\"\\u0080\":5,\"1\":6,\"\\r\":7,\"\":8}",
                 "{\"\":8,\"\\r\":7,\"1\":6,\"\xc2\x80\":5,\"\u00f6\":4,\"\u20ac\":3,\"\xf0\x9f\x98\x80\":2,\"\xef\xac\xb3\":1}"},
                {"{\"aa\":1,\"a\":2,\"B\":3,\"a\\u0001\":4}", "{\"B\":3,\"a\":2,\"a\\u0001\":4,\"aa\":1}"},
                {"{\"x\":{},\"e\":[],\"t\":[true,false,null,\"\"]}", "{\"e\":[],\"t\":[true,false,null,\"\"],\"x\":{}}"},
                {"[333333333.33333329,1E30,4.50,2e-3,0.000000000000000000000000001]", "[333333333.3333333,1e+30,4.5,0.002,1e-27]"},
                {"[9007199254740991,-9007199254740991,1.0,100e0]", "[9007199254740991,-9007199254740991,1,100]"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *out = canonical(rows[i].in);

                cr_expect(strcmp(out, rows[i].out) == 0, "%s became %s, not %s", rows[i].in, out, rows[i].out);
        }
}

// What is over another object is as if its members had been set there.
Test(json, canonical_of_one_over_another) {
        static const char *const rows[][2] = {
                {"{}", "{}"},
                {"{\"a\":1}", "{}"},
                {"{}", "{\"a\":1}"},
                {"{\"a\":1,\"b\":2}", "{\"b\":{\"c\":[3]},\"a\":null}"},
                {"{\"text\":\"t\",\"role\":\"agent\",\"usec\":5}", "{\"why\":\"w\",\"outcome\":\"committed\",\"role\":\"x\"}"},
                {"{\"q\":0,\"p\":0,\"o\":0,\"n\":0,\"m\":0,\"l\":0,\"k\":0,\"j\":0,\"i\":0}", "{\"i\":1,\"h\":1,\"g\":1,\"f\":1,\"e\":1,\"d\":1,\"c\":1,\"b\":1,\"a\":1}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *v = json_loads(rows[i][0], 0, NULL), *over = json_loads(rows[i][1], 0, NULL), *set = json_deep_copy(v);
                _cleanup_free_ char *got = NULL, *alone = NULL, *wanted = NULL, *before = canonical(rows[i][0]);
                size_t n = 0;

                cr_assert(v && over && set && json_object_update(set, over) == 0);
                cr_assert_eq(json_canonical_over(v, over, &got, &n), 0);
                cr_assert_eq(json_canonical(set, &wanted, NULL), 0);
                cr_expect(n == strlen(wanted) && strcmp(got, wanted) == 0, "%s, not %s", got, wanted);
                cr_assert_eq(json_canonical_over(v, NULL, &alone, NULL), 0);
                cr_expect_str_eq(alone, before);
        }
}

/* I-83. Powers of two whose closest digits of some length are read back as the double below (see decimal.c), and the numbers of RFC 8785 appendix B. */
Test(json, canonical_numbers) {
        static const struct {
                uint64_t bits;
                const char *text; /* NULL: refused */
        } rows[] = {
                {0x0000000000000000, "0"},
                {0x8000000000000000, "0"},
                {0x0000000000000001, "5e-324"},
                {0x8000000000000001, "-5e-324"},
                {0x7fefffffffffffff, "1.7976931348623157e+308"},
                {0xffefffffffffffff, "-1.7976931348623157e+308"},
                {0x433fffffffffffff, "9007199254740991"},
                {0x4340000000000000, NULL}, /* 2^53 */
                {0xc340000000000000, NULL},
                {0x444b1ae4d6e2ef4f, NULL}, /* the last before 1e21 */
                {0x444b1ae4d6e2ef50, "1e+21"},
                {0x44b52d02c7e14af5, "9.999999999999997e+22"},
                {0x44b52d02c7e14af6, "1e+23"},
                {0x44b52d02c7e14af7, "1.0000000000000001e+23"},
                {0x3eb0c6f7a0b5ed8c, "9.999999999999997e-7"},
                {0x3eb0c6f7a0b5ed8d, "0.000001"},
                {0x41b3de4355555553, "333333333.3333332"},
                {0x41b3de4355555554, "333333333.33333325"},
                {0x41b3de4355555555, "333333333.3333333"},
                {0x41b3de4355555556, "333333333.3333334"},
                {0xbecbf647612f3696, "-0.0000033333333333333333"},
                {0x3ff8000000000000, "1.5"},
                {0x3fb999999999999a, "0.1"},
                {0x40c81cd6e631f8a1, "12345.6789"},
                {0x3730000000000000, "7.174648137343064e-43"}, /* 2^-140 */
                {0x3730000000000001, "7.174648137343065e-43"},
                {0x372fffffffffffff, "7.174648137343063e-43"},
                {0x0060000000000000, "7.120236347223045e-307"},
                {0x0010000000000000, "2.2250738585072014e-308"},
                {0x000fffffffffffff, "2.225073858507201e-308"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *v = NULL;
                _cleanup_free_ char *out = NULL;
                double d;
                int r;

                memcpy(&d, &rows[i].bits, sizeof(d));
                v = json_real(d);
                r = json_canonical(v, &out, NULL);
                cr_expect(r == (rows[i].text ? 0 : -ERANGE), "%016" PRIx64 ": %d", rows[i].bits, r);
                if (r == 0)
                        cr_expect(strcmp(out, rows[i].text) == 0, "%016" PRIx64 ": %s, not %s", rows[i].bits, out, rows[i].text);
        }
}

Test(json, canonical_refuses_integers_that_readers_change) {
        static const char *const rows[] = {"9007199254740992", "-9007199254740992", "[{\"a\":9223372036854775807}]", "1e17"};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *v = NULL;
                char *out = NULL;

                cr_assert(parse(rows[i], 99, 9, &v, NULL) == 0);
                cr_expect(json_canonical(v, &out, NULL) == -ERANGE && !out, "%s", rows[i]);
        }
}

/* Doubles of all sizes: a number written in the canonical form is the same number when read, and is written the same again. */
TheoryDataPoints(json, canonical_is_idempotent) = {
        DataPoints(int, -1074, -1023, -1022, -300, -60, -53, -25, -10, -7, -1, 0, 1, 7, 30, 52, 53, 70, 71, 100, 600, 1023),
        DataPoints(uint32_t, 0, 1, 2, 3, 12345, 0x7fffffff, 0x80000000, 0xaaaaaaaa, 0xfffffffe, 0xffffffff),
        DataPoints(int, 0, 1),
};

/* cr_assume would jump over the cleanups. */
Theory((int exponent, uint32_t mantissa, int negative), json, canonical_is_idempotent) {
        double d = ldexp(1.0 + mantissa / 4294967296.0, exponent) * (negative ? -1 : 1);
        _cleanup_json_ json_t *v = isfinite(d) ? json_pack("{s:[f]}", "n", d) : NULL, *again = NULL;
        _cleanup_free_ char *one = NULL, *two = NULL;
        int r = v ? json_canonical(v, &one, NULL) : -ERANGE;

        if (r == -ERANGE) /* by rule for whole numbers beyond 2^53-1 and below 1e21 */
                cr_assert(fabs(d) > 9007199254740991.0 && (fabs(d) < 1e21 || !isfinite(d)));
        else {
                cr_assert(r == 0);
                cr_assert(parse(one, 99, 9, &again, NULL) == 0, "%s", one);
                cr_assert(json_number_value(json_array_get(json_object_get(again, "n"), 0)) == d, "%s", one);
                cr_assert(json_canonical(again, &two, NULL) == 0 && strcmp(one, two) == 0, "%s became %s", one, two);
        }
}

/* A record's integers have one form each. */
Test(json, u64_round_trip) {
        static const uint64_t rows[] = {0, 1, (UINT64_C(1) << 53) - 1, UINT64_C(1) << 53, (UINT64_C(1) << 53) + 1, INT64_MAX,
                                        (uint64_t)INT64_MAX + 1, UINT64_MAX};
        static const char *const bad[] = {"-1", "1.0", "\"0\"", "\"5\"", "\"9007199254740991\"", "9007199254740992", "\"09007199254740992\"",
                                          "\"+9007199254740992\"", "\" 9007199254740992\"", "\"9007199254740992 \"", "\"18446744073709551616\"",
                                          "\"9007199254740992\\u0000\"", "\"\"", "null", "true", "[1]", "\"0x20000000000000\""};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *v = json_u64(rows[i]);
                _cleanup_free_ char *text = NULL;
                uint64_t back = 7;

                cr_expect(json_get_u64(v, &back) == 0 && back == rows[i], "%" PRIu64, rows[i]);
                cr_expect(json_is_integer(v) == (rows[i] <= (uint64_t)JSON_INTEGER_MOST));
                cr_expect(json_canonical(v, &text, NULL) == 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_json_ json_t *v = NULL;
                uint64_t back = 7;

                cr_assert(parse(bad[i], 99, 9, &v, NULL) == 0, "%s", bad[i]);
                cr_expect(json_get_u64(v, &back) == -EINVAL && back == 7, "%s gave %" PRIu64, bad[i], back);
        }
}

// RFC 8785 3.2.2.2: whatever stands around it, a character that must be escaped is, and no other one.
Test(json, canonical_escapes_anywhere) {
        static const struct {
                char c;
                const char *text;
        } rows[] = {{'"', "\\\""}, {'\\', "\\\\"}, {'\n', "\\n"}, {'\b', "\\b"}, {1, "\\u0001"}, {0x1f, "\\u001f"}, {0x7f, "\x7f"}, {' ', " "}, {'!', "!"}, {'#', "#"}};

        for (size_t row = 0; row < ARRAY_SIZE(rows); row++)
                for (size_t n = 1; n < 40; n++)
                        for (size_t at = 0; at < n; at++) {
                                _cleanup_json_ json_t *v = NULL, *o = json_object();
                                _cleanup_free_ char *text = NULL;
                                char s[64], want[128];

                                memset(s, 'x', n);
                                s[at] = rows[row].c;
                                v = json_stringn(s, n);
                                snprintf(want, sizeof(want), "{\"%.*s%s%.*s\":\"%.*s%s%.*s\"}", (int)at, s, rows[row].text, (int)(n - at - 1), s + at + 1, (int)at, s,
                                         rows[row].text, (int)(n - at - 1), s + at + 1);
                                cr_assert_eq(json_object_setn(o, s, n, v), 0);
                                cr_assert_eq(json_canonical(o, &text, NULL), 0);
                                cr_assert_str_eq(text, want);
                        }
}

// What a value held is overwritten when it is freed.
Test(json, what_is_freed_is_overwritten) {
        json_malloc_t take;
        json_free_t give;

        json_wipe_freed();
        json_get_alloc_funcs(&take, &give);
        for (size_t n = 1; n <= 300; n++) {
                char *p = take(n), *q;

                cr_assert(p);
                memset(p, 'k', n);
                give(p);
                q = take(n);
                cr_assert(q);
                for (size_t i = 2 * sizeof(void *); q == p && i < n; i++) /* in front the heap has words of its own */
                        cr_assert_neq(q[i], 'k', "byte %zu of %zu", i, n);
                give(q);
        }
}
