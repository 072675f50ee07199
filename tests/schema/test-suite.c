/* The published tests of JSON Schema draft 2020-12 (tests/data/json-schema). A group of tests may be left out only when its schema
 * uses something outside the subset, and then compiling it must be refused with the code for just that. */
#include "base/json.h"
#include "schema/jsonschema.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <stdio.h>
#include <string.h>

/* What is outside the subset, and how a schema that has it is refused. */
static const char *const unclaimed[] = {
        "$anchor", "$dynamicAnchor", "$dynamicRef", "$id", "$vocabulary", "contentEncoding", "contentMediaType", "contentSchema",
        "unevaluatedItems", "unevaluatedProperties",
};

enum { USES_KEYWORD = 1 << 0, USES_REF = 1 << 1, USES_DIALECT = 1 << 2 };

static unsigned uses(const json_t *v) {
        unsigned found = 0;
        const char *key;
        json_t *item;

        for (size_t i = 0; i < json_array_size(v); i++)
                found |= uses(json_array_get(v, i));
        json_object_foreach((json_t *)v, key, item) {
                const char *text = json_string_value(item);

                for (size_t i = 0; i < ARRAY_SIZE(unclaimed); i++)
                        if (strcmp(key, unclaimed[i]) == 0)
                                found |= USES_KEYWORD;
                if (text && strcmp(key, "$ref") == 0 && strcmp(text, "#") != 0 && strncmp(text, "#/", 2) != 0)
                        found |= USES_REF;
                if (text && strcmp(key, "$schema") == 0 && strcmp(text, "https://json-schema.org/draft/2020-12/schema") != 0)
                        found |= USES_DIALECT;
                found |= uses(item);
        }
        return found;
}

typedef struct Count {
        unsigned tests, groups, left_out;
} Count;

static void check_group(const char *file, const json_t *group, Count *count) {
        const char *name = json_string_value(json_object_get(group, "description"));
        const json_t *schema = json_object_get(group, "schema"), *tests = json_object_get(group, "tests");
        _cleanup_jsonschema_ JsonSchema *s = NULL;
        Diag why = {0};
        int r = jsonschema_compile(schema, &s, &why);

        count->groups++;
        if (r != 0) {
                unsigned used = uses(schema);

                cr_assert((r == JSONSCHEMA_E_UNKNOWN_KEYWORD && used & USES_KEYWORD) || (r == JSONSCHEMA_E_REF && used & USES_REF) ||
                                  (r == JSONSCHEMA_E_BAD_KEYWORD && used & USES_DIALECT),
                          "%s [%s]: refused with %d: %s", file, name, r, why.text);
                fprintf(stderr, "left out: %s [%s]: %s\n", file, name, why.text);
                count->left_out++;
                return;
        }
        for (size_t i = 0; i < json_array_size(tests); i++) {
                const json_t *test = json_array_get(tests, i);
                const char *what = json_string_value(json_object_get(test, "description"));
                bool valid = json_is_true(json_object_get(test, "valid"));

                why.text[0] = 0;
                r = jsonschema_validate(s, json_object_get(test, "data"), &why);
                cr_assert(r == (valid ? 0 : JSONSCHEMA_E_INVALID), "%s [%s] %s: wanted %s, got %d %s", file, name, what,
                          valid ? "valid" : "invalid", r, why.text);
                cr_assert(valid == !*why.text, "%s [%s] %s: message \"%s\"", file, name, what, why.text);
                count->tests++;
        }
}

Test(jsonschema, published_tests) {
        Count count = {0};
        char path[4096];
        struct dirent *e;
        DIR *d;

        cr_assert(getenv("LETHE_TEST_DATA") != NULL);
        snprintf(path, sizeof(path), "%s/json-schema", getenv("LETHE_TEST_DATA"));
        d = opendir(path);
        cr_assert(d != NULL, "%s cannot be read", path);
        while ((e = readdir(d))) {
                _cleanup_json_ json_t *groups = NULL;
                json_error_t err;

                if (!strstr(e->d_name, ".json"))
                        continue;
                snprintf(path, sizeof(path), "%s/json-schema/%s", getenv("LETHE_TEST_DATA"), e->d_name);
                groups = json_load_file(path, JSON_ALLOW_NUL, &err);
                cr_assert(groups != NULL, "%s: %s", path, err.text);
                for (size_t i = 0; i < json_array_size(groups); i++)
                        check_group(e->d_name, json_array_get(groups, i), &count);
        }
        closedir(d);
        fprintf(stderr, "%u tests pass; %u of %u groups are left out\n", count.tests, count.left_out, count.groups);
        cr_assert(count.tests == 942 && count.groups == 383 && count.left_out == 144, "%u tests, %u groups, %u left out", count.tests,
                  count.groups, count.left_out);
}
