/* Runs: tests. The grant: what manifest, command line and policy make together, as a table and as laws. */
#include "tests/isolation/policy/grant-fixture.h"

#include <criterion/theories.h>
#include <arpa/inet.h>

static void check(const Case *c) {
        _cleanup_grant_ Grant g = {0};
        _cleanup_json_ json_t *j = NULL;
        _cleanup_free_ char *text = NULL, *pieces = strdup(expand(c->expect));
        char *at = NULL;
        Diag d = {0};
        int r = make(c, &g, &d);

        cr_assert_eq(r, c->code, "%s: %d %s", c->what, r, d.text);
        if (r == 0) {
                j = grant_show_json(&g);
                cr_assert_eq(json_canonical(j, &text, NULL), 0);
        }
        for (char *p = strtok_r(pieces, "|", &at); p; p = strtok_r(NULL, "|", &at))
                cr_expect(strstr(r == 0 ? text : d.text, p), "%s: no %s in %s", c->what, p, r == 0 ? text : d.text);
}

static const Case cases[] = {
        /* What runs. */
        {"main entry", M(""), NULL, {0}, 0, "\"argv\":[\"/skill/run.sh\"]|\"name\":\"skill\"|\"folder\":\"@/skill\""},
        {"named entry", "{\"version\":1,\"entry\":{\"a\":[\"./bin/tool\",\"-x\"]}}", NULL, {"entry", "a"}, 0, "\"argv\":[\"/skill/bin/tool\",\"-x\"]"},
        {"program of the region", "{\"version\":1,\"entry\":{\"main\":[\"python3\",\"/skill/x\"]}}", NULL, {0}, 0, "\"argv\":[\"python3\",\"/skill/x\"]"},
        {"absolute in the skill", "{\"version\":1,\"entry\":{\"main\":[\"/skill/run.sh\"]}}", NULL, {0}, 0, "\"argv\":[\"/skill/run.sh\"]"},
        {"no such entry", M(""), NULL, {"entry", "b"}, GRANT_E_USAGE, "no entry \"b\"|it has: main"},
        {"a file is no entry", M(""), NULL, {"entry", "bin/tool"}, GRANT_E_USAGE, "no entry"},
        {"no lethe.json, a file", NULL, NULL, {"entry", "bin/tool"}, 0, "\"argv\":[\"/skill/bin/tool\"]|\"network\":{\"connect\":[],\"mode\":\"none\"}|" NOT_GRANTED},
        {"no lethe.json, nothing said", NULL, NULL, {0}, GRANT_E_USAGE, "no lethe.json|--exec PROGRAM|files to run: bin/tool, run.sh"},
        {"a program in place of the entry", M(""), NULL, {"exec", "python3"}, 0, "\"argv\":[\"python3\"]|\"folder\":\"@/skill\""},
        {"an executable file in place of the entry", M(""), NULL, {"exec", "./bin/tool"}, 0, "\"argv\":[\"/skill/bin/tool\"]"},
        {"a program and an entry", M(""), NULL, {"exec", "python3", "entry", "main"}, GRANT_E_USAGE, "both name what runs"},
        {"no entry in lethe.json", "{\"version\":1}", NULL, {0}, GRANT_E_USAGE, "no \"entry\""},
        {"a file that is not there", NULL, NULL, {"entry", "nope.sh"}, GRANT_E_NOT_FOUND, "nope.sh"},
        {"a folder", NULL, NULL, {"entry", "bin"}, GRANT_E_NOT_FOUND, "no such file"},
        {"out of the folder", NULL, NULL, {"entry", "../other/file"}, GRANT_E_USAGE, "\"..\""},
        {"not executable", NULL, NULL, {"entry", "data.txt"}, GRANT_E_NOT_EXECUTABLE, "chmod"},
        {"entry of lethe.json not there", "{\"version\":1,\"entry\":{\"main\":[\"gone/x\"]}}", NULL, {0}, GRANT_E_NOT_FOUND, "gone/x"},
        {"exec of the system", NULL, NULL, {0}, 0, "\"argv\":[\"/bin/sh\"]|\"name\":\"sh\"|\"folder\":null", "/bin/sh"},
        {"exec by name", NULL, NULL, {0}, 0, "\"argv\":[\"/usr/bin/env\"]", "env"},
        {"exec from elsewhere", NULL, NULL, {0}, 0, "\"argv\":[\"@/skill/run.sh\"]|\"name\":\"run.sh\"", "@/skill/run.sh"},
        {"exec with an entry", NULL, NULL, {"entry", "x"}, GRANT_E_USAGE, "--exec", "/bin/sh"},
        /* Budgets (I-5, I-23). */
        {"defaults", M(""), NULL, {0}, 0, "\"memory_bytes\":134217728|\"wall_usec\":30000000|\"processes\":64|\"reductions\":[]"},
        {"what the skill asks", M(",\"budgets\":{\"memory\":\"1g\"}"), NULL, {0}, 0, "\"memory_bytes\":1073741824|\"reductions\":[]"},
        {"less by the command line", M(",\"budgets\":{\"memory\":\"1g\"}"), NULL, {"memory", "64m"}, 0,
         "\"memory_bytes\":67108864|\"field\":\"/budgets/memory\"|\"rule\":\"command line --memory\""},
        {"more by the command line than the skill asks", M(",\"budgets\":{\"memory\":\"64m\"}"), NULL, {"memory", "1g"}, 0,
         "\"memory_bytes\":67108864|\"field\":\"--memory\"|\"rule\":\"lethe.json#/budgets/memory\""},
        {"the skill is silent", M(""), NULL, {"memory", "1g"}, 0, "\"memory_bytes\":1073741824|\"reductions\":[]"},
        {"less by policy", M(",\"budgets\":{\"wall\":\"1m\"}"), P(",\"max\":{\"wall\":\"5s\"}"), {0}, 0,
         "\"wall_usec\":5000000|\"asked\":\"60 s\",\"field\":\"/budgets/wall\",\"granted\":\"5 s\",\"rule\":\"policy.json#/max/wall\""},
        {"policy below the default", M(""), P(",\"max\":{\"memory\":\"32m\"}"), {0}, 0, "\"memory_bytes\":33554432|\"field\":\"/budgets/memory\""},
        {"policy below the command line", M(""), P(",\"max\":{\"memory\":\"256m\"}"), {"memory", "1g"}, 0,
         "\"memory_bytes\":268435456|\"field\":\"--memory\",\"granted\":\"256 MiB\""},
        {"policy above", M(",\"budgets\":{\"memory\":\"64m\"}"), P(",\"max\":{\"memory\":\"1g\"}"), {0}, 0, "\"memory_bytes\":67108864|\"reductions\":[]"},
        {"a row without digest narrows", M(""), P(",\"skills\":{\"skill\":{\"max\":{\"memory\":\"16m\"}}}"), {0}, 0,
         "\"memory_bytes\":16777216|policy.json#/skills/skill/max/memory"},
        {"a row without digest cannot widen", M(",\"budgets\":{\"memory\":\"1g\"}"),
         P(",\"max\":{\"memory\":\"64m\"},\"skills\":{\"skill\":{\"max\":{\"memory\":\"1g\"}}}"), {0}, 0, "\"memory_bytes\":67108864"},
        {"a row is not for a program of that name", NULL, P(",\"skills\":{\"sh\":{\"max\":{\"memory\":\"16m\"}}}"), {0}, 0, "\"memory_bytes\":134217728", "/bin/sh"},
        {"another digest is refused", M(""),
         P(",\"skills\":{\"skill\":{\"digest\":\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\"}}"), {0}, GRANT_E_REFUSED,
         "skill skill|policy.json#/skills/skill/digest"},
        /* Tiers. */
        {"tier by default", M(""), NULL, {0}, 0, "\"min_tier\":\"namespaces\"|\"tier\":null"},
        {"a skill cannot lower it", M(",\"min_tier\":\"landlock\""), NULL, {0}, 0, "\"min_tier\":\"namespaces\"|\"field\":\"/min_tier\""},
        {"the operator can", M(""), NULL, {"tier", "landlock"}, 0, "\"min_tier\":\"landlock\"|\"tier\":\"landlock\""},
        {"policy can", M(""), P(",\"min_tier\":\"landlock\""), {0}, 0, "\"min_tier\":\"landlock\"|\"tier\":null"},
        {"a skill can raise what policy lowered", M(",\"min_tier\":\"namespaces\""), P(",\"min_tier\":\"landlock\""), {0}, 0, "\"min_tier\":\"namespaces\""},
        {"not below the skill's", M(",\"min_tier\":\"namespaces\""), NULL, {"tier", "landlock"}, GRANT_E_REFUSED, "lethe.json#/min_tier"},
        {"not below policy's", M(""), P(",\"min_tier\":\"namespaces\""), {"tier", "landlock"}, GRANT_E_REFUSED, "policy.json#/min_tier"},
        /* Typed memory (M-21, M-52): what nothing brings back takes the operator's word, and a list of the policy is complete. */
        {"memory as asked, but for deletion", M(",\"memory\":[{\"scope\":\"a\",\"read\":[\"memory_substrate\"],\"delete\":[\"memory_substrate\"]}]"), NULL, {0}, 0,
         "\"memory\":[{\"read\":[\"memory_substrate\"],\"scope\":\"a\"}]|\"field\":\"/memory/0/delete\""},
        {"memory by the policy", M(",\"memory\":[{\"scope\":\"a\",\"read\":[\"memory_substrate\"]},{\"scope\":\"b\",\"delete\":[\"skill_artifacts\"]}]"),
         P(",\"memory\":[{\"scope\":\"b\",\"delete\":[\"skill_artifacts\",\"memory_substrate\"]}]"), {0}, 0,
         "\"memory\":[{\"scope\":\"a\"},{\"delete\":[\"skill_artifacts\"],\"scope\":\"b\"}]|\"field\":\"/memory/0/read\"|policy.json#/memory does not allow it in scope a"},
        /* Notes, shared belief and kernels (G-73): as asked, but for what a list of the policy does not have. */
        {"belief as asked", M(",\"notes\":{\"scope\":\"a\",\"read\":true},\"canon\":{\"scope\":\"a\"},\"kernels\":true"), NULL, {0}, 0,
         "\"notes\":\"a\"|\"own_notes\":true|\"canon\":\"a\"|\"kernels\":\"default\"|\"reductions\":[]"},
        {"belief by the policy", M(",\"notes\":{\"scope\":\"a\",\"read\":true},\"canon\":{\"scope\":\"a\"},\"kernels\":true"),
         P(",\"belief\":{\"notes\":[\"a\"],\"canon\":[\"b\"],\"kernels\":[],\"own_notes\":false}"), {0}, 0,
         "\"notes\":\"a\"|\"field\":\"/canon\"|\"field\":\"/kernels\"|\"field\":\"/notes/read\"|policy.json#/belief/canon does not name it|policy.json#/belief/own_notes is false"},
        {"no notes, none to read", M(",\"notes\":{\"scope\":\"a\",\"read\":true}"), P(",\"belief\":{\"notes\":[]}"), {0}, 0, "\"field\":\"/notes\"|policy.json#/belief/notes"},
        /* Network. */
        {"a manifest grants itself nothing", M(",\"network\":\"host\""), NULL, {0}, 0, "\"mode\":\"none\"|\"field\":\"/network\"|a policy file"},
        {"nor addresses", M(",\"network\":{\"connect\":[\"127.0.0.1:80\"]}"), NULL, {0}, 0, "\"mode\":\"none\"|\"field\":\"/network/connect/0\""},
        {"the command line grants", M(",\"network\":{\"connect\":[\"127.0.0.1:80\",\"127.0.0.1:81\"]}"), NULL, {"connect", "127.0.0.1:80"}, 0,
         "\"connect\":[\"127.0.0.1:80\"],\"mode\":\"connect\"|\"field\":\"/network/connect/1\""},
        {"policy grants", M(",\"network\":{\"connect\":[\"127.0.0.1:80\",\"127.0.0.1:81\"]}"), P(",\"network\":{\"connect\":[\"127.0.0.1:81\",\"127.0.0.1:9\"]}"),
         {0}, 0, "\"connect\":[\"127.0.0.1:81\"],\"mode\":\"connect\"|\"field\":\"/network/connect/0\"|policy.json#/network"},
        {"policy with host grants addresses", M(",\"network\":{\"connect\":[\"127.0.0.1:80\"]}"), P(",\"network\":{\"host\":true}"), {0}, 0,
         "\"connect\":[\"127.0.0.1:80\"],\"mode\":\"connect\"|\"reductions\":[]"},
        {"policy grants the host's", M(",\"network\":\"host\""), P(",\"network\":{\"host\":true}"), {0}, 0, "\"mode\":\"host\"|\"reductions\":[]"},
        {"policy does not", M(",\"network\":\"host\""), P(",\"network\":{\"connect\":[]}"), {0}, 0, "\"mode\":\"none\"|policy.json#/network does not"},
        {"the command line takes all", M(",\"network\":\"host\""), P(",\"network\":{\"host\":true}"), {"network", "none"}, 0, "\"mode\":\"none\"|command line"},
        {"a network of its own needs no grant", M(",\"network\":\"private\""), P(",\"network\":{}"), {}, 0, "\"mode\":\"loopback\""},
        {"but the command line may say none", M(",\"network\":\"private\""), NULL, {"network", "none"}, 0, "\"mode\":\"none\"|command line"},
        {"the command line may have one of its own", M(""), P(",\"network\":{}"), {"network", "private"}, 0, "\"mode\":\"loopback\""},
        {"A-7: loopback by its name", M(",\"network\":\"loopback\""), P(",\"network\":{}"), {}, 0, "\"mode\":\"loopback\""},
        {"A-7: a policy without a network", M(",\"network\":\"loopback\""), NULL, {}, 0, "\"mode\":\"loopback\""},
        {"the host's is more than one of its own", M(",\"network\":\"private\""), NULL, {"network", "host"}, 0, "\"mode\":\"host\""},
        {"the command line may have the host's", M(""), NULL, {"network", "host"}, 0, "\"mode\":\"host\""},
        {"unless policy forbids", M(""), P(",\"network\":{}"), {"network", "host"}, GRANT_E_REFUSED, "--network host|policy.json#/network"},
        {"and addresses", M(""), P(",\"network\":{\"connect\":[\"127.0.0.1:1\"]}"), {"connect", "127.0.0.1:2"}, GRANT_E_REFUSED, "--connect 127.0.0.1:2"},
        {"other spelling, same address", M(""), P(",\"network\":{\"connect\":[\"[::1]:2\"]}"), {"connect", "[0:0:0:0:0:0:0:1]:2"}, 0, "\"mode\":\"connect\""},
        /* Files. */
        {"a manifest grants itself no file", M(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), NULL, {0}, 0,
         NOT_GRANTED "|\"asked\":\"read @/data\",\"field\":\"/files/0\",\"granted\":\"none\""},
        {"policy grants", M(",\"files\":[{\"path\":\"@/data/in\",\"access\":\"read\",\"at\":\"/in\"}]"), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {0}, 0,
         "{\"access\":\"read\",\"source\":\"@/data/in\",\"target\":\"/in\"}|\"reductions\":[]"},
        {"policy grants less", M(",\"files\":[{\"path\":\"@/data/in\",\"access\":\"write\"}]"), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {0}, 0,
         "{\"access\":\"read\",\"source\":\"@/data/in\"|\"granted\":\"read\""},
        {"the longer root does not take the wider one's right", M(",\"files\":[{\"path\":\"@/data/in\",\"access\":\"write\"}]"),
         P(",\"files\":[{\"path\":\"@/data\",\"access\":\"write\"},{\"path\":\"@/data/in\",\"access\":\"read\"}]"), {0}, 0, "{\"access\":\"write\",\"source\":\"@/data/in\""},
        {"another root", M(",\"files\":[{\"path\":\"@/other\",\"access\":\"read\"}]"), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {0}, 0,
         NOT_GRANTED "|no root of policy.json#/files"},
        {"a name that only begins like the root", M(",\"files\":[{\"path\":\"@/data2\",\"access\":\"read\"}]"), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {0},
         0, NOT_GRANTED},
        {"a symlink out of the root", M(",\"files\":[{\"path\":\"@/data/link\",\"access\":\"read\"}]"), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {0}, 0,
         NOT_GRANTED "|covers @/other"},
        {"a symlink to a granted root", M(",\"files\":[{\"path\":\"@/data/link/file\",\"access\":\"read\",\"at\":\"/f\"}]"),
         P(",\"files\":[{\"path\":\"@/other\",\"access\":\"read\"}]"), {0}, 0, "\"source\":\"@/other/file\",\"target\":\"/f\""},
        {"a root that is a symlink", M(",\"files\":[{\"path\":\"@/other/file\",\"access\":\"read\"}]"), P(",\"files\":[{\"path\":\"@/data/link\",\"access\":\"read\"}]"), {0}, 0,
         "\"source\":\"@/other/file\""},
        {"granted but not there", M(",\"files\":[{\"path\":\"@/data/gone\",\"access\":\"read\"}]"), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {0}, GRANT_E_SOURCE,
         "lethe.json#/files/0/path|@/data/gone does not exist"},
        {"not there and not granted tells nothing of it", M(",\"files\":[{\"path\":\"@/gone\",\"access\":\"read\"}]"), NULL, {0}, 0, NOT_GRANTED},
        {"-v is a grant", M(""), NULL, {"volume", "@/data:/in"}, 0, "{\"access\":\"read\",\"source\":\"@/data\",\"target\":\"/in\"}"},
        {"-v for writing", M(""), NULL, {"volume", "@/data:/in:rw"}, 0, "{\"access\":\"write\",\"source\":\"@/data\""},
        {"-v under a root", M(""), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {"volume", "@/data/in:/in"}, 0, "\"source\":\"@/data/in\""},
        {"-v that policy forbids", M(""), P(",\"files\":[]"), {"volume", "@/data:/in"}, GRANT_E_REFUSED, "-v @/data:/in|policy.json#/files"},
        {"-v for writing that policy forbids", M(""), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {"volume", "@/data:/in:rw"}, GRANT_E_REFUSED, "to write it"},
        {"-v of a symlink out of the root", M(""), P(",\"files\":[{\"path\":\"@/data\",\"access\":\"read\"}]"), {"volume", "@/data/link:/in"}, GRANT_E_REFUSED, "@/other"},
        {"-v gives the manifest's file", M(",\"files\":[{\"path\":\"/srv/in\",\"access\":\"read\"}]"), NULL, {"volume", "@/data/in:/srv/in"}, 0,
         "\"source\":\"@/data/in\",\"target\":\"/srv/in\"|\"reductions\":[]"},
        {"-v read-only where the skill wants to write", M(",\"files\":[{\"path\":\"/srv/in/x\",\"access\":\"write\"}]"), NULL, {"volume", "@/data/in:/srv/in"}, 0,
         "\"granted\":\"read\"|is read-only"},
        {"folders before what lies in them", M(""), NULL, {"volume", "@/data/in:/a/b", "volume", "@/data:/a"}, 0, "\"target\":\"/a\"}"},
        /* Environment. */
        {"environment", M(",\"environment\":{\"A\":\"1\",\"LANG\":\"de\"}"), NULL, {"env", "A=2", "env", "B=x=y"}, 0,
         "\"A=2\"|\"B=x=y\"|\"LANG=de\"|\"HOME=/work\"|\"PATH=/lethe/bin:/usr/local/bin:/usr/bin:/bin\"|\"LETHE_IN=3\""},
        {"workdir", M(""), NULL, {"workdir", "/skill//bin/"}, 0, "\"workdir\":\"/skill/bin\""},
        {"proc", M(""), NULL, {"proc", NULL}, 0, "\"proc\":true"},
        /* a terminal has its user, and ends with the user; unless somebody says an end. */
        {"a terminal has no end", M(""), NULL, {"tty", NULL}, 0, "\"cpu_usec\":null|\"wall_usec\":null"},
        {"unless the manifest says one", M(",\"budgets\":{\"wall\":\"40s\"}"), NULL, {"tty", NULL}, 0, "\"cpu_usec\":30000000|\"wall_usec\":40000000"},
        {"or the processor's", M(",\"budgets\":{\"cpu\":\"4s\"}"), NULL, {"tty", NULL}, 0, "\"cpu_usec\":4000000|\"wall_usec\":null"},
        {"or the command line", M(""), NULL, {"tty", NULL, "timeout", "50s"}, 0, "\"cpu_usec\":50000000|\"wall_usec\":50000000"},
        {"or the policy", M(""), P(",\"max\":{\"wall\":\"60s\"}"), {"tty", NULL}, 0, "\"wall_usec\":60000000"},
        {"terminals", M(""), NULL, {"terminals", NULL}, 0, "\"terminals\":true"},
        /* The end of a region (I-29..I-32, I-35). */
        {"zero by default", M(""), NULL, {0}, 0, "\"discipline\":\"zero\"|\"passes\":1|\"lineage\":\"events\"|\"key_scope\":\"invocation\"|\"release\":[]"},
        {"what the skill says", M(",\"teardown\":{\"discipline\":\"multipass\"}"), NULL, {0}, 0, "\"discipline\":\"multipass\"|\"passes\":3"},
        {"more by the command line", M(",\"teardown\":{\"discipline\":\"multipass\"}"), NULL, {"discipline", "multipass:7"}, 0, "\"passes\":7"},
        {"less by the command line", M(",\"teardown\":{\"discipline\":\"multipass\"}"), NULL, {"discipline", "zero"}, GRANT_E_REFUSED,
         "--discipline zero|teardown/discipline asks (multipass:3)"},
        {"fewer passes by the command line", M(",\"teardown\":{\"discipline\":\"multipass\"}"), NULL, {"discipline", "multipass:2"}, GRANT_E_REFUSED, "multipass:2"},
        {"none is for the trusted", M(",\"teardown\":{\"discipline\":\"none\"}"), NULL, {0}, GRANT_E_REFUSED, "discipline none|trusted|\"digest\": \"sha256:"},
        {"a row is not trust", M(",\"teardown\":{\"discipline\":\"none\"}"), P(",\"skills\":{\"skill\":{\"trusted\":false}}"), {0}, GRANT_E_REFUSED,
         "policy.json#/skills/skill"},
        {"none, but the operator wants more", M(",\"teardown\":{\"discipline\":\"none\"}"), NULL, {"discipline", "zero"}, 0, "\"discipline\":\"zero\""},
        {"none of the command line", M(""), NULL, {"discipline", "none"}, GRANT_E_REFUSED, "trusted"},
        {"a program is not trusted", NULL, NULL, {"discipline", "none"}, GRANT_E_REFUSED, "not for a program", "/bin/sh"},
        {"a program may have more", NULL, NULL, {"discipline", "multipass"}, 0, "\"discipline\":\"multipass\"", "/bin/sh"},
        {"callbacks", "{\"version\":1,\"entry\":{\"main\":[\"run.sh\"],\"back\":[\"bin/tool\",\"-x\"]},\"budgets\":{\"memory\":\"64m\"},\"resources\":[\"seat\"],"
         "\"release\":[{\"entry\":\"back\",\"budgets\":{\"memory\":\"1g\",\"wall\":\"1s\"}}]}", NULL, {0}, 0,
         "\"entry\":\"back\",\"program\":\"/skill/bin/tool\"|\"resources\":[\"seat\"]|\"field\":\"/release/0/budgets/memory\",\"granted\":\"32 MiB\""},
        {"a callback that is not there", "{\"version\":1,\"entry\":{\"main\":[\"run.sh\"],\"back\":[\"./gone\"]},\"release\":[{\"entry\":\"back\"}]}", NULL, {0},
         GRANT_E_NOT_FOUND, "gone"},
        {"the rest", M(",\"reads\":[\"s\"],\"lineage\":\"stats\",\"key_scope\":\"invocation-tree\",\"sub_skills\":[\"other\"],\"gates\":[{\"slot\":\"s\",\"schema\":true}],"
         "\"sections\":{\"x\":{\"schema\":true,\"bytes\":9}}"), NULL, {0}, 0,
         "\"lineage\":\"stats\"|\"key_scope\":\"invocation-tree\"|\"sub_skills\":[\"other\"]|\"gates\":[\"s\"]|\"sections\":[{\"bytes\":9,\"name\":\"x\"}]"},
        {"regions", M(""), P(",\"max_regions\":5,\"concurrency\":{\"*\":3,\"skill\":2}"), {0}, 0, "\"max_of_skill\":2|\"max_regions\":5"},
};

Test(grant, cases, .init = setup, .fini = teardown) {
        for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
                check(&cases[i]);
}

/* I-31: trust is given to a content, not to a name. */
Test(grant, none_for_the_trusted, .init = setup, .fini = teardown) {
        static const Case c = {"trusted", M(",\"teardown\":{\"discipline\":\"none\"}"), NULL, {0}, GRANT_E_REFUSED, ""};
        _cleanup_grant_ Grant g = {0}, again = {0};
        _cleanup_skill_ Skill *s = NULL;
        char policy[512], skill[PATH_MAX];
        Case trusted = c;
        Diag d = {0};

        cr_assert_eq(make(&c, &g, &d), GRANT_E_REFUSED);
        snprintf(skill, sizeof(skill), "%.4000s/skill", temp.path);
        cr_assert_eq(skill_load(skill, &s, &d), 0, "%s", d.text);
        snprintf(policy, sizeof(policy), "{\"version\":1,\"skills\":{\"skill\":{\"trusted\":true,\"digest\":\"%s\"}}}", s->bundle.digest);
        trusted.policy = policy;
        cr_assert_eq(make(&trusted, &again, &d), 0, "%s", d.text);
        cr_expect(again.discipline == DISCIPLINE_NONE && again.passes == 0);
}

/* I-2, I-10: the ledger gets neither arguments nor values of the environment. */
Test(grant, the_record_has_no_words_of_the_user, .init = setup, .fini = teardown) {
        static const Case c = {"secrets", M(",\"environment\":{\"A\":\"manifest-value\"}"), NULL, {"env", "TOKEN=hunter2"}, 0, ""};
        char *args[] = {"prompt-of-the-user", NULL};
        _cleanup_grant_ Grant g = {0};
        _cleanup_json_ json_t *j = NULL;
        _cleanup_free_ char *text = NULL;
        Diag d = {0};

        cr_assert_eq(make(&c, &g, &d), 0, "%s", d.text);
        cr_assert_eq(strv_add(&g.argv, args[0]), 0);
        j = grant_to_json(&g);
        cr_assert_eq(json_canonical(j, &text, NULL), 0);
        cr_expect_null(strstr(text, "hunter2"));
        cr_expect_null(strstr(text, "manifest-value"));
        cr_expect_null(strstr(text, "prompt-of-the-user"));
        cr_expect(strstr(text, "\"arguments\":1"), "%s", text);
}

// I-33: of arguments there may be a request full: what is done for each does not grow with those before it, because nothing cancels that
Test(grant, very_many_arguments, .init = setup, .fini = teardown) {
        const size_t n = 1000000;
        _cleanup_free_ char **args = calloc(n + 1, sizeof(*args));
        _cleanup_policy_ Policy *p = NULL;
        RunRequest q = {0};
        _cleanup_grant_ Grant g = {0};
        Diag d = {0};

        cr_assert(args);
        for (size_t i = 0; i < n; i++)
                args[i] = (char *)"";
        cr_assert_eq(policy_parse(P(""), strlen(P("")), "policy.json", &p, &d), 0, "%s", d.text);
        cr_assert_eq(request_exec(&q, "/bin/true", &d), 0, "%s", d.text);
        q.args = args;
        cr_assert_eq(policy_grant(NULL, &q, p, &g, &d), 0, "%s", d.text);
        cr_expect_eq(strv_length(g.argv), n + 1);
        q.args = NULL; /* borrowed */
        request_deinit(&q);
}

/* However long its lists are, a record fits into a ledger entry. */
Test(grant, the_record_is_bounded, .init = setup, .fini = teardown) {
        static const Case c = {"bounded", M(""), NULL, {0}, 0, ""};
        _cleanup_grant_ Grant g = {0};
        _cleanup_json_ json_t *j = NULL;
        _cleanup_free_ char *text = NULL, *shown = NULL;
        char rule[4096];
        Diag d = {0};
        size_t n;

        cr_assert_eq(make(&c, &g, &d), 0, "%s", d.text);
        memset(rule, 'r', sizeof(rule));
        rule[sizeof(rule) - 1] = 0;
        for (int i = 0; i < 100; i++)
                cr_assert_eq(json_array_append_new(g.reductions, json_pack("{s:s, s:s, s:s, s:s}", "field", "/f", "asked", rule, "granted", "none",
                                                                           "rule", rule)), 0);
        j = grant_to_json(&g);
        cr_assert_eq(json_canonical(j, &text, &n), 0);
        cr_expect(n <= GRANT_RECORD_MAX, "%zu bytes", n);
        cr_expect(strstr(text, "\"reductions\":{\"cut\":100}"), "%s", text);
        shown = grant_show_text(&g);
        cr_expect(strlen(shown) > 800000, "a person gets all of it");
}

/* Law: for every budget and every three values, the grant exceeds neither the manifest, nor the command line, nor the policy; and granting
 * again with the grant's own values changes nothing. */
TheoryDataPoints(grant, budget_law) = {
        DataPoints(size_t, 0, 1, 2, 3, 4, 5, 6, 7),
        DataPoints(unsigned, 0, 1, 3, 7),
        DataPoints(unsigned, 0, 2, 3, 8),
        DataPoints(unsigned, 0, 1, 4, 9),
};

Theory((size_t field, unsigned manifest, unsigned request, unsigned policy), grant, budget_law) {
        const BudgetField *f = &budget_fields[field];
        Skill s = {.dir = "/s", .md = {.name = "s"}, .has_manifest = true, .manifest = manifest_none()};
        char *argv[] = {"true", NULL};
        ManifestEntry e = {.name = "main", .argv = argv};
        RunRequest q = {0};
        Policy p = {.path = "p", .max_regions = 1};
        _cleanup_grant_ Grant g = {0}, again = {0};
        uint64_t v;

        s.manifest.entries = &e;
        s.manifest.n_entries = 1;
        *budget_at(&s.manifest.budget, f) = manifest * f->least * 2;
        *budget_at(&q.budget, f) = request * f->least * 2;
        *budget_at(&p.limits.max, f) = policy * f->least * 2;
        cr_assert_eq(policy_grant(&s, &q, &p, &g, NULL), 0);
        v = budget_get(&g.budget, f);
        cr_expect(v > 0 && v <= f->most);
        cr_expect(manifest == 0 || v <= manifest * f->least * 2, "%s: more than the manifest", f->name);
        cr_expect(request == 0 || v <= request * f->least * 2, "%s: more than the command line", f->name);
        cr_expect(policy == 0 || v <= policy * f->least * 2, "%s: more than the policy", f->name);
        cr_expect(manifest || request || policy || v == f->standard, "%s: not the default", f->name);
        /* Whoever asked for more than was given is told so, and nobody else. */
        cr_expect_eq(json_array_size(g.reductions) > 0, (manifest && v < manifest * f->least * 2) || (request && v < request * f->least * 2) ||
                                                                (!manifest && !request && v < f->standard), "%s: reductions", f->name);
        *budget_at(&s.manifest.budget, f) = *budget_at(&q.budget, f) = v;
        cr_assert_eq(policy_grant(&s, &q, &p, &again, NULL), 0);
        cr_expect_eq(budget_get(&again.budget, f), v, "%s: not idempotent", f->name);
        cr_expect_eq(json_array_size(again.reductions), 0);
        e.argv = NULL;
}

/* Law: without the command line, what is granted of network and files is in the manifest and in the policy. */
TheoryDataPoints(grant, rights_law) = {
        DataPoints(unsigned, 0, 1, 2, 3, 4, 5, 6, 7),
        DataPoints(unsigned, 0, 1, 2, 3, 4, 5, 6, 7),
};

static NetGrant address(unsigned i) {
        return (NetGrant){.text = (char *[]){"127.0.0.1:1", "127.0.0.1:2", "127.0.0.1:3"}[i], .family = AF_INET, .addr = {127, 0, 0, 1}, .port = (uint16_t)(i + 1)};
}

Theory((unsigned asked, unsigned allowed), grant, rights_law) {
        static char *const paths[] = {"/a", "/b", "/b/c"};
        Skill s = {.dir = "/s", .md = {.name = "s"}, .has_manifest = true, .manifest = manifest_none()};
        char *argv[] = {"true", NULL};
        ManifestEntry e = {.name = "main", .argv = argv};
        NetGrant ask_net[3], allow_net[3];
        FileAsk ask_file[3];
        PolicyFile allow_file[3];
        RunRequest q = {0};
        Policy p = {.path = "p", .max_regions = 1, .limits = {.network_said = true, .files_said = true}};
        _cleanup_grant_ Grant g = {0};
        size_t expected = 0;

        s.manifest.entries = &e;
        s.manifest.n_entries = 1;
        s.manifest.connects = ask_net;
        s.manifest.files = ask_file;
        p.limits.connects = allow_net;
        p.limits.files = allow_file;
        for (unsigned i = 0; i < 3; i++) {
                if (asked & 1U << i) {
                        ask_net[s.manifest.n_connects++] = address(i);
                        ask_file[s.manifest.n_files++] = (FileAsk){.path = paths[i], .real = paths[i], .target = paths[i], .write = true};
                }
                if (allowed & 1U << i) {
                        allow_net[p.limits.n_connects++] = address(i);
                        allow_file[p.limits.n_files++] = (PolicyFile){.path = paths[i], .write = i == 1};
                }
        }
        cr_assert_eq(policy_grant(&s, &q, &p, &g, NULL), 0);
        cr_expect_eq(g.n_connects, (size_t)__builtin_popcount(asked & allowed));
        for (size_t i = 0; i < g.n_connects; i++)
                cr_expect(asked & allowed & 1U << (g.connects[i].port - 1));
        for (unsigned i = 0; i < 3; i++)
                expected += (asked & 1U << i) && ((allowed & 1U << i) || (i == 2 && allowed & 2U));
        cr_expect_eq(g.n_files, expected);
        for (size_t i = 0; i < g.n_files; i++)
                cr_expect_eq(g.files[i].write, path_is_under(g.files[i].source, "/b") && (allowed & 2U), "%s", g.files[i].source);
}
