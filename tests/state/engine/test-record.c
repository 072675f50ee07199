#include "record/event.h"
#include "engine/dead-letter.h"
#include "engine/mutate.h"
#include "engine/note.h"
#include "engine/digest-pass.h"
#include "refs/ref.h"
#include "engine/scope.h"
#include "engine/wait.h"
#include "tests/support/store-fixture.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <string.h>

#define ME "uid:1000"

static json_t *json(const char *text) {
        json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert_not_null(o, "%s", text);
        return o;
}

/* Returns the code; payload and refs as JSON text or NULL. */
static int mutate(Txn *t, Kind kind, Op op, const char *id, const char *payload, const char *refs, Mutated *ret, Diag *d) {
        _cleanup_json_ json_t *p = payload ? json(payload) : NULL, *r = refs ? json(refs) : NULL;

        d->text[0] = '\0';
        return engine_mutate(t, &(Mutation){.kind = kind, .op = op, .id = id, .payload = p, .refs = r, .expect = MUTATION_ANY, .who = ME,
                                            .type = kind == KIND_MEMORY ? "semantic" : NULL}, ret, d);
}

static uint64_t scope(Txn *t, const char *name) {
        uint64_t n;

        cr_assert_eq(scope_get(t, name, &n), 0, "%s", name);
        return n;
}

/* One scope has two kernels from the beginning, and a name is used once at a time (M-21, M-22). */
Test(scope, has_its_kernels_and_one_name) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t a, b, seq, n;
        RecordKey k;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_scope_create(t, ME, "a", &a, &d), 0);
        cr_expect_eq(engine_scope_create(t, ME, "a", &b, &d), ENGINE_E_EXISTS);
        cr_expect_eq(engine_scope_create(t, ME, "A b", &b, &d), ENGINE_E_BAD_NAME);
        cr_expect(strstr(d.text, "A b") != NULL, "%s", d.text);
        for (int i = 0; i < 2; i++) {
                k = record_key_of(a, i ? KIND_WORLD_KERNEL : KIND_AGENT_KERNEL, "kernel");
                cr_assert_eq(record_get(t, &k, &rec), 0);
                cr_expect_eq(rec.state, RECORD_ACTIVE);
                cr_expect_eq(rec.version, 1);
                record_deinit(&rec);
        }
        cr_assert_eq(engine_scope_delete(t, ME, "a", "over", &seq, &n, &d), 0, "%s", d.text);
        cr_expect_eq(n, 2);
        cr_expect_eq(scope_get(t, "a", &b), -ENOENT);
        cr_assert_eq(engine_scope_create(t, ME, "a", &b, &d), 0);
        cr_expect_gt(b, a);
        store_fixture_commit(&f, t);
}

/* What a deleted scope had is nowhere, and the scope of the same name after it has nothing of it; its neighbour loses nothing (M-24, M-25). */
Test(scope, goes_with_all_it_owns) {
        static const Table tables[] = {TABLE_REC, TABLE_CHANGE, TABLE_REF, TABLE_RREF};
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *p = json("{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}"), *refs = json("[{\"kind\":\"memory_substrate\",\"id\":\"one\"}]");
        uint64_t number[2], seq, n, rows[ARRAY_SIZE(tables)], now;
        static const char *const names[] = {"left", "right"};
        Mutated m;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (int i = 0; i < 2; i++) {
                cr_assert_eq(engine_scope_create(t, ME, names[i], &number[i], &d), 0);
                cr_assert_eq(engine_mutate(t, &(Mutation){.scope = names[i], .kind = KIND_MEMORY, .op = OP_SAVE, .type = "semantic", .id = "one", .expect = 0,
                                                          .payload = p, .who = ME}, &m, &d), 0, "%s", d.text);
                cr_assert_eq(engine_mutate(t, &(Mutation){.scope = names[i], .kind = KIND_MEMORY, .op = OP_SAVE, .type = "semantic", .id = "two", .expect = 0,
                                                          .payload = p, .refs = refs, .who = ME}, &m, &d), 0, "%s", d.text);
                cr_expect(m.applied && m.created && m.version == 1);
                if (i > 0)
                        continue;
                for (size_t k = 0; k < ARRAY_SIZE(tables); k++)
                        cr_assert_eq(table_rows(t, tables[k], &rows[k]), 0);
                /* What waited, why it was dropped, what a pass looked at */
                for (int waits = 0; waits < 2; waits++)
                        cr_assert_eq(engine_wait(t, ME, NULL, number[0], KIND_ISSUE, OP_RESOLVE, NULL, p, &seq), 0);
                cr_assert_eq(engine_wait_drop(t, ME, seq, "for a reason", &seq, &d), 0, "%s", d.text);
                cr_assert_eq(engine_pass(t, &(Pass){.routine = "digest", .scope = names[i], .number = 1, .record = p, .who = ME}, &seq, &d), 0, "%s", d.text);
        }
        cr_assert_eq(engine_scope_delete(t, ME, "left", NULL, &seq, &n, &d), 0);
        cr_expect_eq(n, 4);
        for (size_t k = 0; k < ARRAY_SIZE(tables); k++) {
                cr_assert_eq(table_rows(t, tables[k], &now), 0);
                cr_expect_eq(now, rows[k], "%s: %lu, not %lu", table_name(tables[k]), now, rows[k]);
        }
        for (uint64_t s = number[0]; s < number[1]; s++) {
                _cleanup_json_ json_t *body = NULL;

                cr_expect_eq(record_body(t, s, &body), -ENOENT, "seq %lu", s);
        }
        cr_assert_eq(engine_scope_create(t, ME, "left", &number[0], &d), 0);
        cr_expect_eq(engine_mutate(t, &(Mutation){.scope = "left", .kind = KIND_MEMORY, .op = OP_ARCHIVE, .id = "one", .expect = MUTATION_ANY, .who = ME}, &m, &d),
                     ENGINE_E_NO_RECORD);
        store_fixture_commit(&f, t);
}

/* Refusals, each with its code, in words and in the ledger; the tables are as they were (G-24, M-11, M-23, M-57). */
Test(mutate, refuses_with_a_code) {
        static const struct {
                Kind kind;
                Op op;
                const char *id, *payload, *refs;
                int code;
                const char *words;
        } rows[] = {
                {KIND_PLAN, OP_APPEND, "main", "{}", NULL, ENGINE_E_BAD_OPERATION, "append"},
                {KIND_ISSUE, OP_SAVE, "an_issue", "{}", NULL, ENGINE_E_BAD_OPERATION, "save"},
                {KIND_ISSUE, OP_UPSERT, "Not A Slug", "{}", NULL, ENGINE_E_BAD_NAME, "Not A Slug"},
                {KIND_ISSUE, OP_RESOLVE, "unknown_issue", "{}", NULL, ENGINE_E_NO_RECORD, "unknown_issue"},
                {KIND_MEMORY, OP_RESTORE, "one", NULL, NULL, ENGINE_E_BAD_STATE, "active"},
                {KIND_MEMORY, OP_REMOVE, "one", NULL, NULL, ENGINE_E_BAD_STATE, "active"},
                {KIND_MEMORY, OP_SAVE, "two", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", "[{\"kind\":\"memory_substrate\",\"id\":\"no\"}]", ENGINE_E_BAD_REF, "not there"},
                {KIND_MEMORY, OP_SAVE, "two", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", "[{\"kind\":\"memory_substrate\",\"id\":\"two\"}]", ENGINE_E_BAD_REF, "itself"},
                {KIND_MEMORY, OP_SAVE, "two", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", "[{\"kind\":\"agent_model_kernel\",\"id\":\"kernel\"}]", ENGINE_E_BAD_REF, "cannot refer"},
                {KIND_MEMORY, OP_SAVE, "two", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", "[{\"kind\":\"memory_substrate\",\"id\":\"one\",\"scope\":\"other\"}]", ENGINE_E_CROSS_SCOPE, "other"},
                {KIND_MEMORY, OP_SAVE, "two", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", "[{\"kind\":\"memory_substrate\",\"id\":\"one\",\"strength\":\"huge\"}]", ENGINE_E_BAD_REF, "huge"},
                {KIND_MEMORY, OP_SAVE, "two", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", "[{\"kind\":\"memory_substrate\",\"id\":\"one\",\"x\":1}]", ENGINE_E_BAD_REF, "unknown field"},
        };
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t before, after;
        Mutated m;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(mutate(t, KIND_MEMORY, OP_SAVE, "one", "{\"subject\":\"s\",\"predicate\":\"p\",\"object\":\"o\"}", NULL, &m, &d), 0, "%s", d.text);
        cr_assert_eq(table_rows(t, TABLE_CHANGE, &before), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_expect_eq(mutate(t, rows[i].kind, rows[i].op, rows[i].id, rows[i].payload, rows[i].refs, &m, &d), rows[i].code, "row %zu: %s", i, d.text);
                cr_expect(strstr(d.text, rows[i].words) != NULL, "row %zu: %s", i, d.text);
                cr_assert_eq(table_rows(t, TABLE_CHANGE, &after), 0);
                cr_expect_eq(after, before, "row %zu", i);
        }
        store_fixture_commit(&f, t);
}

/* The event stands although its projection failed; the record is as it was, later events about it wait in order, others do not (G-26, G-28, G-30). */
Test(mutate, an_event_survives_its_projection) {
        static const char wait_row[] = "{\"attempts\":0,\"kind\":\"issues\",\"last\":1,\"op\":\"resolve\",\"scope\":1,\"state\":\"open\"}";
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *list = NULL, *fields = json("{\"pending\":9999}"), *p = json("{}"), *entry = NULL;
        _cleanup_record_ Record rec = RECORD_NULL;
        uint64_t applied, left, failed;
        uint8_t wait[8];
        RecordKey k;
        Mutated m;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(mutate(t, KIND_ISSUE, OP_UPSERT, "an_issue", "{\"title\":\"it breaks\"}", NULL, &m, &d), 0, "%s", d.text);
        k = record_key_of(scope(t, SCOPE_DEFAULT), KIND_ISSUE, "an_issue");
        /* its last step finds no such pending item, after the row was written */
        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = OP_RESOLVE, .id = "an_issue", .expect = MUTATION_ANY, .payload = p, .fields = fields,
                                                  .who = ME}, &m, &d), 0, "%s", d.text);
        cr_expect(!m.applied);
        failed = m.seq;
        cr_assert_eq(event_get(t, failed, &entry), 0);
        cr_expect_str_eq(json_string_value(json_object_get(entry, "type")), "canon.resolve");
        cr_assert_eq(record_get(t, &k, &rec), 0);
        cr_expect_eq(rec.state, RECORD_OPEN);
        cr_expect_eq(rec.version, 1);
        record_deinit(&rec);
        cr_expect_eq(mutate(t, KIND_ISSUE, OP_UPSERT, "an_issue", "{\"title\":\"it breaks again\"}", NULL, &m, &d), ENGINE_E_BLOCKED, "%s", d.text);
        cr_assert_eq(mutate(t, KIND_ISSUE, OP_UPSERT, "another_issue", "{\"title\":\"it breaks\"}", NULL, &m, &d), 0, "%s", d.text);
        cr_expect(m.applied);
        cr_assert_eq(engine_dead_letter_list(t, &list), 0);
        cr_assert_eq(json_array_size(list), 1);
        cr_expect_str_eq(json_string_value(json_object_get(json_array_get(list, 0), "id")), "an_issue");
        store_fixture_commit(&f, t);

        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_retry_dead_letters(t, &applied, &left), 0);
        cr_expect(applied == 0 && left == 1, "%lu %lu", applied, left);
        be64_put(wait, 9999);
        cr_assert_eq(table_put(t, TABLE_WAIT, BYTES(wait, 8), BYTES_STR(wait_row)), 0);
        cr_assert_eq(engine_retry_dead_letters(t, &applied, &left), 0);
        cr_expect(applied == 1 && left == 0, "%lu %lu", applied, left);
        cr_assert_eq(record_get(t, &k, &rec), 0);
        cr_expect_eq(rec.state, RECORD_RESOLVED);
        cr_expect_eq(rec.version, 2);
        cr_assert_eq(mutate(t, KIND_ISSUE, OP_UPSERT, "an_issue", "{\"title\":\"it breaks again\"}", NULL, &m, &d), 0, "%s", d.text);
        cr_expect(m.applied && m.version == 3 && m.state == RECORD_OPEN);
        store_fixture_commit(&f, t);
}

/* Notes are their run's, processed once, and die with it; unprocessed ones are not lost by accident (G-1..G-4). */
Test(note, lives_and_dies_with_its_run) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_note_ Note n = NOTE_NULL;
        uint64_t number, dropped, rows;
        NoteRun a, b, now;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_run_begin(t, ME, NULL, NULL, "planner", NULL, &a, &d), 0, "%s", d.text);
        cr_assert_eq(engine_run_begin(t, ME, NULL, NULL, "planner", NULL, &b, &d), 0, "%s", d.text);
        cr_expect_eq(engine_run_begin(t, ME, NULL, a.id, "planner", NULL, &b, &d), ENGINE_E_EXISTS);
        cr_expect_eq(engine_run_begin(t, ME, NULL, NULL, "Plan ner", NULL, &a, &d), ENGINE_E_BAD_NAME);
        cr_expect_eq(engine_run_begin(t, ME, NULL, NULL, "planner", "nowhere", &a, &d), ENGINE_E_NO_SCOPE);
        cr_assert_eq(engine_note_add(t, a.id, NOTE_AGENT, "first", 5, NULL, &number, &d), 0);
        cr_expect_eq(number, 1);
        cr_assert_eq(engine_note_add(t, a.id, NOTE_TOOL_RESULT, "second", 6, NULL, &number, &d), 0);
        store_fixture_commit(&f, t); /* they survive a crash */
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_note_next(t, a.id, 1, true, &n), 0);
        cr_expect_str_eq(note_words(&n), "first");
        cr_expect_eq(n.role, NOTE_AGENT);
        {
                const Note stale = {.number = 1, .row = n.row, .raw = BYTES("{}", 2)};

                json_put(n.row, "text", json_string("not what stands there")); /* and so it is not what is written */
                cr_expect_eq(engine_note_settle(t, a.id, 1, &stale, NOTE_REJECTED, NULL), 0);
        }
        cr_assert_eq(engine_note_next(t, a.id, 1, false, &n), 0);
        cr_expect_str_eq(note_words(&n), "first");
        cr_expect_eq(engine_run_settled(t, a.id, 1, 1), 0);
        cr_expect_eq(engine_run_settled(t, a.id, 0, 0), 0); /* what is settled stays so */
        cr_assert_eq(engine_run_get(t, a.id, &now, &d), 0);
        cr_expect(now.processed == 1 && now.settled == 1);
        cr_expect_eq(engine_note_settle(t, a.id, 1, NULL, NOTE_COMMITTED, NULL), -EALREADY);
        cr_expect_eq(engine_note_settle(t, a.id, 7, NULL, NOTE_COMMITTED, NULL), -ENOENT);
        cr_assert_eq(engine_note_next(t, a.id, 1, true, &n), 0);
        cr_expect_eq(n.number, 2);
        cr_expect_eq(engine_note_next(t, b.id, 1, false, &n), -ENOENT); /* another run has none of them */
        cr_expect_eq(engine_run_end(t, ME, NULL, a.id, false, &dropped, &d), ENGINE_E_CONFLICT);
        cr_expect(strstr(d.text, "1 unprocessed note:") != NULL, "%s", d.text);
        cr_expect_eq(engine_run_end(t, ME, NULL, a.id, true, &dropped, &d), 0);
        cr_expect_eq(dropped, 1);
        cr_expect_eq(engine_run_end(t, ME, NULL, b.id, false, &dropped, &d), 0);
        cr_assert_eq(table_rows(t, TABLE_NOTE, &rows), 0);
        cr_expect_eq(rows, 0);
        cr_expect_eq(engine_note_add(t, a.id, NOTE_AGENT, "late", 4, NULL, &number, &d), ENGINE_E_NO_RECORD);
        store_fixture_commit(&f, t);
}
