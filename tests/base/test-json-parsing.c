/* The published tests of JSON parsers (tests/data/json-parsing) against json_parse. */
#include "base/io.h"
#include "base/json.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

/* Texts that RFC 8259 allows and that are refused on purpose: I-JSON (RFC 7493 2.3) wants keys once, and our keys are C strings. */
static const struct {
        const char *name;
        int code;
} refused[] = {
        {"y_object_duplicated_key.json", JSON_E_DUPLICATE},
        {"y_object_duplicated_key_and_value.json", JSON_E_DUPLICATE},
        {"y_object_escaped_null_in_key.json", JSON_E_SYNTAX},
};

static int wanted(const char *name) {
        for (size_t i = 0; i < ARRAY_SIZE(refused); i++)
                if (strcmp(name, refused[i].name) == 0)
                        return refused[i].code;
        return 0;
}

/* What is accepted can be written and read again, whatever the file's first letter. */
static void check_round_trip(const char *name, const json_t *v) {
        _cleanup_free_ char *text = NULL, *again_text = NULL;
        _cleanup_json_ json_t *again = NULL;
        size_t n, n_again;
        int r = json_canonical(v, &text, &n);

        if (r == -ERANGE)
                return;
        cr_assert(r == 0, "%s: canonical: %d", name, r);
        cr_assert(json_parse(text, n, n, 600, &again, NULL) == 0, "%s: %s cannot be read", name, text);
        cr_assert(json_canonical(again, &again_text, &n_again) == 0 && n == n_again && memcmp(text, again_text, n) == 0,
                  "%s: %s became %s", name, text, again_text);
}

/* The quick reader takes nothing that the other refuses or that is not canonical. */
static void check_plain(const char *name, const char *text, size_t n, const json_t *v) {
        _cleanup_json_ json_t *plain = NULL;
        _cleanup_free_ char *canonical = NULL;
        size_t n_canonical;

        if (json_parse_plain(text, n, 600, &plain) != 0)
                return;
        cr_assert(v != NULL && json_equal(plain, (json_t *)v), "%s: read as another value", name);
        cr_assert(json_canonical(v, &canonical, &n_canonical) == 0 && n == n_canonical && memcmp(text, canonical, n) == 0, "%s: is not canonical", name);
}

/* Rows of what it takes and what it leaves, which the published tests have few of. */
Test(json, plain) {
        static const char *const taken[] = {"{}", "[]", "{\"a\":1,\"b\":[true,false,null,\"x\"]}", "-1", "0", "9007199254740991", "-9007199254740991", "\"\"", "{\"\":1,\"a\":{\"a\":2}}",
                                            "{\"a\":1,\"aa\":1,\"ab\":1,\"b\":1}", "[[[]]]"};
        static const char *const left[] = {"", " 1", "1 ", "01", "-0", "-", "1.5", "1e3", "9007199254740992", "99999999999999999999", "{\"b\":1,\"a\":1}", "{\"a\":1,\"a\":1}", "{\"aa\":1,\"a\":1}",
                                           "[1,]", "[,1]", "[1 ,2]", "{\"a\":1,}", "{\"a\"}", "{\"a\":}", "[", "{", "]", "\"a", "\"\\n\"", "\"\xc3\xa9\"", "\"\x7f\"", "\"\n\"", "tru", "nul", "[[[[]]]]", "1]", "{,\"a\":1}", "[1}"};

        for (size_t i = 0; i < ARRAY_SIZE(taken); i++) {
                _cleanup_json_ json_t *v = NULL, *plain = NULL;

                cr_expect(json_parse_plain(taken[i], strlen(taken[i]), 3, &plain) == 0, "%s", taken[i]);
                cr_assert(json_parse(taken[i], strlen(taken[i]), 100, 3, &v, NULL) == 0);
                check_plain(taken[i], taken[i], strlen(taken[i]), v);
        }
        for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
                json_t *v = NULL;

                cr_expect(json_parse_plain(left[i], strlen(left[i]), 3, &v) > 0 && !v, "%s", left[i]);
        }
}

Test(json, published_tests_of_parsers) {
        unsigned count[128] = {0};
        char path[4096];
        struct dirent *e;
        DIR *d;

        cr_assert(getenv("LETHE_TEST_DATA") != NULL);
        snprintf(path, sizeof(path), "%s/json-parsing", getenv("LETHE_TEST_DATA"));
        d = opendir(path);
        cr_assert(d != NULL, "%s cannot be read", path);
        while ((e = readdir(d))) {
                _cleanup_free_ char *text = NULL;
                _cleanup_json_ json_t *v = NULL;
                Diag why = {0};
                size_t n;
                int r;

                if (!strstr(e->d_name, ".json"))
                        continue;
                cr_assert(io_read_file(dirfd(d), e->d_name, 1 << 20, &text, &n) == 0);
                r = json_parse(text, n, 1 << 20, 600, &v, &why);
                cr_expect(r >= 0, "%s: %d", e->d_name, r);
                cr_expect((r == 0) == !*why.text, "%s: %d with message \"%s\"", e->d_name, r, why.text);
                if (*e->d_name == 'y')
                        cr_expect(r == wanted(e->d_name), "%s: %d %s", e->d_name, r, why.text);
                if (*e->d_name == 'n')
                        cr_expect(r != 0, "%s was accepted", e->d_name);
                if (r == 0)
                        check_round_trip(e->d_name, v);
                check_plain(e->d_name, text, n, v);
                count[*e->d_name & 127]++;
        }
        closedir(d);
        cr_expect(count['y'] == 95 && count['n'] == 188 && count['i'] == 35, "%u y, %u n, %u i", count['y'], count['n'], count['i']);
}

/* A member is found where a reader of all of it finds it, and nowhere else. */
Test(json_parsing, one_member_of_our_own) {
        static const struct {
                const char *text, *name, *value; /* NULL: there is none */
                int r;
        } rows[] = {
                {"{\"a\":1,\"state\":\"open\"}", "state", "\"open\"", 0},
                {"{\"a\":\"\\\"state\\\":1,\",\"state\":\"open\",\"z\":[]}", "state", "\"open\"", 0},
                {"{\"a\":{\"state\":1},\"b\":[{\"state\":2},\"]\"],\"state\":3}", "state", "3", 0},
                {"{\"state\":[1,{\"a\":\"}\"}]}", "state", "[1,{\"a\":\"}\"}]", 0},
                {"{\"a\":1,\"b\":{\"state\":1}}", "state", NULL, -ENOENT},
                {"{\"astate\":1,\"stat\":2,\"statement\":3}", "state", NULL, -ENOENT},
                {"{}", "state", NULL, -ENOENT},
                {"{", "state", NULL, JSON_E_SYNTAX},
                {"", "state", NULL, JSON_E_SYNTAX},
                {"[\"state\",1]", "state", NULL, JSON_E_SYNTAX},
                {"{\"a\":1,", "state", NULL, JSON_E_SYNTAX},
                {"{\"state\":\"op", "state", NULL, JSON_E_SYNTAX},
                {"{\"state\":\"op\\", "state", NULL, JSON_E_SYNTAX},
                {"{\"state\":}", "state", NULL, JSON_E_SYNTAX},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                size_t n = strlen(rows[i].text), n_value = 0;
                char *exact = malloc(n + 1); /* a step beyond the end is noticed by sanitizers */
                const char *value = NULL;

                memcpy(exact, rows[i].text, n);
                exact = realloc(exact, MAX(n, 1U));
                cr_expect_eq(json_member_own(exact, n, rows[i].name, &value, &n_value), rows[i].r, "%s", rows[i].text);
                if (rows[i].value)
                        cr_expect(value && n_value == strlen(rows[i].value) && memcmp(value, rows[i].value, n_value) == 0, "%s", rows[i].text);
                free(exact);
        }
}
