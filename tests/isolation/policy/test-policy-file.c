/* Runs: tests. The operator's policy file: every field, good and bad; the published schema agrees; where the file is looked for. */
#include "policy/policy.h"
#include "tests/isolation/manifest/documents.h"
#include "tests/support/temp.h"

#include <sys/stat.h>

#define V "{\"version\":1"
#define AT(field, value, where) {field " " value, V ",\"" field "\":" value "}", where, false}
#define BEYOND(field, value, where) {field " " value, V ",\"" field "\":" value "}", where, true}
#define DIGEST "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static const Document documents[] = {
        {"smallest", V "}", NULL},
        AT("$schema", "\"x\"", NULL),
        AT("max", "{\"memory\":\"64m\",\"wall\":10,\"processes\":8}", NULL),
        AT("min_tier", "\"namespaces\"", NULL),
        AT("network", "{}", NULL),
        AT("network", "{\"connect\":[\"127.0.0.1:80\"],\"host\":false}", NULL),
        AT("files", "[]", NULL),
        AT("memory", "[]", NULL),
        AT("belief", "{}", NULL),
        AT("belief", "{\"notes\":[],\"canon\":[\"a\",\"b\"],\"kernels\":[\"default\"],\"own_notes\":false}", NULL),
        AT("skills", "{\"a\":{\"digest\":\"" DIGEST "\",\"belief\":{\"kernels\":[]}}}", NULL),
        AT("digest", "[]", NULL),
        AT("digest", "[{\"scope\":\"default\",\"archive\":[\"broken_ref\",\"unsupported_since\"],\"remove\":[]},{\"scope\":\"a\"}]", NULL),
        AT("memory", "[{\"scope\":\"a\",\"delete\":[\"memory_substrate\"]}]", NULL),
        AT("skills", "{\"a\":{\"digest\":\"" DIGEST "\",\"memory\":[]}}", NULL),
        AT("files", "[{\"path\":\"/\",\"access\":\"read\"},{\"path\":\"/srv/../srv-not\",\"access\":\"read\"}]", "/files/1/path"),
        AT("files", "[{\"path\":\"/nowhere/at/all\",\"access\":\"write\"}]", NULL),
        AT("max_regions", "1", NULL),
        /* */
        AT("layers", "{}", NULL),
        AT("layers", "{\"keep\": 1, \"age\": \"1h\", \"bytes\": \"1g\"}", NULL),
        AT("layers", "{\"keep\": 0}", "/layers/keep"),
        BEYOND("layers", "{\"age\": \"1m\"}", "/layers/age"),
        BEYOND("layers", "{\"bytes\": \"none\"}", "/layers/bytes"),
        /* G-63 */
        AT("pending", "{}", NULL),
        AT("pending", "{\"age\": \"1h\", \"commits\": 1}", NULL),
        AT("pending", "{\"age\": \"87600h\", \"commits\": 1000000000}", NULL),
        AT("pending", "[]", "/pending"),
        AT("pending", "{\"days\": 1}", "/pending/days"),
        BEYOND("pending", "{\"age\": \"59m\"}", "/pending/age"),
        BEYOND("pending", "{\"age\": \"87601h\"}", "/pending/age"),
        AT("pending", "{\"commits\": 0}", "/pending/commits"),
        AT("pending", "{\"commits\": \"1\"}", "/pending/commits"),
        /* G-71 */
        AT("pending", "{\"least\": {}}", NULL),
        AT("pending", "{\"least\": {\"plan\": 1, \"issues\": 1000, \"learnings\": 950}}", NULL),
        AT("pending", "{\"least\": 950}", "/pending/least"),
        AT("pending", "{\"least\": {\"issue\": 950}}", "/pending/least/issue"),
        AT("pending", "{\"least\": {\"issues\": 0}}", "/pending/least/issues"),
        AT("pending", "{\"least\": {\"issues\": 1001}}", "/pending/least/issues"),
        AT("pending", "{\"least\": {\"issues\": 0.95}}", "/pending/least/issues"),
        /* I-85 */
        AT("max_sessions", "1", NULL),
        AT("max_sessions", "100000", NULL),
        AT("max_sessions", "0", "/max_sessions"),
        AT("max_sessions", "\"9\"", "/max_sessions"),
        AT("bounds", "{\"session_idle\":{\"floor\":\"100ms\",\"ceiling\":\"24h\"}}", NULL),
        BEYOND("bounds", "{\"session_idle\":{\"ceiling\":\"25h\"}}", "/bounds/session_idle/ceiling"),
        BEYOND("bounds", "{\"session_idle\":{\"floor\":\"2m\",\"ceiling\":\"1m\"}}", "/bounds/session_idle"),
        /* O-15, O-25 */
        AT("objects", "{}", NULL),
        AT("objects", "{\"max\":1,\"depth\":0,\"fanout\":0,\"actions\":[],\"on_denied\":\"terminate\"}", NULL),
        AT("objects", "{\"max\":100000000,\"depth\":16,\"fanout\":1024,\"on_denied\":\"dormant\"}", NULL),
        AT("objects", "{\"actions\":[\"execution\",\"mutation\",\"delegation\",\"dormancy\",\"reentry\",\"termination\"]}", NULL),
        AT("objects", "[]", "/objects"),
        AT("objects", "{\"most\":1}", "/objects/most"),
        AT("objects", "{\"max\":0}", "/objects/max"),
        AT("objects", "{\"max\":100000001}", "/objects/max"),
        AT("objects", "{\"max\":\"9\"}", "/objects/max"),
        AT("objects", "{\"depth\":17}", "/objects/depth"),
        AT("objects", "{\"depth\":-1}", "/objects/depth"),
        AT("objects", "{\"fanout\":1025}", "/objects/fanout"),
        AT("objects", "{\"fanout\":1.5}", "/objects/fanout"),
        AT("objects", "{\"actions\":\"all\"}", "/objects/actions"),
        AT("objects", "{\"actions\":[\"execution\",\"creation\"]}", "/objects/actions/1"),
        AT("objects", "{\"actions\":[\"reentry\",\"reentry\"]}", "/objects/actions/1"),
        AT("objects", "{\"on_denied\":\"end\"}", "/objects/on_denied"),
        AT("objects", "{\"on_denied\":true}", "/objects/on_denied"),
        /* I-73 */
        AT("bounds", "{}", NULL),
        AT("bounds", "{\"discipline\":{\"floor\":\"zero\",\"ceiling\":\"multipass:16\"},\"lineage\":{\"floor\":\"stats\"},\"key_scope\":{\"ceiling\":\"invocation\"}}", NULL),
        AT("bounds", "{\"cancel_bound\":{\"floor\":\"10ms\",\"ceiling\":\"60s\"},\"callbacks\":{\"floor\":0,\"ceiling\":16},\"embodiment\":{\"floor\":\"process\"},\"commit\":{}}", NULL),
        AT("skills", "{\"a\":{\"bounds\":{\"commit\":{\"floor\":\"success\"}}}}", NULL),
        AT("bounds", "[]", "/bounds"),
        AT("bounds", "{\"memory\":{}}", "/bounds/memory"),
        AT("bounds", "{\"lineage\":\"events\"}", "/bounds/lineage"),
        AT("bounds", "{\"lineage\":{\"least\":\"events\"}}", "/bounds/lineage/least"),
        AT("bounds", "{\"lineage\":{\"floor\":\"all\"}}", "/bounds/lineage/floor"),
        AT("bounds", "{\"discipline\":{\"ceiling\":\"multipass:17\"}}", "/bounds/discipline/ceiling"),
        BEYOND("bounds", "{\"cancel_bound\":{\"floor\":\"61s\"}}", "/bounds/cancel_bound/floor"),
        AT("bounds", "{\"cancel_bound\":{\"floor\":1}}", "/bounds/cancel_bound/floor"),
        AT("bounds", "{\"callbacks\":{\"ceiling\":17}}", "/bounds/callbacks/ceiling"),
        BEYOND("bounds", "{\"lineage\":{\"floor\":\"handles\",\"ceiling\":\"stats\"}}", "/bounds/lineage"),
        AT("concurrency", "{\"*\":4,\"a-skill\":1}", NULL),
        AT("pool", "{\"skills\":{\"*\":0,\"a-skill\":256},\"memory\":\"64m\",\"idle\":\"10s\"}", NULL),
        AT("clients", "[]", NULL),
        AT("clients", "[{\"uid\":1000},{\"uid\":4294967294,\"skills\":[]},{\"uid\":7,\"skills\":[\"a-skill\"]}]", NULL),
        AT("skills", "{\"a\":{},\"b-2\":{\"digest\":\"" DIGEST "\",\"network\":{\"host\":true},\"files\":[]}}", NULL),
        AT("skills", "{\"a\":{\"max\":{\"memory\":\"1m\"},\"min_tier\":\"landlock\"}}", NULL),

        AT("skills", "{\"a\":{\"digest\":\"" DIGEST "\",\"trusted\":true},\"b\":{\"trusted\":false}}", NULL),
        {"empty", "", ""},
        {"not JSON", "version = 1", ""},
        {"duplicate key", V ",\"max_regions\":1,\"max_regions\":9}", ""},
        {"duplicate skill", V ",\"skills\":{\"a\":{},\"a\":{}}}", ""},
        {"not UTF-8", V ",\"skills\":{\"\xff\":{}}}", ""},
        {"no version", "{\"max\":{}}", "/version"},
        {"version 2", "{\"version\":2}", "/version"},
        AT("maximum", "{}", "/maximum"),
        BEYOND("max", "{\"memory\":\"0\"}", "/max/memory"),
        AT("max", "{\"memoria\":1}", "/max/memoria"),
        AT("min_tier", "\"any\"", "/min_tier"),
        AT("network", "\"host\"", "/network"),
        AT("network", "{\"host\":\"yes\"}", "/network/host"),
        AT("network", "{\"connect\":[\"localhost:80\"]}", "/network/connect/0"),
        AT("network", "{\"publish\":[\"127.0.0.1:0\",\"127.0.0.1:8000-8999\",\"[::1]:1\"]}", NULL), /* */
        AT("network", "{\"publish\":\"127.0.0.1:80\"}", "/network/publish"),
        AT("network", "{\"publish\":[\"localhost:80\"]}", "/network/publish/0"),
        AT("network", "{\"publish\":[\"127.0.0.1\"]}", "/network/publish/0"),
        AT("network", "{\"publish\":[\"127.0.0.1:8080:80\"]}", "/network/publish/0"),
        BEYOND("network", "{\"publish\":[\"127.0.0.1:65536\"]}", "/network/publish/0"),
        BEYOND("network", "{\"publish\":[\"127.0.0.1:9-8\"]}", "/network/publish/0"),
        AT("files", "[\"/srv\"]", "/files/0"),
        AT("memory", "true", "/memory"),
        AT("belief", "true", "/belief"),
        AT("belief", "{\"notes\":\"a\"}", "/belief/notes"),
        AT("belief", "{\"canon\":[\"A\"]}", "/belief/canon/0"),
        AT("belief", "{\"kernels\":[\"a\",\"a\"]}", "/belief/kernels/1"),
        AT("belief", "{\"own_notes\":1}", "/belief/own_notes"),
        AT("skills", "{\"a\":{\"belief\":{}}}", "/skills/a"),
        AT("digest", "{}", "/digest"),
        AT("digest", "[{\"archive\":[\"broken_ref\"]}]", "/digest/0"),
        AT("digest", "[{\"scope\":\"*\"}]", "/digest/0/scope"),
        AT("digest", "[{\"scope\":\"a\",\"archive\":true}]", "/digest/0/archive"),
        AT("digest", "[{\"scope\":\"a\",\"archive\":[\"old\"]}]", "/digest/0/archive/0"),
        AT("digest", "[{\"scope\":\"a\",\"remove\":[\"broken_ref\",\"broken_ref\"]}]", "/digest/0/remove/1"),
        AT("digest", "[{\"scope\":\"a\",\"delete\":[\"broken_ref\"]}]", "/digest/0/delete"),
        AT("memory", "[{\"scope\":\"a\",\"delete\":[\"everything\"]}]", "/memory/0/delete/0"),
        AT("skills", "{\"a\":{\"memory\":[]}}", "/skills/a"),
        AT("files", "[{\"path\":\"srv\",\"access\":\"read\"}]", "/files/0/path"),
        AT("files", "[{\"path\":\"/srv\"}]", "/files/0"),
        AT("max_regions", "0", "/max_regions"),
        AT("max_regions", "1.5", "/max_regions"),
        AT("max_regions", "100001", "/max_regions"),
        AT("max_regions", "-1", "/max_regions"),
        AT("concurrency", "4", "/concurrency"),
        AT("pool", "4", "/pool"),
        AT("pool", "{}", "/pool"),
        AT("pool", "{\"skills\":{\"A\":4}}", "/pool/skills/A"),
        AT("pool", "{\"skills\":{\"a\":257}}", "/pool/skills/a"),
        AT("pool", "{\"skills\":{\"a\":1},\"size\":3}", "/pool/size"),
        AT("pool", "{\"skills\":{\"a\":1},\"memory\":\"lots\"}", "/pool/memory"),
        AT("pool", "{\"skills\":{\"a\":1},\"idle\":0}", "/pool/idle"),
        AT("pool", "{\"skills\":{\"a\":1},\"idle\":\"none\"}", "/pool/idle"),
        AT("clients", "{}", "/clients"),
        AT("clients", "[7]", "/clients/0"),
        AT("clients", "[{}]", "/clients/0/uid"),
        AT("clients", "[{\"uid\":0}]", "/clients/0/uid"),
        AT("clients", "[{\"uid\":4294967295}]", "/clients/0/uid"),
        AT("clients", "[{\"uid\":\"me\"}]", "/clients/0/uid"),
        AT("clients", "[{\"uid\":7,\"skills\":\"a\"}]", "/clients/0/skills"),
        AT("clients", "[{\"uid\":7,\"skills\":[\"../a\"]}]", "/clients/0/skills/0"),
        AT("clients", "[{\"uid\":7,\"name\":\"me\"}]", "/clients/0/name"),
        BEYOND("clients", "[{\"uid\":7},{\"uid\":7,\"skills\":[]}]", "/clients/1/uid"),
        AT("concurrency", "{\"A\":4}", "/concurrency/A"),
        AT("concurrency", "{\"a\":0}", "/concurrency/a"),
        AT("skills", "[]", "/skills"),
        AT("skills", "{\"a--b\":{}}", "/skills/a--b"),
        AT("skills", "{\"a\":{\"trust\":1}}", "/skills/a/trust"),
        AT("skills", "{\"a\":{\"digest\":\"sha256:00\"}}", "/skills/a/digest"),
        AT("skills", "{\"a\":{\"digest\":\"md5:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}", "/skills/a/digest"),
        AT("skills", "{\"a\":{\"network\":{\"host\":true}}}", "/skills/a"),
        AT("skills", "{\"a\":{\"files\":[]}}", "/skills/a"),
        AT("skills", "{\"a\":{\"trusted\":true}}", "/skills/a"), /* I-31: any folder can claim a name */
        AT("skills", "{\"a\":{\"digest\":\"" DIGEST "\",\"trusted\":1}}", "/skills/a/trusted"),
        AT("trusted", "true", "/trusted"),
};

Test(policy_file, documents_and_the_published_schema) {
        _cleanup_jsonschema_ JsonSchema *schema = published_schema("policy.schema.json");

        for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
                const Document *doc = &documents[i];
                _cleanup_policy_ Policy *p = NULL;
                char where[256];
                Diag d = {0};
                int r = policy_parse(doc->text, strlen(doc->text), "/etc/p.json", &p, &d);

                snprintf(where, sizeof(where), "/etc/p.json#%s: ", doc->pointer ?: "");
                cr_expect_eq(r, doc->pointer ? POLICY_E_BAD : 0, "%s: %d %s", doc->what, r, d.text);
                cr_expect(!doc->pointer || strncmp(d.text, where, strlen(where)) == 0, "%s: %s", doc->what, d.text);
                agree(schema, doc, r == 0);
        }
}

Test(policy_file, no_text_ends_before_its_end) {
        for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
                for (size_t at = 0; !documents[i].pointer;) {
                        _cleanup_free_ char *text = document_with_nul(documents[i].text, &at);
                        _cleanup_policy_ Policy *p = NULL;
                        Diag d = {0};

                        if (!text)
                                break;
                        cr_expect_eq(policy_parse(text, strlen(text), "/etc/p.json", &p, &d), POLICY_E_BAD, "%s is taken", text);
                }
}

Test(policy_file, defaults) {
        _cleanup_policy_ Policy *p = NULL;
        Diag d = {0};

        cr_assert_eq(policy_parse(V "}", 13, "p", &p, &d), 0, "%s", d.text);
        cr_expect_eq(p->max_regions, 1000);
        cr_expect_eq(policy_concurrency(p, "x"), 0);
        cr_expect_null(policy_skill(p, "x"));
        cr_expect(!p->limits.files_said && !p->limits.network_said && p->limits.min_tier == 0);
        cr_expect(p->objects.max == 1000000 && p->objects.depth == 8 && p->objects.fanout == 64 && !p->objects.terminates);
        for (size_t i = 0; policy_action_words[i]; i++)
                cr_expect(policy_object_action(p, policy_action_words[i]), "%s", policy_action_words[i]);
        cr_expect_not(policy_object_action(p, "creation"));
}

/* O-15, O-25: each member is read, and a list of actions is complete. */
Test(policy_file, objects) {
        static const char text[] = V ",\"objects\":{\"max\":7,\"depth\":2,\"fanout\":3,\"actions\":[\"dormancy\",\"execution\"],\"on_denied\":\"terminate\"}}",
                          none[] = V ",\"objects\":{\"actions\":[]}}";
        _cleanup_policy_ Policy *p = NULL, *q = NULL;
        Diag d = {0};

        cr_assert_eq(policy_parse(text, sizeof(text) - 1, "p", &p, &d), 0, "%s", d.text);
        cr_expect(p->objects.max == 7 && p->objects.depth == 2 && p->objects.fanout == 3 && p->objects.terminates);
        cr_assert_eq(policy_parse(none, sizeof(none) - 1, "p", &q, &d), 0, "%s", d.text);
        for (size_t i = 0; policy_action_words[i]; i++) {
                const char *action = policy_action_words[i];

                cr_expect_eq(policy_object_action(p, action), strcmp(action, "dormancy") == 0 || strcmp(action, "execution") == 0, "%s", action);
                cr_expect_not(policy_object_action(q, action), "%s", action);
        }
}

/* A skill's row replaces when it has a digest, and only narrows when it has none. */
Test(policy_file, rows_of_skills) {
        static const char text[] = V ",\"max\":{\"memory\":\"64m\",\"wall\":\"10s\"},\"concurrency\":{\"*\":3,\"pinned\":7},\"skills\":{"
                                     "\"pinned\":{\"digest\":\"" DIGEST "\",\"max\":{\"memory\":\"512m\"}},"
                                     "\"named\":{\"max\":{\"memory\":\"512m\",\"wall\":\"5s\",\"processes\":2}}}}";
        _cleanup_policy_ Policy *p = NULL;
        Diag d = {0};
        Budget b;

        cr_assert_eq(policy_parse(text, sizeof(text) - 1, "p", &p, &d), 0, "%s", d.text);
        b = policy_max(p, policy_skill(p, "pinned"));
        cr_expect_eq(b.memory_bytes, 512U << 20);
        cr_expect_eq(b.wall_usec, 10000000);
        b = policy_max(p, policy_skill(p, "named"));
        cr_expect_eq(b.memory_bytes, 64U << 20);
        cr_expect_eq(b.wall_usec, 5000000);
        cr_expect_eq(b.processes, 2);
        b = policy_max(p, NULL);
        cr_expect_eq(b.memory_bytes, 64U << 20);
        cr_expect_eq(b.processes, 0);
        cr_expect_eq(policy_concurrency(p, "pinned"), 7);
        cr_expect_eq(policy_concurrency(p, "named"), 3);
}

static void write_policy(const char *path, uint64_t max_regions) {
        char text[128], folder[PATH_MAX];

        snprintf(folder, sizeof(folder), "%s", path);
        *strrchr(folder, '/') = 0;
        cr_assert_eq(io_mkdir_parents(folder, 0755), 0);
        snprintf(text, sizeof(text), V ",\"max_regions\":%lu}", (unsigned long)max_regions);
        cr_assert_eq(io_write_file(AT_FDCWD, path, text, strlen(text), 0644, false), 0, "%s", path);
}

/* --policy, LETHE_POLICY, XDG_CONFIG_HOME, HOME: the first one counts, and one that was named must be there. */
Test(policy_file, where_it_is_looked_for) {
        _cleanup_temp_dir_ TempDir t = TEMP_DIR_NULL;
        char given[PATH_MAX], env[PATH_MAX], xdg[PATH_MAX], home[PATH_MAX], path[PATH_MAX + 64];
        Policy *p = NULL;
        Diag d = {0};

        cr_assert_eq(temp_dir_make(&t), 0);
        snprintf(given, sizeof(given), "%.4000s/given.json", t.path);
        snprintf(env, sizeof(env), "%.4000s/env.json", t.path);
        snprintf(xdg, sizeof(xdg), "%.4000s/xdg", t.path);
        snprintf(home, sizeof(home), "%.4000s/home", t.path);
        unsetenv("LETHE_POLICY");
        setenv("XDG_CONFIG_HOME", xdg, 1);
        setenv("HOME", home, 1);
        if (access("/etc/lethe/policy.json", F_OK) < 0) {
                cr_assert_eq(policy_load(NULL, &p, &d), 0, "%s", d.text);
                cr_expect_null(p->path);
                policy_free(p);
        }
        snprintf(path, sizeof(path), "%s/lethe/policy.json", xdg);
        write_policy(path, 3);
        cr_assert_eq(policy_load(NULL, &p, &d), 0, "%s", d.text);
        cr_expect_eq(p->max_regions, 3);
        cr_expect_str_eq(p->path, path);
        policy_free(p);
        unsetenv("XDG_CONFIG_HOME");
        snprintf(path, sizeof(path), "%s/.config/lethe/policy.json", home);
        write_policy(path, 4);
        cr_assert_eq(policy_load(NULL, &p, &d), 0, "%s", d.text);
        cr_expect_eq(p->max_regions, 4);
        policy_free(p);
        setenv("LETHE_POLICY", env, 1);
        cr_expect_eq(policy_load(NULL, &p, &d), POLICY_E_MISSING);
        cr_expect(strstr(d.text, "env.json"), "%s", d.text);
        write_policy(env, 2);
        cr_assert_eq(policy_load(NULL, &p, &d), 0, "%s", d.text);
        cr_expect_eq(p->max_regions, 2);
        policy_free(p);
        cr_expect_eq(policy_load(given, &p, &d), POLICY_E_MISSING);
        write_policy(given, 1);
        cr_assert_eq(policy_load(given, &p, &d), 0, "%s", d.text);
        cr_expect_eq(p->max_regions, 1);
        policy_free(p);
        cr_expect_eq(policy_load(t.path, &p, &d), POLICY_E_MISSING, "a folder");
        snprintf(path, sizeof(path), "%s/fifo", t.path);
        cr_assert_eq(mkfifo(path, 0600), 0);
        cr_expect_eq(policy_load(path, &p, &d), POLICY_E_BAD, "a FIFO does not block");
        cr_expect_eq(policy_load("/dev/zero", &p, &d), POLICY_E_BAD, "an endless file is cut");
}
