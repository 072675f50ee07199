/* Runs: tests. */
#include "region/region-denial.h"

#include "base/clock.h"
#include "base/id.h"
#include "region/region-section.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static void add(Denials *d, const char *op, const char *object) {
        cr_assert_eq(denials_add(d, "path", op, object, strlen(object), NULL), 0);
}

Test(denial, the_same_thing_is_counted_not_listed_again) {
        Denials d = {};

        add(&d, "open", "/etc/shadow");
        add(&d, "open", "/etc/shadow");
        add(&d, "unlink", "/etc/shadow");
        cr_assert_eq(d.n, 2);
        cr_assert_eq(d.v[0].count, 2);
        cr_assert_eq(d.v[1].count, 1);
        cr_assert_eq(d.total, 3);
        denials_deinit(&d);
}

Test(denial, the_list_is_bounded_and_the_rest_is_counted) {
        _cleanup_json_ json_t *o = NULL;
        json_t *last;
        Denials d = {};
        char object[32];

        for (int i = 0; i < DENIALS_MAX + 10; i++) {
                snprintf(object, sizeof(object), "/file/%d", i);
                add(&d, "open", object);
        }
        o = denials_to_json(&d, SIZE_MAX);
        cr_assert_eq(json_array_size(o), DENIALS_MAX + 1);
        last = json_array_get(o, DENIALS_MAX);
        cr_assert_str_eq(json_string_value(json_object_get(last, "rule")), "others");
        cr_assert_eq(json_integer_value(json_object_get(last, "count")), 10);
        cr_assert(json_is_null(json_object_get(last, "allow_with")));
        denials_deinit(&d);
}

Test(denial, text_is_bounded_and_no_denial_is_lost_from_the_count) {
        Denials d = {};
        char object[64];
        json_int_t count = 0;

        for (int i = 0; i < 100; i++) {
                snprintf(object, sizeof(object), "/a/rather/long/path/of/a/file/%d", i);
                add(&d, "open", object);
                add(&d, "open", object);
        }
        for (size_t max = 0; max < 20000; max += 997) {
                _cleanup_json_ json_t *o = denials_to_json(&d, max);
                char *text = json_dumps(o, JSON_COMPACT | JSON_ENSURE_ASCII);

                cr_assert_leq(strlen(text), max + 200, "max %zu: %zu", max, strlen(text)); /* the entry for the rest comes on top */
                count = 0;
                for (size_t i = 0; i < json_array_size(o); i++)
                        count += json_integer_value(json_object_get(json_array_get(o, i), "count"));
                cr_assert_eq(count, 200);
                free(text);
        }
        denials_deinit(&d);
}

Test(denial, hostile_objects_become_text) {
        static const char *const rows[] = {"\xff\xfe", "/x\n\x1b[2Jy", "/caf\xc3\xa9", ""};
        Denials d = {};
        char big[5000];

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                add(&d, "open", rows[i]);
        memset(big, 'a', sizeof(big));
        cr_assert_eq(denials_add(&d, "path", "open", big, sizeof(big), "\"files\": []"), 0);
        cr_assert_null(d.v[4].allow_with, "a line with a cut path would allow something else");
        cr_assert_eq(denials_add(&d, "path", "open", "a\0b", 3, NULL), 0);
        cr_assert_str_eq(d.v[2].object, "/caf\xc3\xa9");
        json_t *o = denials_to_json(&d, SIZE_MAX);
        cr_assert_eq(json_array_size(o), 6);
        json_decref(o);
        denials_deinit(&d);
}

Test(denial, the_manifest_line_is_a_member_of_lethe_json) {
        static const struct {
                const char *path, *want;
                bool write;
        } rows[] = {
                {"/etc/shadow", "\"files\": [{\"path\": \"/etc/shadow\", \"access\": \"read\"}]", false},
                {"/srv/a\"b", "\"files\": [{\"path\": \"/srv/a\\\"b\", \"access\": \"write\"}]", true},
                {"relative", NULL, false},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char *s = denial_allow_file(rows[i].path, rows[i].write);

                if (rows[i].want)
                        cr_assert_str_eq(s, rows[i].want);
                else
                        cr_assert_null(s);
                free(s);
        }
        char *s = denial_allow_connect("1.2.3.4:443");
        cr_assert_str_eq(s, "\"network\": {\"connect\": [\"1.2.3.4:443\"]}");
        free(s);
}

// I-10, I-11: what a program tries to open is recorded, and so could be a way for its key to get into the ledger.
Test(denial, keys_are_withheld) {
        char region[REGION_ID_MAX], key[KEY_TEXT_BYTES + 1], path[100];
        _cleanup_free_ char *text = NULL;
        _cleanup_json_ json_t *list = NULL;
        Denials d = {};
        Diag why = {};
        Vault *v;

        cr_assert_eq(region_id_new(clock_real_usec(), region), 0);
        cr_assert_eq(vault_new(region, KEY_SCOPE_INVOCATION, NULL, NULL, &v, &why), 0, "%s", why.text);
        cr_assert(vault_hand_over(v, v, key));
        snprintf(path, sizeof(path), "/%s", key);
        denials_add(&d, "path", "open", path, strlen(path), "a line with the path in it");
        denials_add(&d, "path", "open", "/etc/shadow", 11, NULL);
        list = denials_to_json(&d, SIZE_MAX);
        text = json_dumps(list, 0);
        cr_assert(!strstr(text, key) && strstr(text, "withheld") && strstr(text, "/etc/shadow") && !strstr(text, "a line"), "%s", text);
        denials_deinit(&d);
        vault_free(v);
}
