/* The answers of the ledger about readers of a value, and about its consequences; and the answers that it does not have. */
#include "audit/flow.h"
#include "engine/mutate.h"
#include "ledger/ledger.h"
#include "tests/support/store-fixture.h"

#include <stdio.h>
#include <string.h>

#define A "0000000000000000000000000a"
#define B "0000000000000000000000000b"
#define C "0000000000000000000000000c"
#define D "0000000000000000000000000d"

#define MEMORY "{\"memory\":[{\"read\":[\"memory_substrate\"],\"scope\":\"default\"}],\"canon\":\"default\",\"lineage\":\"events\"}"
#define OTHER "{\"memory\":[{\"read\":[\"knowledge_projections\"],\"scope\":\"default\"}],\"lineage\":\"events\"}"
#define STATS "{\"memory\":[{\"read\":[\"memory_substrate\"],\"scope\":\"default\"}],\"canon\":\"default\",\"lineage\":\"stats\"}"
#define LENDS "{\"key_scope\":\"invocation-tree\",\"lineage\":\"handles\"}"

static json_t *json_of(const char *text) {
        json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert(o, "%s", text);
        return o;
}

static void start(Txn *t, const char *id, const char *parent, const char *grant, const char *reads, const char *writes) {
        _cleanup_json_ json_t *g = json_of(grant);
        const char *r[] = {reads, NULL}, *w[] = {writes, NULL};
        Diag d = {0};

        cr_assert_eq(engine_region_start(t,
                                         &(RegionStart){.region = id, .parent = parent, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .grant = g, .reads = r,
                                                        .writes = w, .lineage = json_text(json_object_get(g, "lineage"))},
                                         NULL, NULL, &d),
                     0, "%s", d.text);
}

static void end(Txn *t, const char *id, bool keep) {
        _cleanup_json_ json_t *none = json_object();

        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, keep, none, none}, NULL, NULL, NULL), 0);
}

static void proposes(Txn *t, const char *id, const char *slot) {
        _cleanup_json_ json_t *one = json_integer(1);
        uint64_t seq, version;
        Diag d = {0};

        cr_assert_eq(engine_propose(t, id, slot, one, -1, NULL, &seq, &version, &d), 0, "%s", d.text);
}

static void says(Txn *t, const char *id, const char *type, const char *fields) {
        _cleanup_json_ json_t *o = json_of(fields);

        cr_assert_eq(engine_event(t, id, type, o, NULL), 0);
}

static void saves(Txn *t, const char *region, const char *id) {
        _cleanup_json_ json_t *payload = json_of("{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\"}");
        Mutated done;
        Diag d = {0};

        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_MEMORY, .op = OP_SAVE, .id = id, .type = "semantic", .payload = payload, .expect = MUTATION_ANY, .region = region,
                                                  .who = region ? NULL : "uid:0"},
                                   &done, &d),
                     0, "%s", d.text);
}

static void define(Txn *t, const char *name) {
        _cleanup_json_ json_t *schema = json_object(), *one = json_integer(1);
        uint64_t seq, version;
        Diag d = {0};

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, name, schema, &seq, &d), 0);
        cr_assert_eq(engine_slot_put(t, "uid:0", name, one, -1, &seq, &version, &d), 0);
}

/* The last character of a region's id, or the value as it is. */
static const char *short_name(const FlowNode *n, char text[static 300]) {
        return n->kind == FLOW_REGION ? n->name + REGION_ID_LEN - 1 : flow_show(n, text);
}

static int add_unknown(void *userdata, const FlowNode *region, const char *value, const char *why) {
        char *text = userdata;

        sprintf(text + strlen(text), "?%s:%s(%.20s) ", region->name + REGION_ID_LEN - 1, value ? value : "-", why);
        return 0;
}

/* The answer as one line: edges of a value, or what was reached with the distance; then what is not known. */
static void ask(StoreFixture *f, const char *what, bool derived, char ret[static 4000]) {
        _cleanup_txn_ Txn *t = store_fixture_begin(f, false);
        _cleanup_flow_ Flow flow = {0};
        FlowNode **found = NULL;
        char one[300], two[300];
        FlowAsked asked;
        size_t n = 0;

        *ret = 0;
        cr_assert_eq(flow_read(t, &flow, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(flow_ask(&flow, what, NULL, derived, &asked, &f->d), 0, "%s", f->d.text);
        if (derived)
                cr_assert_eq(flow_follow(&asked, &found, &n), 0);
        else
                flow_mark(&asked);
        for (size_t i = 0; i < n; i++)
                sprintf(ret + strlen(ret), "%u:%s ", found[i]->depth, short_name(found[i], one));
        for (const FlowNode *v = derived ? NULL : asked.first; v; v = v->next) {
                for (const FlowEdge *e = v->reached ? v->in : NULL; e; e = e->next_in)
                        sprintf(ret + strlen(ret), "%s %s %s; ", short_name(e->from, one), flow_how_word(e->how), short_name(e->to, two));
                for (const FlowEdge *e = v->reached ? v->out : NULL; e; e = e->next_out)
                        sprintf(ret + strlen(ret), "%s %s %s; ", short_name(e->to, one), flow_how_word(e->how), short_name(e->from, two));
        }
        cr_assert_eq(flow_unknown(&flow, &asked, add_unknown, ret), 0);
        free(found);
}

static void expect(StoreFixture *f, const char *what, bool derived, const char *says_so) {
        char text[4000];

        ask(f, what, derived, text);
        cr_expect_str_eq(text, says_so, "%s %s", derived ? "derived" : "touched", what);
}

// I-77: who read which version of a slot; at lineage stats which regions may have, by their grant and the version of that moment. Never a silent none.
Test(flow, versions_of_a_slot) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        define(t, "a");
        define(t, "b");
        start(t, A, NULL, "{\"lineage\":\"handles\"}", "a", "a");
        proposes(t, A, "a");
        end(t, A, true);
        start(t, B, NULL, "{\"lineage\":\"events\"}", "a", "b");
        start(t, C, NULL, STATS, "a", NULL);
        start(t, D, NULL, STATS, "b", "a");
        proposes(t, D, "a");
        end(t, B, true);
        end(t, C, true);
        end(t, D, true);
        store_fixture_commit(&f, t);
        expect(&f, "slot/a@1", false, "uid:0 wrote slot/a@1; a read slot/a@1; ");
        expect(&f, "slot/a@2", false, "a wrote slot/a@2; b read slot/a@2; ?c:slot/a@2(lineage stats: reads) ");
        expect(&f, "slot/a@3", false, "d wrote slot/a@3; ");
        expect(&f, "slot/b", false, "uid:0 wrote slot/b@1; ?d:slot/b@1(lineage stats: reads) ");
        expect(&f, "slot/a@1", true, "1:a 2:slot/a@2 3:b ?c:slot/a@2(lineage stats: reads) ");
}

// I-77: a discarded value is nobody's; what a region wrote before it was answered does not come of the answer, but where sections are shared it may.
Test(flow, what_comes_before_does_not_come_of_it) {
        for (int lends = 0; lends < 2; lends++) {
                _cleanup_store_fixture_ StoreFixture f;
                Txn *t;

                store_fixture_init(&f, STORE_SUPERVISE);
                t = store_fixture_begin(&f, true);
                define(t, "secret");
                define(t, "early");
                define(t, "late");
                define(t, "gone");
                start(t, A, NULL, lends ? LENDS : "{\"lineage\":\"events\"}", NULL, "early");
                proposes(t, A, "early");
                start(t, B, A, "{\"lineage\":\"events\"}", "secret", "late");
                start(t, C, A, "{\"lineage\":\"events\"}", "secret", "gone");
                start(t, D, A, "{\"lineage\":\"events\"}", NULL, NULL);
                proposes(t, B, "late");
                proposes(t, C, "gone");
                end(t, D, true); /* began before anybody had answered */
                end(t, B, true);
                end(t, C, false);
                end(t, A, true);
                store_fixture_commit(&f, t);
                /* A proposal of A before B began is not of B in either case. */
                expect(&f, "slot/secret", true, lends ? "1:b 1:c 2:slot/late@2 2:a 3:d " : "1:b 1:c 2:slot/late@2 2:a ");
        }
}

// I-77: a region that an answer reached late may have read the value itself at its beginning, without a record: what it wrote before the answer is open.
Test(flow, reached_late_and_not_recorded) {
        for (int lends = 0; lends < 2; lends++) {
                _cleanup_store_fixture_ StoreFixture f;
                Txn *t;

                store_fixture_init(&f, STORE_SUPERVISE);
                t = store_fixture_begin(&f, true);
                define(t, "secret");
                define(t, "out");
                start(t, A, NULL, lends ? "{\"key_scope\":\"invocation-tree\",\"lineage\":\"stats\"}" : "{\"lineage\":\"stats\"}", "secret", "out");
                proposes(t, A, "out");
                start(t, B, A, "{\"lineage\":\"events\"}", "secret", NULL);
                end(t, B, true);
                end(t, A, true);
                store_fixture_commit(&f, t);
                expect(&f, "slot/secret", true, "1:b 2:a ?a:slot/secret@1(lineage stats: reads) ");
        }
}

// I-77: a poisoned note through belief, a slot and a record; what is asked for is a note, a region or a value.
Test(flow, a_note_through_three_regions) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *payload = json_of("{\"title\":\"x\"}"), *fields = json_of("{\"run\":\"" A "\",\"note\":1}");
        Mutated done;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        define(t, "a");
        start(t, A, NULL, MEMORY, NULL, NULL);
        says(t, A, "run.started", "{\"run\":\"" A "\"}");
        end(t, A, true);
        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = OP_UPSERT, .id = "boot_fails", .payload = payload, .fields = fields,
                                                  .expect = MUTATION_ANY, .who = "uid:0"},
                                   &done, &f.d),
                     0, "%s", f.d.text);
        start(t, B, NULL, MEMORY, NULL, "a");
        proposes(t, B, "a");
        says(t, B, "belief.read", "{\"count\":1,\"rows\":1,\"read\":{\"default\":{\"issues\":{\"boot_fails\":[1]}}}}");
        end(t, B, true);
        start(t, C, NULL, OTHER, "a", NULL);
        saves(t, C, "house");
        end(t, C, true);
        start(t, D, NULL, MEMORY, NULL, NULL);
        says(t, D, "memory.read", "{\"count\":1,\"records\":1,\"read\":{\"default\":{\"memory_substrate\":{\"house\":[1]}}}}");
        end(t, D, true);
        store_fixture_commit(&f, t);
        expect(&f, "note/" A "@1", true, "1:issues/boot_fails@1 2:b 3:slot/a@2 4:c 5:memory_substrate/house@1 6:d ");
        expect(&f, A, true, "1:note/" A "@1 2:issues/boot_fails@1 3:b 4:slot/a@2 5:c 6:memory_substrate/house@1 7:d ");
        expect(&f, "issues/boot_fails", false, "note/" A "@1 became issues/boot_fails@1; b read issues/boot_fails@1; ");
        expect(&f, "memory_substrate/house@1", false, "c wrote memory_substrate/house@1; d read memory_substrate/house@1; ");
        expect(&f, "note/" A "@7", false, "");
}

// I-77: what a record leaves open is said, with the reason, where the grant allows that the value was read: counted, beyond a bound, old, alive, lost.
Test(flow, what_is_not_recorded_is_said) {
        static const struct {
                const char *grant, *read; /* the fields of memory.read, or none */
                int how;                  /* 0: ended; 1: alive; 2: its supervisor died */
                const char *expected;
        } rows[] = {
                {MEMORY, NULL, 0, ""},
                {MEMORY, "{\"count\":3,\"records\":3,\"read\":{\"default\":{\"memory_substrate\":{\"other\":[1]}}}}", 0, ""},
                {MEMORY, "{\"count\":3,\"records\":3,\"read\":{},\"more\":2}", 0, "?a:memory_substrate(reads of memory are ) "},
                {MEMORY, "{\"count\":3,\"records\":3}", 0, "?a:memory_substrate(reads of memory are ) "},
                {STATS, "{\"count\":3,\"records\":3}", 0, "?a:memory_substrate(lineage stats: reads) "},
                {STATS, NULL, 0, ""},
                {MEMORY, NULL, 1, "?a:memory_substrate(it is alive: what it) "},
                {MEMORY, NULL, 2, "?a:memory_substrate(its supervisor died ) "},
                {OTHER, NULL, 1, ""},
                {OTHER, "{\"count\":3,\"records\":3}", 0, ""},
                {OTHER, NULL, 2, ""},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *none = json_object();
                char text[4000], expected[4000];
                Txn *t;

                store_fixture_init(&f, STORE_SUPERVISE);
                t = store_fixture_begin(&f, true);
                saves(t, NULL, "house");
                start(t, A, NULL, rows[i].grant, NULL, NULL);
                if (rows[i].read)
                        says(t, A, "memory.read", rows[i].read);
                if (rows[i].how == 0)
                        end(t, A, true);
                else if (rows[i].how == 2)
                        cr_assert_eq(engine_region_recover(t, A, none, &f.d), 0);
                store_fixture_commit(&f, t);
                snprintf(expected, sizeof(expected), "uid:0 wrote memory_substrate/house@1; %s", rows[i].expected);
                ask(&f, "memory_substrate/house", false, text);
                cr_expect_str_eq(text, expected, "row %zu", i);
        }
}

// I-77: an advisor is told a note and shared belief; what it made of the note is its own as well, also when that waited before it became a row.
Test(flow, advisors) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *payload = json_of("{\"title\":\"x\"}"), *fields = NULL;
        char text[200];
        uint64_t seq, last;
        Mutated done;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        start(t, A, NULL, "{\"lineage\":\"events\"}", NULL, NULL);
        says(t, A, "context.read", "{\"count\":1,\"rows\":0,\"run\":\"run-1\",\"note\":3,\"read\":{}}");
        end(t, A, true);
        cr_assert_eq(ledger_state(t, &seq, &last), 0);
        says(t, NULL, "note.pending", "{\"run\":\"run-1\",\"note\":3,\"advisor\":\"" A "\"}");
        snprintf(text, sizeof(text), "{\"pending\":%llu}", (unsigned long long)seq);
        fields = json_of(text);
        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = OP_UPSERT, .id = "a_b", .payload = payload, .fields = fields, .expect = MUTATION_ANY, .who = "uid:0"},
                                   &done, &f.d),
                     0, "%s", f.d.text);
        start(t, B, NULL, "{\"lineage\":\"stats\"}", NULL, NULL);
        says(t, B, "context.read", "{\"count\":1,\"rows\":9,\"run\":\"run-1\",\"note\":4}");
        end(t, B, true);
        store_fixture_commit(&f, t);
        snprintf(text, sizeof(text), "1:a 1:pending/%llu 2:issues/a_b@1 ?b:-(lineage stats: it wa) ?b:issues(lineage stats: reads) ", (unsigned long long)seq);
        expect(&f, "note/run-1@3", true, text);
        snprintf(text, sizeof(text), "1:pending/%llu 2:issues/a_b@1 ?b:issues(lineage stats: reads) ", (unsigned long long)seq);
        expect(&f, A, true, text);
}

// I-75, I-77: a section's uses stand in the records of both regions, and are one each; at another detail than handles nobody can tell.
Test(flow, sections) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        start(t, A, NULL, LENDS, NULL, NULL);
        start(t, B, A, "{\"lineage\":\"handles\"}", NULL, NULL);
        says(t, B, "handle.dereferenced", "{\"handle\":\"" A ".0.1\",\"section\":\"plan\",\"of\":\"" A "\",\"access\":\"write\",\"version\":1}");
        end(t, B, true);
        says(t, A, "handle.dereferenced", "{\"handle\":\"" A ".0.1\",\"section\":\"plan\",\"by\":\"" B "\",\"access\":\"write\",\"version\":1}");
        says(t, A, "handle.dereferenced", "{\"handle\":\"" A ".0.1\",\"section\":\"plan\",\"access\":\"read\",\"version\":1}");
        end(t, A, true);
        start(t, C, NULL, "{\"lineage\":\"events\"}", NULL, NULL);
        end(t, C, true);
        store_fixture_commit(&f, t);
        expect(&f, "section/" A "/plan", false, "b wrote section/" A "/plan@1; a read section/" A "/plan@1; ");
        expect(&f, "section/" C "/plan", false, "?c:section/" C "/plan(lineage events: uses) ");
        expect(&f, "section/" A "/plan@1", true, "1:a 2:b "); /* the region may have shown it to the one below */
}

// I-77: what is not asked well, or is not there, is told apart from an empty answer.
Test(flow, questions) {
        static const struct {
                const char *what, *scope;
                bool derived;
                int code;
        } rows[] = {
                {"slot/a", NULL, false, 0},          {"slot/a@1", NULL, false, 0},           {"slot/a@2", NULL, false, FLOW_E_UNKNOWN}, {"slot/a@0", NULL, false, FLOW_E_WORD},
                {"slot/a@", NULL, false, FLOW_E_WORD}, {"slot/a@-1", NULL, false, FLOW_E_WORD}, {"slot/a@1x", NULL, false, FLOW_E_WORD},
                {"slot/a@99999999999999999999", NULL, false, FLOW_E_WORD}, {"slot/b", NULL, false, FLOW_E_UNKNOWN}, {"slot/A", NULL, false, FLOW_E_UNKNOWN},
                {"slot/", NULL, false, FLOW_E_WORD}, {"slot", NULL, false, FLOW_E_WORD},     {"", NULL, false, FLOW_E_WORD},            {"working_state/x", NULL, false, FLOW_E_WORD},
                {"slot/a", "default", false, FLOW_E_WORD}, {"issues/x", NULL, false, FLOW_E_UNKNOWN}, {"issues/x", "other", false, FLOW_E_UNKNOWN},
                {A, NULL, true, 0},                  {A, NULL, false, FLOW_E_WORD},          {B, NULL, true, FLOW_E_UNKNOWN},           {A "@1", NULL, true, FLOW_E_WORD},
                {"section/" A "/plan", NULL, false, 0}, {"section/" B "/plan", NULL, false, FLOW_E_UNKNOWN}, {"section/" A, NULL, false, FLOW_E_WORD},
                {"note/" A, NULL, false, FLOW_E_UNKNOWN}, {"empty/a", NULL, false, FLOW_E_WORD}, {"slot/empty", NULL, false, 0}, {"slot/empty@1", NULL, false, FLOW_E_UNKNOWN},
        };
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *schema = json_object();
        _cleanup_flow_ Flow flow = {0};
        uint64_t seq;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        define(t, "a");
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "empty", schema, &seq, &f.d), 0);
        start(t, A, NULL, "{}", NULL, NULL);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, false);
        cr_assert_eq(flow_read(t, &flow, &f.d), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                FlowAsked asked;
                Diag d = {0};

                cr_expect_eq(flow_ask(&flow, rows[i].what, rows[i].scope, rows[i].derived, &asked, &d), rows[i].code, "'%s': %s", rows[i].what, d.text);
                cr_expect_eq(*d.text != 0, rows[i].code != 0, "'%s'", rows[i].what);
        }
        store_abort(t);
}

// An answer is of what the checkpoint was signed for, and of nothing else.
Test(flow, of_what_was_signed) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_flow_ Flow flow = {0};
        char entry[600];
        uint8_t key[8];
        Bytes was;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        define(t, "a");
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(ledger_get(t, 1, &was), 0);
        snprintf(entry, sizeof(entry), "%.*s", (int)was.n, (const char *)was.p);
        *strstr(entry, "uid:0") = 'U';
        be64_put(key, 1);
        cr_assert_eq(table_put(t, TABLE_EVENT, BYTES(key, 8), BYTES_STR(entry)), 0);
        cr_assert_eq(flow_read(t, &flow, &f.d), HISTORY_E_BROKEN);
        store_abort(t);
}
