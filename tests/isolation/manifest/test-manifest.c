/* Runs: tests. lethe.json: every field, good and bad; and the published schema agrees. */
#include "manifest/manifest.h"
#include "schema/limits.h"
#include "tests/isolation/manifest/documents.h"

#define V "{\"version\":1"
#define AT(field, value, where) {field " " value, V ",\"" field "\":" value "}", where, false}
#define BEYOND(field, value, where) {field " " value, V ",\"" field "\":" value "}", where, true}
/* I-35 */
#define RELEASE(text, where) {text, V ",\"entry\":{\"r\":[\"r\"],\"q\":[\"q\"]}," text "}", where, false}
#define RELEASE_BEYOND(text, where) {text, V ",\"entry\":{\"r\":[\"r\"],\"q\":[\"q\"]}," text "}", where, true}
#define GATE(text, where) {text, V ",\"reads\":[\"s/a\"],\"gates\":[" text "]}", where, false}
#define GATE_BEYOND(text, where) {text, V ",\"reads\":[\"s/a\"],\"gates\":[" text "]}", where, true}
#define B(value, where) {value, V ",\"budgets\":{" value "}}", where, false}
#define B_BEYOND(value, where) {value, V ",\"budgets\":{" value "}}", where, true}

static const Document documents[] = {
        {"smallest", V "}", NULL},
        {"white space", " \n" V "}\n ", NULL},
        AT("$schema", "\"https://example.org/x\"", NULL),
        AT("entry", "{\"main\":[\"run.sh\"]}", NULL),
        AT("entry", "{\"main\":[\"python3\",\"/skill/x.py\",\"\"],\"two-b_3\":[\"/usr/bin/env\"]}", NULL),
        AT("entry", "{}", NULL),
        AT("budgets", "{}", NULL),
        B("\"memory\":\"128m\"", NULL),
        B("\"memory\":\"1GiB\"", NULL),
        B("\"memory\":1048576", NULL),
        B("\"wall\":\"30s\",\"cpu\":\"1.5s\"", NULL),
        B("\"wall\":\"2min\",\"cpu\":5", NULL),
        B("\"wall\":\"24h\"", NULL),
        B("\"processes\":1,\"open_files\":8", NULL),
        B("\"file_size\":1,\"scratch\":4096,\"output\":\"1b\"", NULL),
        AT("reads", "[\"a\",\"a.b/c-d_e9\"]", NULL),
        AT("writes", "[]", NULL),
        AT("slots", "{\"a\":{\"type\":\"object\"},\"b\":true}", NULL),
        AT("files", "[{\"path\":\"/data\",\"access\":\"read\"}]", NULL),
        AT("files", "[{\"path\":\"/data//x/./y/\",\"access\":\"write\",\"at\":\"/work/in\"}]", NULL),
        AT("network", "\"none\"", NULL),
        AT("network", "\"private\"", NULL),
        AT("network", "\"host\"", NULL),
        AT("network", "{\"connect\":[\"127.0.0.1:8080\",\"[::1]:443\"]}", NULL),
        AT("network", "{\"connect\":[]}", NULL),
        AT("environment", "{\"A\":\"b\",\"_x9\":\"\"}", NULL),
        AT("proc", "true", NULL),
        AT("terminals", "true", NULL),
        AT("min_tier", "\"landlock\"", NULL),
        AT("on_denial", "\"end\"", NULL),
        AT("report", "\"calls\"", NULL),
        AT("cancel_bound", "\"100ms\"", NULL),
        AT("grace", "\"5s\"", NULL),
        BEYOND("grace", "\"61s\"", "/grace"),
        AT("teardown", "{}", NULL),
        AT("teardown", "{\"discipline\":\"zero\"}", NULL),
        AT("teardown", "{\"discipline\":\"none\"}", NULL),
        AT("teardown", "{\"discipline\":\"multipass\"}", NULL),
        AT("teardown", "{\"discipline\":\"multipass:16\"}", NULL),
        AT("lineage", "\"stats\"", NULL),
        AT("lineage", "\"handles\"", NULL),
        AT("key_scope", "\"invocation-tree\"", NULL),
        AT("embodiment", "\"arena\"", NULL),
        AT("embodiment", "\"container\"", NULL),
        AT("embodiment", "\"vm\"", "/embodiment"),
        AT("commit", "\"any\"", NULL),
        AT("commit", "\"success\"", NULL),
        AT("commit", "true", "/commit"),
        AT("sections", "{\"a\":{\"schema\":true},\"b_2-c\":{\"schema\":{\"type\":\"object\"},\"bytes\":\"512k\"}}", NULL),
        AT("sections", "{\"a\":{\"schema\":{},\"bytes\":1}}", NULL),
        AT("resources", "[]", NULL),
        RELEASE("\"resources\":[\"seat\"],\"release\":[{\"entry\":\"r\",\"budgets\":{\"wall\":1}}]", NULL),
        RELEASE("\"release\":[{\"entry\":\"r\"},{\"entry\":\"q\"}]", NULL),
        AT("sub_skills", "[\"fact-extractor\",\"b2\"]", NULL),
        AT("notes", "true", NULL),
        AT("notes", "false", NULL),
        AT("notes", "{\"scope\":\"0a.b_c-d\"}", NULL),
        AT("canon", "true", NULL),
        AT("canon", "{\"scope\":\"default\"}", NULL),
        AT("memory", "[]", NULL),
        AT("memory", "[{\"scope\":\"a\",\"read\":[\"memory_substrate\",\"skill_artifacts\"],\"write\":[]},{\"scope\":\"b\",\"delete\":[\"knowledge_projections\"]}]", NULL),
        AT("warm", "{\"preload\":[\"json\",\"xml.sax\",\"_a1\",\"List::Util\",\"libstdc++.so.6\"]}", NULL),
        GATE("{\"slot\":\"s/a\",\"schema\":true}", NULL),

        {"empty", "", ""},
        {"not JSON", "{version:1}", ""},
        {"bytes after it", V "} x", ""},
        {"a comment", "/* */" V "}", ""},
        {"an array", "[1]", ""},
        {"null", "null", ""},
        {"duplicate key", V ",\"proc\":true,\"proc\":false}", ""},
        {"duplicate key below", V ",\"budgets\":{\"memory\":\"1m\",\"memory\":\"2m\"}}", ""},
        {"not UTF-8", V ",\"entry\":{\"main\":[\"\xff\"]}}", ""},
        {"overlong UTF-8", V ",\"entry\":{\"main\":[\"\xC0\xAF\"]}}", ""},
        {"lone surrogate", V ",\"entry\":{\"main\":[\"\\ud800\"]}}", ""},
        {"no version", "{}", "/version"},
        {"version 2", "{\"version\":2}", "/version"},
        {"version as text", "{\"version\":\"1\"}", "/version"},
        AT("unknown", "1", "/unknown"),
        AT("Entry", "{}", "/Entry"),
        AT("a/b~c", "1", "/a~1b~0c"),
        AT("entry", "[\"run.sh\"]", "/entry"),
        AT("entry", "{\"main\":\"run.sh\"}", "/entry/main"),
        AT("entry", "{\"main\":[]}", "/entry/main"),
        AT("entry", "{\"main\":[\"\"]}", "/entry/main/0"),
        AT("entry", "{\"main\":[1]}", "/entry/main/0"),
        BEYOND("entry", "{\"main\":[\"a\\u0000b\"]}", "/entry/main/0"),
        AT("entry", "{\"main\":[\"../x\"]}", "/entry/main/0"),
        AT("entry", "{\"main\":[\"a/../../x\"]}", "/entry/main/0"),
        AT("entry", "{\"main\":[\"a/\"]}", "/entry/main/0"),
        AT("entry", "{\"Main\":[\"a\"]}", "/entry/Main"),
        AT("entry", "{\"\":[\"a\"]}", "/entry/"),
        AT("budgets", "[]", "/budgets"),
        B("\"ram\":\"1m\"", "/budgets/ram"),
        B("\"memory\":\"lots\"", "/budgets/memory"),
        B("\"memory\":\"-1m\"", "/budgets/memory"),
        B("\"memory\":\"1.5g\"", "/budgets/memory"),
        B("\"memory\":\" 1m\"", "/budgets/memory"),
        B("\"memory\":0", "/budgets/memory"),
        B("\"memory\":-5", "/budgets/memory"),
        B_BEYOND("\"memory\":1.5e7", "/budgets/memory"),
        B("\"memory\":null", "/budgets/memory"),
        B("\"memory\":9007199254740993", "/budgets/memory"),
        B_BEYOND("\"memory\":\"1k\"", "/budgets/memory"),
        B_BEYOND("\"memory\":\"2048g\"", "/budgets/memory"),
        B_BEYOND("\"memory\":\"99999999999999999999\"", "/budgets/memory"),
        B("\"wall\":\"forever\"", "/budgets/wall"),
        B("\"wall\":0", "/budgets/wall"),
        B("\"wall\":86401", "/budgets/wall"),
        B("\"wall\":9223372036854775807", "/budgets/wall"),
        B_BEYOND("\"wall\":\"25h\"", "/budgets/wall"),
        B_BEYOND("\"wall\":\"1us\"", "/budgets/wall"),
        B("\"processes\":\"4\"", "/budgets/processes"),
        B("\"processes\":0", "/budgets/processes"),
        B("\"processes\":32769", "/budgets/processes"),
        B("\"open_files\":7", "/budgets/open_files"),
        B("\"scratch\":0", "/budgets/scratch"),
        AT("reads", "\"a\"", "/reads"),
        AT("reads", "[\"A\"]", "/reads/0"),
        AT("reads", "[\"a\",\"b c\"]", "/reads/1"),
        AT("reads", "[\"9a\"]", "/reads/0"),
        AT("writes", "[\"a\",\"a\"]", "/writes/1"),
        AT("reads", "[\"a\\n\"]", "/reads/0"),
        AT("slots", "{\"A\":{}}", "/slots/A"),
        AT("slots", "{\"a\":1}", "/slots/a"),
        AT("slots", "{\"a\":[]}", "/slots/a"),
        BEYOND("slots", "{\"a\":{\"type\":\"text\"}}", "/slots/a"),
        BEYOND("slots", "{\"a\":{\"unknownKeyword\":1}}", "/slots/a"),
        BEYOND("slots", "{\"a\":\"a.json\"}", "/slots/a"), /* no folder here */
        AT("files", "{}", "/files"),
        AT("files", "[{}]", "/files/0"),
        AT("files", "[{\"path\":\"/x\"}]", "/files/0"),
        AT("files", "[{\"path\":\"x\",\"access\":\"read\"}]", "/files/0/path"),
        AT("files", "[{\"path\":\"/a/../b\",\"access\":\"read\"}]", "/files/0/path"),
        AT("files", "[{\"path\":\"/..\",\"access\":\"read\"}]", "/files/0/path"),
        AT("files", "[{\"path\":\"/x\",\"access\":\"rw\"}]", "/files/0/access"),
        AT("files", "[{\"path\":\"/x\",\"access\":\"read\",\"optional\":true}]", "/files/0/optional"),
        BEYOND("files", "[{\"path\":\"/a\\nb\",\"access\":\"read\"}]", "/files/0/path"),
        BEYOND("files", "[{\"path\":\"/proc/1\",\"access\":\"read\"}]", "/files/0/path"),
        BEYOND("files", "[{\"path\":\"/x\",\"access\":\"read\",\"at\":\"/lethe/bin\"}]", "/files/0/at"),
        BEYOND("files", "[{\"path\":\"/x\",\"access\":\"read\",\"at\":\"/skill\"}]", "/files/0/at"),
        BEYOND("files", "[{\"path\":\"/x\",\"access\":\"read\",\"at\":\"/dev//shm\"}]", "/files/0/at"),
        BEYOND("files", "[{\"path\":\"/x\",\"access\":\"read\",\"at\":\"/\"}]", "/files/0/at"),
        BEYOND("files", "[{\"path\":\"/x\",\"access\":\"read\"},{\"path\":\"/y\",\"access\":\"read\",\"at\":\"/x/\"}]", "/files/1/at"),
        AT("network", "true", "/network"),
        AT("network", "\"all\"", "/network"),
        AT("network", "{}", "/network"),
        AT("network", "{\"listen\":[]}", "/network/listen"),
        AT("network", "{\"connect\":[\"example.org:443\"]}", "/network/connect/0"),
        AT("network", "{\"connect\":[\"127.0.0.1\"]}", "/network/connect/0"),
        AT("network", "{\"connect\":[\"127.0.0.1:0\"]}", "/network/connect/0"),
        AT("network", "{\"connect\":[\"::1:80\"]}", "/network/connect/0"),
        AT("network", "{\"connect\":[\"127.0.0.1:80\",\"127.0.0.1:80\"]}", "/network/connect/1"),
        BEYOND("network", "{\"connect\":[\"127.0.0.256:80\"]}", "/network/connect/0"),
        BEYOND("network", "{\"connect\":[\"127.0.0.1:65536\"]}", "/network/connect/0"),
        AT("environment", "{\"9A\":\"b\"}", "/environment/9A"),
        AT("environment", "{\"A=\":\"b\"}", "/environment/A="),
        AT("environment", "{\"LETHE_IN\":\"9\"}", "/environment/LETHE_IN"),
        AT("environment", "{\"A\":1}", "/environment/A"),
        BEYOND("environment", "{\"A\":\"x\\u0000y\"}", "/environment/A"),
        AT("proc", "1", "/proc"),
        AT("terminals", "1", "/terminals"),
        AT("min_tier", "\"none\"", "/min_tier"),
        AT("on_denial", "\"kill\"", "/on_denial"),
        AT("report", "\"all\"", "/report"),
        AT("cancel_bound", "1", "/cancel_bound"),
        AT("cancel_bound", "\"soon\"", "/cancel_bound"),
        BEYOND("cancel_bound", "\"1ms\"", "/cancel_bound"),
        BEYOND("cancel_bound", "\"61s\"", "/cancel_bound"),
        AT("teardown", "\"zero\"", "/teardown"),
        AT("teardown", "{\"cancel_bound\":\"1s\"}", "/teardown/cancel_bound"),
        AT("teardown", "{\"discipline\":true}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"shred\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"Zero\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"zero:1\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"multipass:\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"multipass:0\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"multipass:03\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"multipass:17\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"multipass:-1\"}", "/teardown/discipline"),
        AT("teardown", "{\"discipline\":\"multipass:99999999999999999999\"}", "/teardown/discipline"),
        AT("lineage", "\"all\"", "/lineage"),
        AT("lineage", "1", "/lineage"),
        AT("key_scope", "\"tree\"", "/key_scope"),
        AT("sections", "[]", "/sections"),
        AT("sections", "{\"A\":{\"schema\":true}}", "/sections/A"),
        AT("sections", "{\"a.b\":{\"schema\":true}}", "/sections/a.b"),
        AT("sections", "{\"a\":true}", "/sections/a"),
        AT("sections", "{\"a\":{}}", "/sections/a"),
        AT("sections", "{\"a\":{\"schema\":1}}", "/sections/a/schema"),
        BEYOND("sections", "{\"a\":{\"schema\":{\"type\":\"key\"}}}", "/sections/a/schema"),
        BEYOND("sections", "{\"a\":{\"schema\":\"a.json\"}}", "/sections/a/schema"), /* no folder here */
        AT("sections", "{\"a\":{\"schema\":true,\"bytes\":0}}", "/sections/a/bytes"),
        AT("sections", "{\"a\":{\"schema\":true,\"bytes\":524289}}", "/sections/a/bytes"),
        AT("sections", "{\"a\":{\"schema\":true,\"bytes\":\"many\"}}", "/sections/a/bytes"),
        AT("sections", "{\"a\":{\"schema\":true,\"bytes\":null}}", "/sections/a/bytes"),
        BEYOND("sections", "{\"a\":{\"schema\":true,\"bytes\":\"1m\"}}", "/sections/a/bytes"),
        AT("sections", "{\"a\":{\"schema\":true,\"size\":1}}", "/sections/a/size"),
        AT("resources", "[\"seat\"]", "/resources"),
        RELEASE("\"resources\":[\"seat\"],\"release\":[]", "/resources"),
        RELEASE("\"resources\":[\"\"],\"release\":[{\"entry\":\"r\"}]", "/resources/0"),
        RELEASE("\"resources\":[\"a b\"],\"release\":[{\"entry\":\"r\"}]", "/resources/0"),
        RELEASE("\"resources\":[\"a\",\"a\"],\"release\":[{\"entry\":\"r\"}]", "/resources/1"),
        RELEASE("\"release\":[\"r\"]", "/release/0"),
        RELEASE("\"release\":[{}]", "/release/0"),
        RELEASE("\"release\":[{\"entry\":1}]", "/release/0/entry"),
        RELEASE("\"release\":[{\"entry\":\"r\",\"budgets\":{\"memory\":0}}]", "/release/0/budgets/memory"),
        RELEASE("\"release\":[{\"entry\":\"r\",\"args\":[]}]", "/release/0/args"),
        RELEASE_BEYOND("\"release\":[{\"entry\":\"s\"}]", "/release/0/entry"),
        RELEASE_BEYOND("\"release\":[{\"entry\":\"r\"},{\"entry\":\"r\"}]", "/release/1/entry"),
        AT("sub_skills", "[\"a--b\"]", "/sub_skills/0"),
        AT("sub_skills", "[\"../a\"]", "/sub_skills/0"),
        AT("sub_skills", "[\"a\",\"a\"]", "/sub_skills/1"),
        AT("notes", "1", "/notes"),
        AT("notes", "null", "/notes"),
        AT("notes", "\"default\"", "/notes"),
        AT("notes", "[]", "/notes"),
        AT("notes", "{}", "/notes"),
        AT("notes", "{\"scope\":\"a\",\"role\":\"b\"}", "/notes/role"),
        AT("notes", "{\"scope\":true}", "/notes/scope"),
        AT("notes", "{\"scope\":\"\"}", "/notes/scope"),
        AT("canon", "{\"scope\":\"A\"}", "/canon/scope"),
        AT("memory", "true", "/memory"),
        AT("memory", "{\"scope\":\"a\",\"read\":[\"memory_substrate\"]}", "/memory"),
        AT("memory", "[true]", "/memory/0"),
        AT("memory", "[{\"scope\":\"a\"}]", "/memory/0"),
        AT("memory", "[{\"read\":[\"memory_substrate\"]}]", "/memory/0"),
        AT("memory", "[{\"scope\":\"a\",\"read\":[]}]", "/memory/0"),
        AT("memory", "[{\"scope\":\"a\",\"read\":true}]", "/memory/0/read"),
        AT("memory", "[{\"scope\":\"a\",\"read\":[\"memory\"]}]", "/memory/0/read/0"),
        AT("memory", "[{\"scope\":\"a\",\"read\":[\"working_state\"]}]", "/memory/0/read/0"),
        AT("memory", "[{\"scope\":\"a\",\"write\":[\"agent_model_kernel\"]}]", "/memory/0/write/0"),
        AT("memory", "[{\"scope\":\"a\",\"write\":[\"issues\"]}]", "/memory/0/write/0"),
        AT("memory", "[{\"scope\":\"a\",\"delete\":[\"memory_substrate\",\"memory_substrate\"]}]", "/memory/0/delete/1"),
        AT("memory", "[{\"scope\":\"a\",\"read\":[\"memory_substrate\"],\"restore\":[\"memory_substrate\"]}]", "/memory/0/restore"),
        AT("memory", "[{\"scope\":\"*\",\"read\":[\"memory_substrate\"]}]", "/memory/0/scope"),
        AT("memory", "[{\"scope\":\"../a\",\"read\":[\"memory_substrate\"]}]", "/memory/0/scope"),
        AT("canon", "{\"scope\":\"-a\"}", "/canon/scope"),
        AT("canon", "{\"scope\":\"a/b\"}", "/canon/scope"),
        AT("canon", "{\"scope\":\"a\\u0000\"}", "/canon/scope"),
        AT("warm", "{}", "/warm"),
        AT("warm", "{\"preload\":[]}", "/warm"),
        AT("warm", "{\"preload\":[\"a\"],\"more\":1}", "/warm/more"),
        AT("warm", "{\"preload\":[\"a.\"]}", "/warm/preload/0"),
        AT("warm", "{\"preload\":[\"../a\"]}", "/warm/preload/0"),
        AT("warm", "{\"preload\":[\"a:b\"]}", "/warm/preload/0"),
        AT("warm", "{\"preload\":[\"a::\"]}", "/warm/preload/0"),
        AT("warm", "{\"preload\":[\"-a\"]}", "/warm/preload/0"),
        AT("warm", "{\"preload\":[\"a..b\"]}", "/warm/preload/0"),
        AT("warm", "{\"preload\":[\"a\",\"a\"]}", "/warm/preload/1"),
        GATE("{}", "/gates/0"),
        GATE("{\"slot\":\"s/a\"}", "/gates/0"),
        GATE("{\"slot\":\"S\",\"schema\":true}", "/gates/0/slot"),
        GATE("{\"slot\":\"s/a\",\"schema\":1}", "/gates/0/schema"),
        GATE("{\"slot\":\"s/a\",\"schema\":true,\"age\":1}", "/gates/0/age"),
        GATE("{\"slot\":\"s/a\",\"schema\":true,\"max_age\":5}", "/gates/0/max_age"), // I-76
        GATE_BEYOND("{\"slot\":\"s/a\",\"schema\":true,\"max_age\":\"soon\"}", "/gates/0/max_age"),
        GATE_BEYOND("{\"slot\":\"s/a\",\"schema\":true,\"max_age\":\"0s\"}", "/gates/0/max_age"),
        GATE_BEYOND("{\"slot\":\"s/a\",\"schema\":true,\"max_age\":\"87601h\"}", "/gates/0/max_age"),
        GATE_BEYOND("{\"slot\":\"s/b\",\"schema\":true}", "/gates/0/slot"),
        GATE_BEYOND("{\"slot\":\"s/a\",\"schema\":true},{\"slot\":\"s/a\",\"schema\":true}", "/gates/1/slot"),
};

Test(manifest, documents_and_the_published_schema) {
        _cleanup_jsonschema_ JsonSchema *schema = published_schema("lethe.schema.json");

        for (size_t i = 0; i < ARRAY_SIZE(documents); i++) {
                const Document *doc = &documents[i];
                _cleanup_findings_ Findings f = {0};
                _cleanup_(manifest_deinit) Manifest m = {0};
                bool found = false;

                cr_assert_eq(manifest_parse(doc->text, strlen(doc->text), -1, NULL, &m, &f), 0, "%s", doc->what);
                for (size_t k = 0; k < f.n; k++) {
                        found = found || (doc->pointer && strcmp(f.v[k].pointer ?: "?", doc->pointer) == 0);
                        cr_expect_str_eq(f.v[k].file, "lethe.json");
                        cr_expect(f.v[k].message[0] && f.v[k].rule[0], "%s", doc->what);
                }
                cr_expect_eq(f.n == 0, doc->pointer == NULL, "%s: %s", doc->what, f.n ? f.v[0].message : "accepted");
                cr_expect(!doc->pointer || found, "%s: no finding at %s, but at %s: %s", doc->what, doc->pointer, f.n ? f.v[0].pointer : "none",
                          f.n ? f.v[0].message : "");
                agree(schema, doc, f.n == 0);
        }
}

Test(manifest, no_text_ends_before_its_end) {
        for (size_t i = 0; i < ARRAY_SIZE(documents); i++)
                for (size_t at = 0; !documents[i].pointer;) {
                        _cleanup_free_ char *text = document_with_nul(documents[i].text, &at);
                        _cleanup_findings_ Findings f = {0};
                        _cleanup_(manifest_deinit) Manifest m = {0};

                        if (!text)
                                break;
                        cr_assert_eq(manifest_parse(text, strlen(text), -1, NULL, &m, &f), 0, "%s", text);
                        cr_expect(f.n > 0, "%s is taken", text);
                }
}

/* All faults are told, not only the first. */
Test(manifest, all_faults_at_once) {
        static const char text[] = V ",\"x\":1,\"proc\":2,\"reads\":[\"A\",\"B\"],\"budgets\":{\"memory\":\"x\",\"wall\":\"y\"}}";
        _cleanup_findings_ Findings f = {0};
        Manifest m = {0};

        cr_assert_eq(manifest_parse(text, sizeof(text) - 1, -1, NULL, &m, &f), 0);
        cr_expect_eq(f.n, 6);
}

/* Size and depth are bounded before anything is built from them. */
Test(manifest, huge_and_deep) {
        size_t n = 300 * 1024;
        _cleanup_free_ char *text = malloc(n + 64);
        _cleanup_findings_ Findings huge = {0}, deep = {0}, many = {0};
        Manifest m = {0};
        int o;

        memset(text, ' ', n);
        memcpy(text, V "}", strlen(V "}"));
        cr_assert_eq(manifest_parse(text, n, -1, NULL, &m, &huge), 0);
        cr_assert_eq(huge.n, 1);
        cr_expect(strstr(huge.v[0].message, "at most 262144"), "%s", huge.v[0].message);
        memset(text, '[', n);
        cr_assert_eq(manifest_parse(text, 200000, -1, NULL, &m, &deep), 0);
        cr_assert_eq(deep.n, 1);
        cr_expect(strstr(deep.v[0].message, "24 levels"), "%s", deep.v[0].message);
        o = sprintf(text, V ",\"reads\":[");
        for (int i = 0; i < 300; i++)
                o += sprintf(text + o, "%s\"s%d\"", i ? "," : "", i);
        o += sprintf(text + o, "]}");
        cr_assert_eq(manifest_parse(text, (size_t)o, -1, NULL, &m, &many), 0);
        cr_assert_eq(many.n, 1);
        cr_expect_str_eq(many.v[0].rule, "too-many");
}

/* I-5, I-23: what the manifest declares is what the budget says, in bytes and microseconds. */
Test(manifest, values_are_read) {
        static const char text[] = V ",\"entry\":{\"main\":[\"a\",\"b\"]},\"budgets\":{\"memory\":\"96m\",\"wall\":\"1.5s\",\"cpu\":2,\"processes\":4,"
                                     "\"open_files\":32,\"file_size\":\"1k\",\"scratch\":8192,\"output\":\"2k\"},\"reads\":[\"r\"],\"writes\":[\"w\"],"
                                     "\"files\":[{\"path\":\"/a//b/\",\"access\":\"write\",\"at\":\"/c\"}],\"network\":{\"connect\":[\"[::1]:443\"]},"
                                     "\"environment\":{\"A\":\"b=c\"},\"proc\":true,\"min_tier\":\"landlock\",\"on_denial\":\"end\",\"report\":\"calls\","
                                     "\"cancel_bound\":\"2s\",\"slots\":{\"w\":{\"type\":\"string\"}}}";
        _cleanup_findings_ Findings f = {0};
        _cleanup_(manifest_deinit) Manifest m = {0};

        cr_assert_eq(manifest_parse(text, sizeof(text) - 1, -1, NULL, &m, &f), 0);
        cr_assert_eq(f.n, 0, "%s", f.n ? f.v[0].message : "");
        cr_expect_str_eq(m.entries[0].argv[1], "b");
        cr_expect_null(m.entries[0].argv[2]);
        cr_expect_eq(m.budget.memory_bytes, 96U << 20);
        cr_expect_eq(m.budget.wall_usec, 1500000);
        cr_expect_eq(m.budget.cpu_usec, 2000000);
        cr_expect_eq(m.budget.processes, 4);
        cr_expect_eq(m.budget.open_files, 32);
        cr_expect_eq(m.budget.file_bytes, 1024);
        cr_expect_eq(m.budget.scratch_bytes, 8192);
        cr_expect_eq(m.budget.output_bytes, 2048);
        cr_expect_str_eq(m.files[0].path, "/a/b");
        cr_expect_str_eq(m.files[0].target, "/c");
        cr_expect(m.files[0].write);
        cr_expect_eq(m.network, NETWORK_CONNECT);
        cr_expect_eq(m.connects[0].port, 443);
        cr_expect_eq(m.connects[0].addr[15], 1);
        cr_expect_str_eq(m.env[0], "A=b=c");
        cr_expect(m.proc && m.min_tier == TIER_LANDLOCK && m.on_denial == DENIAL_END && !m.report_paths);
        cr_expect_eq(m.cancel_bound_usec, 2000000);
        cr_expect_eq(json_object_size(m.slots), 1);
}

/* I-4, I-26, I-29, I-30, I-32, I-35, I-36: what a manifest says about the life and end of a region is what is read. */
Test(manifest, the_region_is_read) {
        static const char text[] = V ",\"entry\":{\"main\":[\"a\"],\"r\":[\"r\"]},\"reads\":[\"s\"],\"teardown\":{\"discipline\":\"multipass:5\"},"
                                     "\"lineage\":\"handles\",\"key_scope\":\"invocation-tree\",\"commit\":\"success\",\"embodiment\":\"arena\",\"sections\":{\"x\":{\"schema\":true,\"bytes\":\"2k\"},"
                                     "\"y\":{\"schema\":{\"type\":\"null\"}}},\"resources\":[\"seat\"],"
                                     "\"release\":[{\"entry\":\"r\",\"budgets\":{\"wall\":\"50ms\"}}],\"sub_skills\":[\"other\"],\"gates\":[{\"slot\":\"s\",\"schema\":{\"const\":1},\"max_age\":\"90m\"}]}";
        _cleanup_findings_ Findings f = {0};
        _cleanup_(manifest_deinit) Manifest m = {0}, none = manifest_none();
        json_t *x, *y;

        cr_expect(none.discipline == DISCIPLINE_ZERO && none.passes == 1 && none.lineage == LINEAGE_EVENTS && none.key_scope == KEY_SCOPE_INVOCATION);
        cr_assert_eq(manifest_parse(text, sizeof(text) - 1, -1, NULL, &m, &f), 0);
        cr_assert_eq(f.n, 0, "%s", f.n ? f.v[0].message : "");
        cr_expect(m.discipline_said && m.discipline == DISCIPLINE_MULTIPASS && m.passes == 5);
        cr_expect(m.lineage == LINEAGE_HANDLES && m.key_scope == KEY_SCOPE_TREE);
        cr_expect(m.commit == COMMIT_SUCCESS && m.embodiment == EMBODIMENT_ARENA); // I-78
        cr_expect(none.commit == COMMIT_ANY && none.embodiment == EMBODIMENT_PROCESS);
        x = json_object_get(m.sections, "x");
        y = json_object_get(m.sections, "y");
        cr_expect_eq(json_integer_value(json_object_get(x, "bytes")), 2048);
        cr_expect(json_is_true(json_object_get(x, "schema")));
        cr_expect_eq(json_integer_value(json_object_get(y, "bytes")), SECTION_BYTES_STANDARD);
        cr_expect_str_eq(m.resources[0], "seat");
        cr_expect_str_eq(m.releases[0].entry, "r");
        cr_expect_eq(m.releases[0].budget.wall_usec, 50000);
        cr_expect_str_eq(m.sub_skills[0], "other");
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(m.gates, 0), "slot")), "s");
        cr_expect_eq(json_integer_value(json_object_get(json_array_get(m.gates, 0), "max_age_usec")), INT64_C(5400000000));
}
