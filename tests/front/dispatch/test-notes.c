/* note.add and canon.read at the dispatch, where scopes and times of an end can be chosen: whose notes they are, what of belief is shown and how much of it at
 * once, and what remains of them. */
#include "tests/front/dispatch/dispatch-fixture.h"

#include "belief/belief.h"
#include "engine/mutate.h"
#include "engine/note.h"
#include "engine/scope.h"

#include <criterion/criterion.h>

#define REQUEST(method, params) "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"" method "\",\"params\":" params "}"

static uint64_t scope(DispatchFixture *d, const char *name) {
        Txn *t = store_fixture_begin(&d->f, true);
        uint64_t n;

        cr_assert_eq(engine_scope_create(t, "uid:0", name, &n, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
        return n;
}

static json_t *say(DispatchFixture *d, const char *line) {
        json_t *answer;

        cr_assert_eq(dispatch_say(d, line, strlen(line), &answer), 0, "%s", d->f.d.text);
        return answer;
}

static size_t count(DispatchFixture *d, const char *run, NoteRun *ret) {
        Txn *t = store_fixture_begin(&d->f, false);
        int r = engine_run_get(t, run, ret, &d->f.d);

        store_abort(t);
        cr_assert(r == 0 || r == ENGINE_E_NO_RECORD);
        return r == 0 ? ret->notes : 0;
}

// G-1 G-2: the run has the region's id, the skill's name and the granted scope; M-21: which need not be the one that another region has
Test(notes, belong_to_their_region_and_scope) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        uint64_t other;
        NoteRun run;

        dispatch_fixture_init(&d);
        other = scope(&d, "other");
        d.grant.notes = d.grant.canon = (char *)"other";
        d.grant.skill_dir = (char *)"/srv/vectors";
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"issue a_b: c\"}"), NULL);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"d\",\"role\":\"tool_result\"}"), NULL);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"d\",\"scope\":\"default\"}"), "invalid_params");
        cr_assert_eq(count(&d, d.region, &run), 2);
        cr_assert_eq(run.scope, other);
        cr_assert_str_eq(run.agent, "vectors");
        dispatch_fixture_region_end(&d, true);
        cr_assert_eq(count(&d, d.region, &run), 2, "they wait for who promotes them");
}

// G-1: a program's agent is "exec"; a skill whose name no agent can have has one all the same
Test(notes, agents) {
        static const struct {
                const char *dir, *name, *agent;
        } rows[] = {{NULL, "python3", "exec"}, {"/srv/x", "Two Words", "skill"}, {"/srv/x", "a-skill", "a-skill"}};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        NoteRun run;

        dispatch_fixture_init(&d);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                d.grant.skill_dir = (char *)rows[i].dir;
                d.grant.skill_name = (char *)rows[i].name;
                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"t\"}"), NULL);
                cr_assert_eq(count(&d, d.region, &run), 1);
                cr_assert_str_eq(run.agent, rows[i].agent, "%s", rows[i].name);
                dispatch_fixture_region_end(&d, true);
        }
}

// I-24: what a region that broke a budget noted goes with its end, and the other regions' notes stay; G-4: one whose supervisor died keeps its own
Test(notes, go_with_a_breach_and_survive_a_crash) {
        static const enum { WELL, BREACH, CRASH, CRASH_AFTER_BREACH } ends[] = {WELL, BREACH, CRASH, CRASH_AFTER_BREACH};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        char first[REGION_ID_MAX] = "";
        NoteRun run;

        dispatch_fixture_init(&d);
        for (size_t i = 0; i < ARRAY_SIZE(ends); i++) {
                bool stay = ends[i] == WELL || ends[i] == CRASH;

                dispatch_fixture_region(&d);
                dispatch_expect(&d, DISPATCH_HELLO, NULL);
                dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"t\"}"), NULL);
                if (ends[i] == WELL)
                        memcpy(first, d.region, sizeof(first));
                if (ends[i] == WELL || ends[i] == BREACH)
                        dispatch_fixture_region_end(&d, stay);
                else {
                        _cleanup_json_ json_t *none = json_object();
                        Txn *t = store_fixture_begin(&d.f, true);
                        uint64_t seq;

                        if (!stay)
                                cr_assert_eq(engine_event(t, d.region, "region.faulted", none, &seq), 0);
                        cr_assert_eq(engine_region_recover(t, d.region, none, &d.f.d), 0, "%s", d.f.d.text);
                        store_fixture_commit(&d.f, t);
                        dispatch_free(d.dispatch);
                        d.dispatch = NULL;
                        vault_free(d.vault);
                        d.vault = NULL;
                }
                cr_assert_eq(count(&d, d.region, &run), stay ? 1 : 0, "end %zu", i);
                cr_assert_eq(count(&d, first, &run), 1, "end %zu", i);
        }
}

/* A row of shared belief with a payload of about n bytes. */
static void row(DispatchFixture *d, const char *scope_name, const char *id, size_t n) {
        _cleanup_free_ char *text = malloc(n + 1);
        _cleanup_json_ json_t *payload = NULL;
        Mutation m = {.who = "uid:0", .scope = scope_name, .kind = KIND_ISSUE, .op = OP_UPSERT, .id = id, .expect = MUTATION_ANY};
        Mutated done;
        Txn *t = store_fixture_begin(&d->f, true);

        memset(text, 'x', n);
        text[n] = 0;
        payload = json_pack("{s:s, s:s}", "title", id, "detail", text);
        m.payload = payload;
        cr_assert_eq(engine_mutate(t, &m, &done, &d->f.d), 0, "%s", d->f.d.text);
        store_fixture_commit(&d->f, t);
}

static json_t *page(DispatchFixture *d, const char *after, int limit) {
        _cleanup_free_ char *line = NULL;
        json_t *answer;

        cr_assert_gt(asprintf(&line, REQUEST("canon.read", "{\"bucket\":\"issues\",\"limit\":%d%s%s%s}"), limit, after ? ",\"after\":\"" : "", after ?: "", after ? "\"" : ""), 0);
        answer = say(d, line);
        cr_assert(json_object_get(answer, "result"), "%s", line);
        return answer;
}

// G-51: only rows, only of the granted scope, and however many they are in answers that end; the limit and the bytes both hold
Test(notes, belief_comes_in_parts) {
        static const struct {
                int limit;
                size_t parts;
        } rows[] = {{1, 30}, {7, 5}, {30, 3}, {1000, 3}}; // 30 rows of 12,000 bytes: 21 to an answer
        _cleanup_dispatch_fixture_ DispatchFixture d;
        char id[32];

        dispatch_fixture_init(&d);
        scope(&d, "default");
        scope(&d, "other");
        for (int i = 0; i < 30; i++) {
                snprintf(id, sizeof(id), "row_%02d", i);
                row(&d, "default", id, 12000);
        }
        row(&d, "other", "row_of_other", 10);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                char next[BELIEF_PLACE_MAX] = "";
                size_t parts = 0, seen = 0;

                do {
                        _cleanup_json_ json_t *answer = page(&d, *next ? next : NULL, rows[i].limit);
                        json_t *result = json_object_get(answer, "result"), *list = json_object_get(result, "rows"), *r;
                        size_t k;

                        parts++;
                        cr_assert_leq(json_array_size(list), (size_t)rows[i].limit);
                        cr_assert_leq(json_dumpb(answer, NULL, 0, JSON_COMPACT), BELIEF_ROWS_BYTES + 1024, "limit %d", rows[i].limit);
                        json_array_foreach(list, k, r) {
                                snprintf(id, sizeof(id), "row_%02zu", seen++);
                                cr_assert_str_eq(json_string_value(json_object_get(r, "id")), id, "limit %d", rows[i].limit);
                        }
                        snprintf(next, sizeof(next), "%s", json_string_value(json_object_get(result, "next")) ?: "");
                } while (*next);
                cr_assert_eq(seen, 30, "limit %d", rows[i].limit);
                cr_assert_leq(parts, rows[i].parts, "limit %d", rows[i].limit);
        }
        dispatch_expect(&d, REQUEST("canon.read", "{\"bucket\":\"issues\",\"id\":\"row_07\"}"), NULL);
        dispatch_expect(&d, REQUEST("canon.read", "{\"bucket\":\"issues\",\"id\":\"row_of_other\"}"), "no_record");
        dispatch_expect(&d, REQUEST("canon.read", "{\"after\":\"issues\"}"), "invalid_params");
        dispatch_expect(&d, REQUEST("canon.read", "{\"after\":\"memory_substrate/a\"}"), "invalid_params");
        dispatch_expect(&d, REQUEST("canon.read", "{\"after\":\"issues/../x\"}"), "invalid_params");
        dispatch_fixture_region_end(&d, true);
}

/* Rows that are made in a single transaction, by number. */
static void rows(DispatchFixture *d, const char *prefix, unsigned n) {
        Txn *t = store_fixture_begin(&d->f, true);

        for (unsigned i = 0; i < n; i++) {
                _cleanup_json_ json_t *payload = json_pack("{s:s}", "title", "later");
                Mutation m = {.who = "uid:0", .scope = "default", .kind = KIND_ISSUE, .op = OP_UPSERT, .payload = payload, .expect = MUTATION_ANY};
                char id[32];
                Mutated done;

                snprintf(id, sizeof(id), "%s_%05u", prefix, i);
                m.id = id;
                cr_assert_eq(engine_mutate(t, &m, &done, &d->f.d), 0, "%s", d->f.d.text);
        }
        store_fixture_commit(&d->f, t);
}

// M-64: rows that came after the moment are passed over, and so many for an answer: the supervisor's work is bounded
Test(notes, a_moment_before_many_rows) {
        static const char *const want[] = {"a_00000", "z_00000"};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        _cleanup_free_ char *line = NULL;
        _cleanup_json_ json_t *context = NULL;
        uint64_t size;
        Txn *t;

        dispatch_fixture_init(&d);
        scope(&d, "default");
        rows(&d, "a", 1);
        rows(&d, "z", 1);
        t = store_fixture_begin(&d.f, false);
        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        store_abort(t);
        rows(&d, "m", 4100);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        for (size_t i = 0; i < ARRAY_SIZE(want); i++) {
                _cleanup_json_ json_t *o = NULL;
                _cleanup_free_ char *after = line;

                line = NULL;
                cr_assert_gt(asprintf(&line, REQUEST("canon.read", "{\"bucket\":\"issues\",\"at\":\"%lu\"%s%s%s}"), (unsigned long)size - 1,
                                      i ? ",\"after\":\"" : "", i ? after : "", i ? "\"" : ""), 0);
                o = dispatch_result_of(&d, line);
                cr_assert_eq(json_array_size(json_object_get(o, "rows")), 1, "%s", line);
                cr_expect_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(o, "rows"), 0), "id")), want[i]);
                free(line);
                line = NULL;
                if (json_object_get(o, "next"))
                        line = strdup(json_string_value(json_object_get(o, "next")));
                cr_expect_eq(!line, i == 1, "page %zu", i);
        }
        cr_assert_gt(asprintf(&line, REQUEST("context.read", "{\"at\":\"%lu\"}"), (unsigned long)size - 1), 0);
        context = dispatch_result_of(&d, line);
        cr_expect_eq(json_array_size(json_object_get(json_object_get(context, "belief"), "issues")), 1);
        cr_expect_str_eq(json_string_value(json_array_get(json_object_get(context, "cut"), 0)), "issues");
        dispatch_fixture_region_end(&d, true);
}

// A scope that went while the region lived
Test(notes, a_scope_that_went) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        MemoryRight memory = {(char *)"nowhere", {MEMORY_ALL, MEMORY_ALL, MEMORY_ALL}};

        dispatch_fixture_init(&d);
        d.grant.notes = d.grant.canon = (char *)"nowhere";
        d.grant.memory = &memory;
        d.grant.n_memory = 1;
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"t\"}"), "no_scope");
        dispatch_expect(&d, REQUEST("canon.read", "{}"), "no_scope");
        dispatch_expect(&d, REQUEST("memory.list", "{}"), "no_scope");
        dispatch_expect(&d, REQUEST("memory.load", "{\"kind\":\"memory_substrate\",\"id\":\"a\"}"), "no_scope");
        dispatch_expect(&d, REQUEST("memory.save", "{\"kind\":\"memory_substrate\",\"type\":\"episodic\",\"payload\":{\"summary\":\"s\"}}"), "no_scope");
        dispatch_expect(&d, REQUEST("memory.delete", "{\"kind\":\"memory_substrate\",\"id\":\"a\"}"), "no_scope");
        dispatch_fixture_region_end(&d, false);
}

// A run that the operator ended meanwhile is not begun again under the region's hands (G-4)
Test(notes, a_run_that_was_ended) {
        _cleanup_dispatch_fixture_ DispatchFixture d;
        uint64_t dropped;
        Txn *t;

        dispatch_fixture_init(&d);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"t\"}"), NULL);
        t = store_fixture_begin(&d.f, true);
        cr_assert_eq(engine_run_end(t, "uid:0", NULL, d.region, true, &dropped, &d.f.d), 0);
        store_fixture_commit(&d.f, t);
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"u\"}"), "no_record");
        dispatch_fixture_region_end(&d, false);
}

static uint64_t rows_of(DispatchFixture *d, Table table) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&d->f, false);
        uint64_t n;

        cr_assert_eq(table_rows(t, table, &n), 0);
        return n;
}

// G-8: a region that may keep notes and read belief writes none of it: there is no such method, no slot of that name, and its notes are only notes
Test(notes, write_no_belief) {
        static const char *const methods[] = {"canon.write", "canon.upsert", "canon.append", "canon.resolve", "canon.invalidate", "canon.promote", "note.promote",
                                              "promote",     "pending.bind", "pending.drop", "pending.retry", "note.settle", "note.read", "kernel.patch", "context.write"};
        _cleanup_dispatch_fixture_ DispatchFixture d;
        uint64_t records, waits;
        char line[200];

        dispatch_fixture_init(&d);
        d.grant.notes = d.grant.canon = (char *)"default";
        row(&d, "default", "net_down", 10);
        dispatch_fixture_region(&d);
        dispatch_expect(&d, DISPATCH_HELLO, NULL);
        records = rows_of(&d, TABLE_REC);
        waits = rows_of(&d, TABLE_WAIT);
        for (size_t i = 0; i < ARRAY_SIZE(methods); i++) {
                snprintf(line, sizeof(line), REQUEST("%s", "{\"bucket\":\"issues\",\"id\":\"net_down\",\"operation\":\"resolve\",\"payload\":{}}"), methods[i]);
                dispatch_expect(&d, line, "unknown_method");
        }
        dispatch_expect(&d, REQUEST("slot.write", "{\"name\":\"issues.net_down\",\"value\":{\"state\":\"resolved\"}}"), "not_granted");
        dispatch_expect(&d, REQUEST("canon.read", "{\"bucket\":\"issues\",\"id\":\"net_down\",\"payload\":{}}"), "invalid_params");
        dispatch_expect(&d, REQUEST("note.add", "{\"text\":\"resolve net_down: says the region\"}"), NULL);
        dispatch_expect(&d, REQUEST("canon.read", "{\"bucket\":\"issues\",\"id\":\"net_down\"}"), NULL);
        cr_expect_eq(rows_of(&d, TABLE_REC), records);
        cr_expect_eq(rows_of(&d, TABLE_WAIT), waits);
        dispatch_fixture_region_end(&d, true);
        cr_expect_eq(rows_of(&d, TABLE_REC), records);
}
