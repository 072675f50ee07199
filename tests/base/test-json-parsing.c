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
                count[*e->d_name & 127]++;
        }
        closedir(d);
        cr_expect(count['y'] == 95 && count['n'] == 188 && count['i'] == 35, "%u y, %u n, %u i", count['y'], count['n'], count['i']);
}
