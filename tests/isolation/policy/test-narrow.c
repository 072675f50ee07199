/* Runs: tests. The grant of an object's execution: cut down to the object's trust scope. */
#include "tests/isolation/policy/grant-fixture.h"

#define SEES(x) ",\"reads\":[" x "]"
#define KEEPS(x) ",\"writes\":[" x "]"
#define SUBS(x) ",\"sub_skills\":[" x "]"
#define MEMORY ",\"memory\":[{\"scope\":\"default\",\"read\":[\"memory_substrate\"],\"write\":[\"memory_substrate\"]}]"
#define SCOPE(skills, reads, writes) "{\"skills\":" skills ",\"reads\":" reads ",\"writes\":" writes ",\"depth\":0,\"fanout\":64}"
#define NOTHING SCOPE("[]", "[]", "[]")
#define ALL SCOPE("\"*\"", "\"*\"", "\"*\"")
#define RULE "the scope says so"

/* O-21, O-25 */
static const struct {
        const char *what, *manifest, *scope, *expect, *absent;
} rows[] = {
        {"all", M(SEES("\"a\"") KEEPS("\"b\"") SUBS("\"helper\"") MEMORY ",\"notes\":{\"scope\":\"default\",\"read\":true},\"canon\":true,\"kernels\":true"), ALL,
         "\"reads\":[\"a\"]|\"writes\":[\"b\"]|\"sub_skills\":[\"helper\"]|\"notes\":\"default\"|\"canon\":\"default\"|\"kernels\":\"default\"|\"own_notes\":true|\"reductions\":[]", RULE},
        {"nothing", M(SEES("\"a\"") KEEPS("\"b\"") SUBS("\"helper\"") MEMORY ",\"notes\":{\"scope\":\"default\",\"read\":true},\"canon\":true,\"kernels\":true"), NOTHING,
         "\"reads\":[]|\"writes\":[]|\"sub_skills\":[]|\"memory\":[{\"scope\":\"default\"}]|\"field\":\"/reads\"|\"field\":\"/writes\"|\"field\":\"/sub_skills\"|"
         "\"field\":\"/memory/0/read\"|\"field\":\"/memory/0/write\"|\"field\":\"/notes\"|\"field\":\"/canon\"|\"field\":\"/kernels\"|\"field\":\"/notes/read\"|\"rule\":\"" RULE "\"", "\"notes\":\"default\""},
        {"some", M(SEES("\"a\",\"c\"") KEEPS("\"b\",\"d\"") SUBS("\"helper\",\"other\"")), SCOPE("[\"other\"]", "[\"c\"]", "[\"d\",\"x\"]"),
         "\"reads\":[\"c\"]|\"writes\":[\"d\"]|\"sub_skills\":[\"other\"]|\"asked\":\"a\"|\"asked\":\"b\"|\"asked\":\"helper\"", "\"x\""},
        {"a name in another list", M(SEES("\"a\"") KEEPS("\"b\"")), SCOPE("[\"a\",\"b\"]", "[\"b\"]", "[\"a\"]"), "\"reads\":[]|\"writes\":[]", NULL},
        {"a part of a name", M(KEEPS("\"report\"")), SCOPE("[]", "[]", "[\"rep\",\"reports\"]"), "\"writes\":[]", NULL},
        {"definitions go with their slots", M(KEEPS("\"b\",\"c\"") ",\"slots\":{\"b\":{},\"c\":{}}"), SCOPE("[]", "[]", "[\"b\"]"),
         "\"slots\":[\"b\"]|\"asked\":\"c\",\"field\":\"/slots\"", NULL},
        {"memory is read with every slot alone", M(SEES("\"a\"") MEMORY), SCOPE("[]", "[\"a\"]", "\"*\""),
         "\"field\":\"/memory/0/read\"|\"write\":[\"memory_substrate\"]", "\"read\":[\"memory"},
        {"a scope that says nothing names nothing", M(SEES("\"a\"") KEEPS("\"b\"")), "{}", "\"reads\":[]|\"writes\":[]", NULL},
        {"a scope of another form names nothing", M(SEES("\"a\"") KEEPS("\"b\"")), "{\"reads\":true,\"writes\":{\"b\":1}}", "\"reads\":[]|\"writes\":[]", NULL},
        {"success alone counts", M(",\"commit\":\"any\""), ALL, "\"commit\":\"success\"", NULL},
};

Test(narrow, to_a_trust_scope, .init = setup, .fini = teardown) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const Case c = {.what = rows[i].what, .manifest = rows[i].manifest};
                _cleanup_free_ char *record = NULL, *pieces = strdup(rows[i].expect);
                _cleanup_json_ json_t *j = NULL, *scope = NULL;
                _cleanup_grant_ Grant g = {0};
                char *at = NULL;
                Diag d = {0};

                cr_assert_eq(make(&c, &g, &d), 0, "%s: %s", c.what, d.text);
                cr_assert_eq(json_parse(rows[i].scope, strlen(rows[i].scope), 4096, JSON_DEPTH_DEFAULT, &scope, &d), 0, "%s", d.text);
                cr_assert_eq(grant_narrow(&g, scope, RULE, &d), 0, "%s: %s", c.what, d.text);
                j = grant_to_json(&g);
                cr_assert_eq(json_canonical(j, &record, NULL), 0);
                for (char *s = strtok_r(pieces, "|", &at); s; s = strtok_r(NULL, "|", &at))
                        cr_expect(strstr(record, s), "%s: no %s in %s", c.what, s, record);
                cr_expect(!rows[i].absent || !strstr(record, rows[i].absent), "%s: %s in %s", c.what, rows[i].absent, record);
        }
}

Test(narrow, a_gate_needs_its_slot, .init = setup, .fini = teardown) { // O-15, O-21
        static const struct {
                const char *scope;
                int code;
        } gates[] = {{SCOPE("[]", "[]", "[]"), GRANT_E_GATE}, {SCOPE("[]", "[\"ok\"]", "[]"), 0}};

        for (size_t i = 0; i < ARRAY_SIZE(gates); i++) {
                _cleanup_json_ json_t *scope = NULL;
                _cleanup_grant_ Grant g = {0};
                Diag d = {0};

                cr_assert_eq(make(&(Case){.what = "gate", .manifest = M(SEES("\"ok\"") ",\"gates\":[{\"slot\":\"ok\",\"schema\":{}}]")}, &g, &d), 0, "%s", d.text);
                cr_assert_eq(json_parse(gates[i].scope, strlen(gates[i].scope), 4096, JSON_DEPTH_DEFAULT, &scope, &d), 0);
                cr_expect_eq(grant_narrow(&g, scope, RULE, &d), gates[i].code, "row %zu: %s", i, d.text);
                cr_expect(gates[i].code == 0 || (strstr(d.text, "slot ok") && strstr(d.text, RULE)), "%s", d.text);
        }
}

Test(policy, has_a_reference) { // O-5: entries name the policy that was in force
        _cleanup_policy_ Policy *a = NULL, *b = NULL, *same = NULL;
        const char *one = P(""), *two = P(",\"max_regions\":5");
        Diag d = {0};

        cr_assert_eq(policy_parse(one, strlen(one), "a.json", &a, &d) ?: policy_parse(two, strlen(two), "b.json", &b, &d) ?:
                     policy_parse(one, strlen(one), "c.json", &same, &d), 0, "%s", d.text);
        cr_expect(strncmp(a->ref, "sha256:", 7) == 0 && strlen(a->ref) == 71, "%s", a->ref);
        cr_expect_str_neq(a->ref, b->ref);
        cr_expect_str_eq(a->ref, same->ref);
}
