/* Runs: tests. schema/manifest.md and schema/policy.md are true: their examples are accepted, and their numbers are the program's. */
#include "manifest/lint.h"
#include "policy/policy.h"
#include "tests/isolation/manifest/documents.h"

#include <stdlib.h>

static char *read_doc(const char *name) {
        char path[4096], *text;
        size_t n;

        snprintf(path, sizeof(path), "%s/%s", getenv("LETHE_SCHEMA_DIR"), name);
        cr_assert_eq(io_read_file(AT_FDCWD, path, 1 << 20, &text, &n), 0, "%s", path);
        return text;
}

/* Cuts the next example out of the text; NULL at the end. */
static char *next_example(char **at) {
        char *start = strstr(*at, "```json\n"), *end;

        if (!start)
                return NULL;
        start += 8;
        end = strstr(start, "```");
        cr_assert(end);
        *end = 0;
        *at = end + 3;
        return start;
}

Test(docs, examples_of_lethe_json) {
        _cleanup_jsonschema_ JsonSchema *schema = published_schema("lethe.schema.json");
        _cleanup_free_ char *text = read_doc("manifest.md");
        char *at = text, *example;
        int n = 0;

        for (; (example = next_example(&at)); n++) {
                _cleanup_findings_ Findings f = {0};
                _cleanup_(manifest_deinit) Manifest m = {0};

                cr_assert_eq(manifest_parse(example, strlen(example), -1, NULL, &m, &f), 0);
                cr_expect_eq(f.n, 0, "%s: %s %s", example, f.n ? f.v[0].pointer : "", f.n ? f.v[0].message : "");
                agree(schema, &(Document){example, example}, true);
        }
        cr_expect_eq(n, 23);
}

Test(docs, examples_of_the_policy) {
        _cleanup_jsonschema_ JsonSchema *schema = published_schema("policy.schema.json");
        _cleanup_free_ char *text = read_doc("policy.md");
        char *at = text, *example;
        int n = 0;

        for (; (example = next_example(&at)); n++) {
                _cleanup_policy_ Policy *p = NULL;
                Diag d = {0};

                cr_expect_eq(policy_parse(example, strlen(example), "p", &p, &d), 0, "%s: %s", example, d.text);
                agree(schema, &(Document){example, example}, true);
        }
        cr_expect_eq(n, 23);
}

Test(docs, table_of_budgets) {
        _cleanup_free_ char *text = read_doc("manifest.md");

        for (size_t i = 0; i < BUDGET_FIELDS; i++) {
                const BudgetField *f = &budget_fields[i];
                char row[512], standard[BUDGET_TEXT_MAX], least[BUDGET_TEXT_MAX], most[BUDGET_TEXT_MAX];

                snprintf(row, sizeof(row), "\n| `%s` | `--%s` | %s | %s | %s | %s | ", f->name, f->option,
                         f->unit == UNIT_BYTES ? "bytes" : f->unit == UNIT_USEC ? "time" : f->unit == UNIT_MILLI ? "processors" : "count", budget_format(f, f->standard, standard),
                         budget_format(f, f->least, least), budget_format(f, f->most, most));
                cr_expect(strstr(text, row), "manifest.md has no row %s", row);
        }
}

/* The weights of manifest.md, and that the parts explain the sum. */
Test(docs, exposure) {
        static const struct {
                const char *what, *text;
                int score;
                const char *level;
        } cases[] = {
                {"nothing", "", 0, "low"},
                {"network", ",\"network\":\"host\"", 40, "high"},
                {"addresses", ",\"network\":{\"connect\":[\"127.0.0.1:1\",\"127.0.0.1:2\"]}", 9, "low"},
                {"a file to read", ",\"files\":[{\"path\":\"/srv/x\",\"access\":\"read\"}]", 5, "low"},
                {"a folder at the top to write", ",\"files\":[{\"path\":\"/srv\",\"access\":\"write\"}]", 35, "medium"},
                {"slots", ",\"reads\":[\"a\"],\"writes\":[\"a\",\"b\"]", 5, "low"},
                {"budgets", ",\"budgets\":{\"memory\":\"129m\",\"wall\":\"8m\"}", 7, "low"},
                {"budgets at the default", ",\"budgets\":{\"memory\":\"128m\"}", 0, "low"},
                {"the end of a region",
                 ",\"teardown\":{\"discipline\":\"none\"},\"lineage\":\"stats\",\"key_scope\":\"invocation-tree\",\"sub_skills\":[\"a\"]", 32, "medium"},
                {"resources", ",\"entry\":{\"r\":[\"r\"]},\"resources\":[\"a\",\"b\"],\"release\":[{\"entry\":\"r\"}]", 4, "low"},
                {"small things", ",\"proc\":true,\"min_tier\":\"landlock\",\"report\":\"calls\"", 20, "medium"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
                _cleanup_findings_ Findings f = {0};
                _cleanup_json_ json_t *e = NULL;
                Skill s = {0};
                char text[512];
                int n = snprintf(text, sizeof(text), "{\"version\":1%s}", cases[i].text), sum = 0;

                cr_assert_eq(manifest_parse(text, (size_t)n, -1, NULL, &s.manifest, &f), 0);
                cr_assert_eq(f.n, 0, "%s", f.n ? f.v[0].message : "");
                e = skill_exposure(&s);
                cr_expect_eq(json_integer_value(json_object_get(e, "score")), cases[i].score, "%s", cases[i].what);
                cr_expect_str_eq(json_string_value(json_object_get(e, "level")), cases[i].level, "%s", cases[i].what);
                for (size_t k = 0; k < json_array_size(json_object_get(e, "parts")); k++)
                        sum += (int)json_integer_value(json_object_get(json_array_get(json_object_get(e, "parts"), k), "points"));
                cr_expect_eq(sum, cases[i].score, "%s: the parts explain the score", cases[i].what);
                manifest_deinit(&s.manifest);
        }
}
