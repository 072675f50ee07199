/* Runs: tests. The answers of the ledger about readers of a value, and about its consequences; and the answers that it does not have. */
#include "audit/flow.h"
#include "engine/delete.h"
#include "engine/mutate.h"
#include "engine/scope.h"
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
#define CUT "{\"memory\":{\"cut\":40},\"lineage\":\"stats\"}"
#define LENDS "{\"key_scope\":\"invocation-tree\",\"lineage\":\"handles\"}"

static json_t *json_of(const char *text) {
        json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert(o, "%s", text);
        return o;
}

/* callback: NULL, or the entry of the region above. */
static void begin(Txn *t, const char *id, const char *parent, const char *callback, const char *skill, const char *grant, const char *reads,
                  const char *writes) {
        _cleanup_json_ json_t *g = json_of(grant);
        const char *r[] = {reads, NULL}, *w[] = {writes, NULL};
        Diag d = {0};

        cr_assert_eq(engine_region_start(t,
                                         &(RegionStart){.region = id, .parent = parent, .callback = callback, .skill_name = skill, .skill_digest = "sha256:0", .tier = "namespaces", .grant = g, .reads = r,
                                                        .writes = w, .lineage = json_text(json_object_get(g, "lineage"))},
                                         NULL, NULL, &d),
                     0, "%s", d.text);
}

static void start(Txn *t, const char *id, const char *parent, const char *grant, const char *reads, const char *writes) {
        begin(t, id, parent, NULL, "s", grant, reads, writes);
}

static void end(Txn *t, const char *id, bool keep) {
        _cleanup_json_ json_t *none = json_object();

        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, keep, none, none}, NULL, NULL, NULL), 0);
}

static void proposes(Txn *t, const char *id, const char *slot) {
        _cleanup_json_ json_t *one = json_integer(1);
        uint64_t seq, version;
        Diag d = {0};

        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = id, .name = slot, .value = one, .expect = -1}, &seq, &version, NULL, &d), 0, "%s", d.text);
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
                expect(&f, "slot/secret", true, lends ? "1:b 1:c 2:a 2:slot/late@2 3:d " : "1:b 1:c 2:slot/late@2 2:a ");
        }
}

// I-77: sections are shared from the beginning of the region below, also before it has ended, and no longer than to its end.
Test(flow, sections_of_one_that_lives) {
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        define(t, "secret");
        start(t, A, NULL, LENDS, NULL, NULL);
        start(t, B, A, "{\"lineage\":\"events\"}", NULL, NULL);
        end(t, B, true);
        start(t, C, A, "{\"lineage\":\"events\"}", "secret", NULL);
        start(t, D, A, "{\"lineage\":\"events\"}", NULL, NULL);
        store_fixture_commit(&f, t);
        expect(&f, "slot/secret", true, "1:c 2:a 3:d ");
}

// I-77: a release callback finds in the sections of its region what the callbacks before it left there; the region itself has ended by then.
Test(flow, callbacks_share_sections) {
        for (int lends = 0; lends < 2; lends++) {
                _cleanup_store_fixture_ StoreFixture f;
                Txn *t;

                store_fixture_init(&f, STORE_SUPERVISE);
                t = store_fixture_begin(&f, true);
                define(t, "secret");
                define(t, "out");
                start(t, A, NULL, lends ? LENDS : "{\"lineage\":\"events\"}", NULL, NULL);
                begin(t, B, A, "one", "s", "{\"lineage\":\"events\"}", NULL, NULL);
                end(t, B, true);
                begin(t, C, A, "two", "s", "{\"lineage\":\"events\"}", "secret", NULL);
                end(t, C, true);
                begin(t, D, A, "three", "s", "{\"lineage\":\"events\"}", NULL, "out");
                proposes(t, D, "out");
                end(t, D, true);
                end(t, A, true);
                store_fixture_commit(&f, t);
                expect(&f, "slot/secret", true, lends ? "1:c 2:d 3:slot/out@2 " : "1:c ");
        }
}

// I-77: a verdict comes of all proposals that were weighed, and not of the one alone that won.
Test(flow, a_verdict_comes_of_all) {
        _cleanup_json_ json_t *schema = json_object(), *rule = json_of("{\"rule\":\"first\",\"of\":2}");
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t seq;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_define_ruled(t, "uid:0", "r", schema, rule, &seq, &f.d), 0, "%s", f.d.text);
        start(t, A, NULL, "{\"lineage\":\"events\"}", NULL, "r");
        start(t, B, NULL, "{\"lineage\":\"events\"}", NULL, "r");
        proposes(t, A, "r");
        proposes(t, B, "r");
        end(t, A, true);
        end(t, B, true);
        start(t, C, NULL, "{\"lineage\":\"events\"}", "r", NULL);
        end(t, C, true);
        store_fixture_commit(&f, t);
        expect(&f, "slot/r", false, "b had a say in slot/r@1; a wrote slot/r@1; c read slot/r@1; ");
        expect(&f, B, true, "1:slot/r@1 2:c ");
}

// I-77: a deletion's reason is read by who asks for the history; a record that is made anew under its id goes on from there.
Test(flow, deletions_and_passes) {
        _cleanup_json_ json_t *went = NULL;
        _cleanup_store_fixture_ StoreFixture f;
        char text[4000], one[200];
        uint64_t scope;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        saves(t, NULL, "house");
        cr_assert_eq(scope_find(t, "default", &scope, &f.d), 0, "%s", f.d.text);
        start(t, A, NULL, "{\"lineage\":\"events\"}", NULL, NULL);
        cr_assert_eq(engine_delete(t, &(Deletion){.kind = KIND_MEMORY, .id = "house", .reason = "a secret", .region = A}, &went, &f.d), 0, "%s", f.d.text);
        end(t, A, true);
        start(t, B, NULL, MEMORY, NULL, NULL);
        says(t, B, "memory.read", "{\"count\":1,\"records\":0,\"read\":{\"default\":{\"memory_substrate\":{\"house\":[2]}}}}");
        end(t, B, true);
        start(t, C, NULL, "{\"lineage\":\"events\"}", NULL, NULL);
        saves(t, C, "house");
        end(t, C, true);
        start(t, D, NULL, "{\"lineage\":\"events\"}", NULL, NULL);
        end(t, D, true);
        snprintf(text, sizeof(text), "{\"routine\":\"tidy\",\"scope\":%llu,\"pass\":1,\"proposed_by\":\"" D "\"}", (unsigned long long)scope);
        says(t, NULL, "digest.pass", text);
        snprintf(text, sizeof(text), "{\"scope\":%llu,\"kind\":\"memory_substrate\",\"id\":\"house\",\"version\":2,\"pass\":1,\"who\":\"uid:0\"}", (unsigned long long)scope);
        says(t, NULL, "memory.archive", text);
        store_fixture_commit(&f, t);
        expect(&f, A, true, "1:memory_substrate/house@2 2:b ");
        expect(&f, C, true, "1:memory_substrate/house@1 2:memory_substrate/house@2 3:b "); /* both lives have that version */
        snprintf(one, sizeof(one), "1:pass/%llu@1 2:memory_substrate/house@2 3:b ", (unsigned long long)scope);
        ask(&f, D, true, text);
        cr_expect_str_eq(text, one);
}

// I-77: a scope that was deleted and made anew is another one under the same name: who could read the old one is named, and who read it is not lost.
Test(flow, scopes_made_anew) {
        static const char grant[] = "{\"memory\":[{\"read\":[\"memory_substrate\"],\"scope\":\"x\"}],\"lineage\":\"stats\"}";
        _cleanup_json_ json_t *payload = json_of("{\"subject\":\"a\",\"predicate\":\"b\",\"object\":\"c\"}");
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t n, records;
        Mutated done;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_scope_create(t, "uid:0", "x", &n, &f.d), 0, "%s", f.d.text);
        start(t, A, NULL, "{\"lineage\":\"events\"}", NULL, NULL);
        cr_assert_eq(engine_mutate(t, &(Mutation){.scope = "x", .kind = KIND_MEMORY, .op = OP_SAVE, .id = "house", .type = "semantic", .payload = payload,
                                                  .expect = MUTATION_ANY, .region = A}, &done, &f.d), 0, "%s", f.d.text);
        end(t, A, true);
        start(t, B, NULL, grant, NULL, NULL);
        says(t, B, "memory.read", "{\"count\":3,\"records\":3}");
        end(t, B, true);
        start(t, C, NULL, MEMORY, NULL, NULL);
        start(t, D, NULL, OTHER, NULL, NULL);
        cr_assert_eq(engine_scope_delete(t, "uid:0", "x", NULL, &n, &records, &f.d), 0, "%s", f.d.text);
        cr_assert_eq(engine_scope_create(t, "uid:0", "x", &n, &f.d), 0, "%s", f.d.text);
        says(t, C, "memory.read", "{\"count\":1,\"records\":1,\"read\":{\"x\":{\"memory_substrate\":{\"house\":[1]}}}}");
        end(t, C, true);
        end(t, D, true);
        start(t, "0000000000000000000000000e", NULL, MEMORY, NULL, NULL);
        says(t, "0000000000000000000000000e", "memory.read", "{\"count\":1,\"records\":1,\"read\":{\"x\":{\"memory_substrate\":{\"house\":[1]}}}}");
        end(t, "0000000000000000000000000e", true);
        store_fixture_commit(&f, t);
        expect(&f, A, true, "1:memory_substrate/house@1 2:c ?b:memory_substrate(lineage stats: reads) ");
}

// A skill's name is a file's: it is cut between characters.
Test(flow, long_names_of_skills) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_txn_ Txn *t = NULL;
        _cleanup_flow_ Flow flow = {0};
        char name[200] = "";

        store_fixture_init(&f, STORE_SUPERVISE);
        for (size_t i = 0; i < 60; i++)
                strcat(name, "\xC3\xA4");
        t = store_fixture_begin(&f, true);
        begin(t, A, NULL, NULL, name, "{}", NULL, NULL);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, false);
        cr_assert_eq(flow_read(t, &flow, &f.d), 0);
        cr_expect(utf8_valid(flow_region(&flow, A)->skill, strlen(flow_region(&flow, A)->skill), NULL));
        cr_expect(strncmp(name, flow_region(&flow, A)->skill, 78) == 0);
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
                {CUT, "{\"count\":3,\"records\":3}", 0, "?a:memory_substrate(lineage stats: reads) "},
                {MEMORY, NULL, 1, "?a:memory_substrate(the region is alive:) "},
                {MEMORY, NULL, 2, "?a:memory_substrate(the supervisor died ) "},
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
        snprintf(text, sizeof(text), "1:a 1:pending/%llu 2:issues/a_b@1 ?b:-(lineage stats: the r) ?b:issues(lineage stats: reads) ", (unsigned long long)seq);
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
                {"section/" C "/plan@3", NULL, false, 0}, {"section/" C "/plam", NULL, false, FLOW_E_UNKNOWN}, {"section/" C "/gate.a", NULL, false, FLOW_E_UNKNOWN},
                {"section/" D "/plam", NULL, false, 0}, {"section/" A "/\xff", NULL, false, FLOW_E_WORD},
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
        start(t, C, NULL, "{\"sections\":[{\"bytes\":9,\"name\":\"list\"},{\"bytes\":9,\"name\":\"plan\"}]}", NULL, NULL);
        start(t, D, NULL, "{\"sections\":{\"cut\":90}}", NULL, NULL);
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
