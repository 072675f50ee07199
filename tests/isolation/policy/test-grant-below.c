/* Runs: tests. The grant of a region that another region starts, and of one whose record is all that is left. */
#include "tests/isolation/policy/grant-fixture.h"

/* Rights of a region that another one starts (I-21, I-23, I-32): the grant of `above` is made from its own manifest and command line. */
typedef struct Below {
        const char *what, *above, *options[4], *general; /* of above, and the policy for it */
        const char *child, *policy; /* NULL: the same as for above */
        const char *expect, *absent; /* pieces of the child's record */
} Below;

#define FILES(access) ",\"files\":[{\"path\":\"@/data/in\",\"access\":\"" access "\"}]"
#define CONNECT ",\"network\":{\"connect\":[\"127.0.0.1:80\"]}"
#define ALLOW ",\"network\":{\"allow\":[\"a.example.net:443\"]}"
#define GENERAL_FILES ",\"files\":[{\"path\":\"@/data\",\"access\":\"write\"}]"
#define ROW(x) ",\"skills\":{\"skill\":{\"digest\":\"$\"" x "}}" /* $: the digest of the child */
#define HOST ",\"network\":{\"host\":true}"
#define ASK_HOST ",\"network\":\"host\""
#define LOOPBACK ",\"network\":\"loopback\""
#define MEMORY_OF(scope, access, family) ",\"memory\":[{\"scope\":\"" scope "\",\"" access "\":[\"" family "\"]}]"
#define SEES(x) ",\"reads\":[" x "]"
#define KEEPS(x) ",\"writes\":[" x "]"
#define AS_SUB(x) ROW(",\"as_sub_skill\":{" x "}")
#define TEARDOWN(x) ",\"teardown\":{\"discipline\":\"" x "\"}"
static const Below below[] = {
        {"files: the general policy is not enough", M(""), {0}, P(GENERAL_FILES), M(FILES("read")),
         NULL, NOT_GRANTED "|\"rule\":\"the region above lacks", "beyond"},
        {"files: as above", M(FILES("write")), {0}, P(GENERAL_FILES), M(FILES("write")), NULL, "\"access\":\"write\"|\"reductions\":[]", "beyond"},
        {"files: above may read", M(FILES("read")), {0}, P(GENERAL_FILES), M(FILES("write")),
         NULL, "\"access\":\"read\"|\"granted\":\"read\"", "beyond"},
        {"files: a mount of the command line", M(""), {"volume", "@/data:/d"}, P(GENERAL_FILES), M(FILES("write")),
         NULL, "\"access\":\"read\"", "beyond"},
        {"files: beside what is above", M(""), {"volume", "@/data/out:/d"}, P(GENERAL_FILES), M(FILES("read")), NULL, NOT_GRANTED, "beyond"},
        {"files: a name is no folder", M(""), {"volume", "@/data/in/file:/d"}, P(GENERAL_FILES), M(FILES("read")), NULL, NOT_GRANTED, "beyond"},
        {"files: a row of its own", M(""), {0}, P(""), M(FILES("write")),
         P(ROW(FILES("read"))), "\"access\":\"read\"|\"beyond_parent\":[\"read @/data/in\"]", NULL},
        {"files: a row that adds nothing", M(FILES("write")), {0}, P(GENERAL_FILES), M(FILES("read")),
         P(ROW(FILES("write"))), "\"access\":\"read\"|\"reductions\":[]", "beyond"},
        {"files: a row without files", M(""), {0}, P(GENERAL_FILES), M(FILES("read")), P(GENERAL_FILES ROW("")), NOT_GRANTED, "beyond"},
        {"connect: the general policy is not enough", M(""), {0}, P(CONNECT), M(CONNECT), NULL, "\"connect\":[]|\"mode\":\"none\"", "beyond"},
        {"connect: as above", M(CONNECT), {0}, P(CONNECT), M(CONNECT), NULL, "\"mode\":\"connect\"|\"reductions\":[]", "beyond"},
        {"connect: above has the host's", M(""), {"network", "host"}, P(""), M(CONNECT),
         P(CONNECT), "\"mode\":\"connect\"|\"reductions\":[]", "beyond"},
        {"connect: a row of its own", M(""), {0}, P(""), M(CONNECT),
         P(ROW(CONNECT)), "\"mode\":\"connect\"|\"beyond_parent\":[\"connect 127.0.0.1:80\"]", NULL},
        {"connect: the command line said none", M(""), {"network", "none"}, P(""), M(CONNECT),
         P(ROW(CONNECT)), "\"mode\":\"none\"|command line --network none", "beyond"},
        {"allow: the general policy is not enough", M(""), {0}, P(ALLOW), M(ALLOW), NULL, "\"mode\":\"none\"|\"field\":\"/network/allow\"|\"rule\":\"the region above lacks", "beyond"},
        {"allow: as above", M(ALLOW), {0}, P(ALLOW), M(ALLOW), NULL, "\"allow\":[\"a.example.net:443\"]|\"mode\":\"loopback\"|\"reductions\":[]", "beyond"},
        {"allow: below a star above", M(""), {"allow", "*.example.net:443"}, P(""), M(ALLOW), P(ALLOW), "\"allow\":[\"a.example.net:443\"]|\"reductions\":[]", "beyond"},
        {"allow: above has the host's", M(""), {"network", "host"}, P(""), M(ALLOW), P(ALLOW), "\"mode\":\"loopback\"|\"reductions\":[]", "beyond"},
        {"allow: a row of its own", M(""), {0}, P(""), M(ALLOW), P(ROW(ALLOW)), "\"mode\":\"loopback\"|\"beyond_parent\":[\"allow a.example.net:443\"]", NULL},
        {"allow: the command line said none", M(""), {"network", "none"}, P(""), M(ALLOW), P(ROW(ALLOW)), "\"mode\":\"none\"|command line --network none", "beyond"},
        {"host: not above", M(""), {0}, P(HOST), M(ASK_HOST), NULL, "\"mode\":\"none\"", "beyond"},
        {"host: above has addresses", M(CONNECT), {0}, P(CONNECT), M(ASK_HOST), P(HOST), "\"mode\":\"none\"", "beyond"},
        {"host: a row of its own", M(""), {0}, P(""), M(ASK_HOST), P(ROW(HOST)), "\"mode\":\"host\"|\"beyond_parent\":[\"network host\"]", NULL},
        {"host: the command line said none", M(""), {"network", "none"}, P(""), M(ASK_HOST),
         P(ROW(HOST)), "\"mode\":\"none\"|command line --network none", "beyond"},
        {"loopback: not above", M(""), {0}, NULL, M(LOOPBACK), NULL, "\"mode\":\"none\"|\"asked\":\"loopback\"", "beyond"},
        {"loopback: as above", M(LOOPBACK), {0}, NULL, M(LOOPBACK), NULL, "\"mode\":\"loopback\"|\"reductions\":[]", "beyond"},
        {"loopback: a row with a network", M(""), {0}, NULL, M(LOOPBACK),
         P(ROW(CONNECT)), "\"mode\":\"loopback\"|\"beyond_parent\":[\"network loopback\"]", NULL},
        {"slots: not above", M(""), {0}, NULL, M(SEES("\"a\"") KEEPS("\"b\"")), NULL,
         "\"reads\":[]|\"writes\":[]|{\"asked\":\"a\",\"field\":\"/reads\",\"granted\":\"none\",\"rule\":\"the region above lacks|\"asked\":\"b\",\"field\":\"/writes\"",
         "beyond"},
        {"slots: as above", M(SEES("\"a\"") KEEPS("\"b\"")), {0}, NULL, M(SEES("\"a\"") KEEPS("\"b\"")), NULL, "\"reads\":[\"a\"]|\"writes\":[\"b\"]|\"reductions\":[]", "beyond"},
        {"slots: above writes what it wants to read, and reads what it wants to write", M(SEES("\"a\"") KEEPS("\"b\"")), {0}, NULL,
         M(SEES("\"b\",\"a\"") KEEPS("\"a\",\"b\"")), NULL, "\"reads\":[\"a\"]|\"writes\":[\"b\"]", "beyond"},
        {"slots: a row of its own", M(SEES("\"a\"")), {0}, NULL, M(SEES("\"a\",\"c\",\"d\"") KEEPS("\"b\"")), P(AS_SUB("\"reads\":[\"c\",\"x\"],\"writes\":[\"b\"]")),
         "\"reads\":[\"a\",\"c\"]|\"writes\":[\"b\"]|\"beyond_parent\":[\"slot read c\",\"slot write b\"]|\"asked\":\"d\"", NULL},
        {"slots: definitions go with them", M(KEEPS("\"b\"")), {0}, NULL, M(KEEPS("\"b\",\"c\"") ",\"slots\":{\"b\":{},\"c\":{}}"), NULL,
         "\"slots\":[\"b\"]|\"asked\":\"c\",\"field\":\"/slots\"", "beyond"},
        {"memory: not above", M(""), {0}, NULL, M(MEMORY_OF("default", "read", "memory_substrate")), NULL,
         "\"memory\":[{\"scope\":\"default\"}]|\"asked\":\"memory_substrate\",\"field\":\"/memory/0/read\",\"granted\":\"none\",\"rule\":\"the region above lacks", "beyond"},
        {"memory: the general policy is not enough", M(""), {0}, P(MEMORY_OF("default", "write", "memory_substrate")), M(MEMORY_OF("default", "write", "memory_substrate")),
         NULL, "\"memory\":[{\"scope\":\"default\"}]", "beyond"},
        {"memory: as above", M(MEMORY_OF("default", "write", "skill_artifacts")), {0}, NULL, M(MEMORY_OF("default", "write", "skill_artifacts")), NULL,
         "\"memory\":[{\"scope\":\"default\",\"write\":[\"skill_artifacts\"]}]|\"reductions\":[]", "beyond"},
        {"memory: another family", M(MEMORY_OF("default", "write", "skill_artifacts")), {0}, NULL, M(MEMORY_OF("default", "write", "memory_substrate\",\"skill_artifacts")), NULL,
         "\"memory\":[{\"scope\":\"default\",\"write\":[\"skill_artifacts\"]}]|\"granted\":\"skill_artifacts\"", "beyond"},
        {"memory: another access", M(MEMORY_OF("default", "read", "memory_substrate")), {0}, NULL, M(MEMORY_OF("default", "write", "memory_substrate")), NULL,
         "\"memory\":[{\"scope\":\"default\"}]", "beyond"},
        {"memory: another scope", M(MEMORY_OF("default", "read", "memory_substrate")), {0}, NULL, M(MEMORY_OF("other", "read", "memory_substrate")), NULL,
         "\"memory\":[{\"scope\":\"other\"}]", "beyond"},
        {"memory: a row of its own", M(MEMORY_OF("default", "read", "memory_substrate")), {0}, NULL, M(MEMORY_OF("default", "read", "memory_substrate\",\"skill_artifacts")),
         P(ROW(MEMORY_OF("default", "read", "memory_substrate\",\"skill_artifacts"))),
         "\"read\":[\"memory_substrate\",\"skill_artifacts\"]|\"beyond_parent\":[\"memory read skill_artifacts of default\"]|\"reductions\":[]", NULL},
        {"notes and belief: not above", M(""), {0}, NULL, M(",\"notes\":true,\"canon\":true"), NULL, "\"field\":\"/notes\"|\"field\":\"/canon\"", "\"canon\":\"default\""},
        {"notes and belief: as above", M(",\"notes\":true,\"canon\":true"), {0}, NULL, M(",\"notes\":true,\"canon\":true"), NULL,
         "\"notes\":\"default\"|\"canon\":\"default\"|\"reductions\":[]", "beyond"},
        {"kernels: not above (G-73)", M(""), {0}, NULL, M(",\"kernels\":true"), NULL, "\"field\":\"/kernels\"", "\"kernels\":\"default\""},
        {"kernels: as above", M(",\"kernels\":true"), {0}, NULL, M(",\"kernels\":true"), NULL, "\"kernels\":\"default\"|\"reductions\":[]", "beyond"},
        {"kernels: a row of its own", M(""), {0}, NULL, M(",\"kernels\":{\"scope\":\"other\"}"), P(AS_SUB("\"kernels\":\"other\"")),
         "\"kernels\":\"other\"|\"beyond_parent\":[\"kernels of other\"]", NULL},
        {"own notes go with the notes", M(""), {0}, NULL, M(",\"notes\":{\"scope\":\"default\",\"read\":true}"), NULL, "\"field\":\"/notes\"", "own_notes"},
        {"notes and belief: of another scope", M(",\"notes\":true,\"canon\":true"), {0}, NULL, M(",\"notes\":{\"scope\":\"other\"},\"canon\":{\"scope\":\"other\"}"), NULL,
         "\"field\":\"/notes\"|\"field\":\"/canon\"", "\"notes\":\"other\""},
        {"notes and belief: a row of its own", M(""), {0}, NULL, M(",\"notes\":{\"scope\":\"other\"},\"canon\":true"),
         P(AS_SUB("\"notes\":\"other\",\"canon\":\"default\"")), "\"notes\":\"other\"|\"canon\":\"default\"|\"beyond_parent\":[\"notes of other\",\"canon of default\"]", NULL},
        {"discipline: as strong as above", M(""), {"discipline", "multipass:5"}, NULL, M(""),
         NULL, "\"discipline\":\"multipass\"|\"passes\":5", "beyond"},
        {"discipline: stronger than above", M(""), {0}, NULL, M(TEARDOWN("multipass")), NULL, "\"passes\":3|\"reductions\":[]", "beyond"},
        {"discipline: trusted, but above is not", M(""), {0}, NULL, M(TEARDOWN("none")),
         P(ROW(",\"trusted\":true")), "\"discipline\":\"zero\"|no weaker than in", "beyond"},
        {"bound: not longer than above", M(",\"cancel_bound\":\"100ms\""), {0}, NULL, M(",\"cancel_bound\":\"9s\""),
         NULL, "\"cancel_bound_usec\":100000|\"asked\":\"9 s\"|\"field\":\"/cancel_bound\"|\"granted\":\"100 ms\"", "beyond"},
        {"bound: a floor raised it", M(",\"cancel_bound\":\"100ms\""), {0}, P(""), M(""), P(",\"bounds\":{\"cancel_bound\":{\"floor\":\"2s\"}}"),
         "\"cancel_bound_usec\":100000|\"asked\":\"2 s\"|\"granted\":\"100 ms\"", "beyond"},
        {"bound: nobody declared it", M(",\"cancel_bound\":\"100ms\""), {0}, NULL, M(""), NULL, "\"cancel_bound_usec\":100000", "/cancel_bound"},
};

static char *digest_now(void) {
        _cleanup_skill_ Skill *s = NULL;
        char path[PATH_MAX];
        Diag d = {0};

        snprintf(path, sizeof(path), "%.4000s/skill", temp.path);
        cr_assert_eq(skill_load(path, &s, &d), 0, "%s", d.text);
        return strdup(s->bundle.digest);
}

/* Owned; the digest in place of a $. */
static char *with_digest(const char *policy, const char *digest) {
        const char *whole = expand(policy), *at = strchr(whole, '$');
        char *out = NULL;

        cr_assert(asprintf(&out, "%.*s%s%s", (int)(at ? at - whole : 0), whole, at ? digest : "", at ? at + 1 : whole) > 0);
        return out;
}

Test(grant, below_another_region, .init = setup, .fini = teardown) {
        for (size_t i = 0; i < ARRAY_SIZE(below); i++) {
                const Below *b = &below[i];
                _cleanup_grant_ Grant above = {0}, g = {0};
                _cleanup_free_ char *digest = NULL, *policy = NULL, *record = NULL, *pieces = strdup(expand(b->expect));
                _cleanup_policy_ Policy *p = NULL;
                _cleanup_json_ json_t *j = NULL;
                const Case child = {.what = b->what, .manifest = b->child}, one_above = {.what = b->what, .manifest = b->above, .policy = b->general,
                                                                                        .options = {b->options[0], b->options[1]}};
                Case with_policy = child;
                const Budget most = budget_most();
                char *at = NULL;
                Diag d = {0};

                cr_assert_eq(make(&one_above, &above, &d), 0, "%s: %s", b->what, d.text);
                put("skill/lethe.json", expand(b->child), 0644);
                digest = digest_now();
                policy = with_digest(b->policy ?: b->general ?: P(""), digest);
                cr_assert_eq(policy_parse(policy, strlen(policy), "policy.json", &p, &d), 0, "%s: %s", b->what, d.text);
                with_policy.policy = policy;
                cr_assert_eq(make(&with_policy, &g, &d), 0, "%s: %s", b->what, d.text);
                cr_assert_eq(grant_attenuate(&g, &above, &most, p, &d), 0, "%s: %s", b->what, d.text);
                j = grant_to_json(&g);
                cr_assert_eq(json_canonical(j, &record, NULL), 0);
                for (char *s = strtok_r(pieces, "|", &at); s; s = strtok_r(NULL, "|", &at))
                        cr_expect(strstr(record, s), "%s: no %s in %s", b->what, s, record);
                cr_expect(!b->absent || !strstr(record, b->absent), "%s: %s in %s", b->what, b->absent, record);
        }
}

// I-20, I-23: a gate's evidence is what stands in its slot
Test(grant, gates_below_another_region, .init = setup, .fini = teardown) {
        static const struct {
                const char *above;
                int code;
        } rows[] = {{M(""), GRANT_E_GATE}, {M(SEES("\"ok\"")), 0}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_grant_ Grant above = {0}, g = {0};
                const Budget most = budget_most();
                Diag d = {0};

                cr_assert_eq(make(&(Case){.what = "above", .manifest = rows[i].above}, &above, &d), 0, "%s", d.text);
                cr_assert_eq(make(&(Case){.what = "below", .manifest = M(SEES("\"ok\"") ",\"gates\":[{\"slot\":\"ok\",\"schema\":{}}]")}, &g, &d), 0, "%s", d.text);
                cr_expect_eq(grant_attenuate(&g, &above, &most, NULL, &d), rows[i].code, "row %zu: %s", i, d.text);
        }
}

/* A grant that is read back from a record allows at most what was recorded. */
Test(grant, recorded, .init = setup, .fini = teardown) {
        _cleanup_grant_ Grant g = {0}, back = {0};
        _cleanup_json_ json_t *j = NULL, *cut = NULL;
        Diag d = {0};

        cr_assert_eq(make(&(Case){.what = "recorded", .manifest = M(FILES("write") CONNECT SEES("\"a\"") KEEPS("\"b\",\"c\"")
                                                                    MEMORY_OF("default", "write", "skill_artifacts") ",\"notes\":true"), .policy = P(GENERAL_FILES CONNECT), .options = {"memory", "77m"}}, &g,
                          &d), 0, "%s", d.text);
        j = grant_to_json(&g);
        cr_assert_eq(grant_recorded(j, &back), 0);
        cr_expect(memcmp(&back.budget, &g.budget, sizeof(Budget)) == 0 && back.cancel_bound_usec == g.cancel_bound_usec);
        cr_expect(back.n_files == 1 && strcmp(back.files[0].source, g.files[0].source) == 0 && back.files[0].write);
        cr_expect(back.network == NETWORK_CONNECT && back.n_connects == 1 && net_same(&back.connects[0], &g.connects[0]));
        cr_expect(back.discipline == g.discipline && back.passes == g.passes);
        cr_expect(strv_has(back.reads, "a") && strv_length(back.reads) == 1 && strv_has(back.writes, "c") && strv_length(back.writes) == 2);
        cr_expect(memory_rights_same(back.memory, back.n_memory, g.memory, g.n_memory) && back.n_memory == 1);
        cr_expect(back.notes && strcmp(back.notes, "default") == 0 && !back.canon);
        grant_deinit(&back);
        back = (Grant){0};
        cut = json_pack("{s:{s:i}, s:{s:i}, s:s}", "files", "cut", 9, "network", "cut", 9, "discipline", "of another version");
        json_object_set_new(cut, "reads", json_pack("{s:i}", "cut", 9));
        json_object_set_new(cut, "memory", json_pack("{s:i}", "cut", 9));
        cr_assert_eq(grant_recorded(cut, &back), 0);
        cr_expect(back.n_files == 0 && back.network == NETWORK_NONE && back.n_connects == 0 && back.discipline == DISCIPLINE_MULTIPASS);
        cr_expect(!back.reads && back.n_memory == 0);
}

/* A copy for a region that is prepared ahead has the same rights, and nothing of the invocation; any other right is another grant. */
Test(grant, copied, .init = setup, .fini = teardown) {
        _cleanup_grant_ Grant g = {0}, copy = {0};
        Diag d = {0};

        cr_assert_eq(make(&(Case){.what = "copied", .manifest = M(FILES("write") CONNECT SEES("\"a\"") KEEPS("\"b\",\"c\"") MEMORY_OF("default", "write", "skill_artifacts")
                                                                  ",\"notes\":true,\"slots\":{\"b\":{\"type\":\"string\"}},\"release\":[{\"entry\":\"main\"}]"),
                                  .policy = P(GENERAL_FILES CONNECT), .options = {"name", "mine"}}, &g, &d), 0, "%s", d.text);
        cr_assert(g.n_files == 1 && g.n_connects == 1 && g.n_releases == 1 && g.n_memory == 1 && g.name && g.argv);
        cr_assert_eq(grant_copy_untold(&g, &copy), 0);
        cr_expect(grant_same(&g, &copy) && grant_same(&copy, &g));
        cr_expect(!copy.argv && !copy.env && !copy.name && !copy.reductions && copy.cancel_bound_usec == g.cancel_bound_usec);
#define DIFFERS(change, back) \
        change; \
        cr_expect(!grant_same(&g, &copy), #change); \
        back; \
        cr_expect(grant_same(&g, &copy), #back)
        DIFFERS(copy.client = 7, copy.client = 0);
        DIFFERS(copy.budget.idle_usec--, copy.budget.idle_usec++);
        DIFFERS(copy.uids.count++, copy.uids.count--);
        DIFFERS(copy.network_closed = true, copy.network_closed = false);
        DIFFERS(copy.discipline = DISCIPLINE_NONE, copy.discipline = g.discipline);
        DIFFERS(copy.skill_digest[70] ^= 1, copy.skill_digest[70] ^= 1);
        DIFFERS(copy.reads[0][0] ^= 1, copy.reads[0][0] ^= 1);
        DIFFERS(json_object_set_new(copy.slots, "c", json_true()), json_object_del(copy.slots, "c"));
        DIFFERS(copy.files[0].write = false, copy.files[0].write = true);
        DIFFERS(copy.files[0].target[1] ^= 1, copy.files[0].target[1] ^= 1);
        DIFFERS(copy.connects[0].text[0] ^= 1, copy.connects[0].text[0] ^= 1);
        DIFFERS(copy.memory[0].may[MEMORY_DELETE] = MEMORY_ALL, copy.memory[0].may[MEMORY_DELETE] = 0);
        DIFFERS(copy.releases[0].budget.wall_usec++, copy.releases[0].budget.wall_usec--);
        DIFFERS(copy.cancel_ceiling_usec++, copy.cancel_ceiling_usec--);
}
