/* Executions of persistent objects as regions: their changes count once, or not at all (O-21, O-38). */
#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "engine/execution.h"
#include "engine/fold.h"
#include "object/append.h"
#include "record/event.h"
#include "record/rows.h"
#include "tests/support/store-fixture.h"

#include <errno.h>
#include <inttypes.h>

typedef struct Fixture {
        StoreFixture s;
        char object[REGION_ID_MAX], trace[REGION_ID_MAX];
} Fixture;

static json_t *json(const char *text) {
        json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert(o, "%s", text);
        return o;
}

/* The floor above appends the entry: the audit reads its line, too. */
static void entry(Fixture *f, EntryKind kind, const char *data, const char *outcome) {
        _cleanup_json_ json_t *d = json(data), *o = outcome ? json(outcome) : NULL;
        _cleanup_appending_ Appending a = APPENDING_NULL;
        Txn *t = store_fixture_begin(&f->s, true);

        cr_assert_eq(append_open(t, f->object, &a, &f->s.d), 0, "%s", f->s.d.text);
        a.who = "uid:0";
        a.trace = f->trace;
        a.now_usec = clock_real_usec();
        cr_assert_eq(append_entry(&a, kind, o, d, NULL, &f->s.d), 0, "%s: %s", entry_kind_name(kind), f->s.d.text);
        store_fixture_commit(&f->s, t);
}

static void started(Fixture *f) {
        entry(f, ENTRY_STARTED, "{\"skill\": \"s\", \"args\": [], \"deadline_usec\": 1, \"step\": 0, \"attempt\": 1}", NULL);
}

/* Entries that may come while the region lives. */
static void move(Fixture *f, EntryKind kind) {
        if (kind == ENTRY_OUTCOME)
                entry(f, kind, "{}", "{\"kind\": \"interrupted\", \"latency_usec\": 0}");
        else
                entry(f, kind, kind == ENTRY_TERMINATED ? "{\"reason\": \"requested\"}" : "{\"from\": \"test\", \"input\": 1}", NULL);
}

static void fixture_init(Fixture *f) {
        _cleanup_json_ json_t *intent = json("{\"do\": {\"skill\": \"s\"}}");
        Txn *t;

        *f = (Fixture){0};
        store_fixture_init(&f->s, STORE_SUPERVISE);
        region_id_new(clock_real_usec(), f->trace);
        t = store_fixture_begin(&f->s, true);
        cr_assert_eq(object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "p1", .now_usec = clock_real_usec()}, f->object, NULL, &f->s.d), 0, "%s", f->s.d.text);
        store_fixture_commit(&f->s, t);
        entry(f, ENTRY_EVALUATION, "{}", NULL);
}

static void fixture_deinit(Fixture *f) {
        store_fixture_deinit(&f->s);
}
#define _cleanup_fixture_ _cleanup_(fixture_deinit)

typedef struct Start {
        const char *grant, *parent, *callback;
        bool object, writes;
} Start;

static int start(Fixture *f, const Start *o, char id[static REGION_ID_MAX]) {
        static const char *const names[] = {"n", NULL};
        _cleanup_json_ json_t *slots = json("{\"n\": {}}"), *grant = json(o->grant ?: "{\"commit\": \"success\"}"), *release = json("[\"clean\"]");
        Txn *t = store_fixture_begin(&f->s, true);
        RegionStart s = {.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .start = "cold", .grant = grant, .slots = slots,
                         .writes = o->writes ? names : NULL, .supervisor_pid = 1, .parent = o->parent, .callback = o->callback, .release = release,
                         .object = o->object ? f->object : NULL, .trace = o->object ? f->trace : NULL};
        int r;

        region_id_new(clock_real_usec(), id);
        r = engine_region_start(t, &s, NULL, NULL, &f->s.d);
        if (r == 0)
                store_fixture_commit(&f->s, t);
        else
                store_abort(t);
        return r;
}

static void propose(Fixture *f, const char *id) {
        _cleanup_json_ json_t *v = json_integer(1);
        Txn *t = store_fixture_begin(&f->s, true);
        uint64_t seq, version;

        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = id, .name = "n", .value = v, .expect = -1}, &seq, &version, NULL, &f->s.d), 0, "%s", f->s.d.text);
        store_fixture_commit(&f->s, t);
}

static void end(Fixture *f, const char *id, const char *ended) {
        _cleanup_json_ json_t *none = json_object(), *how = json(ended);
        Txn *t = store_fixture_begin(&f->s, true);

        cr_assert_eq(engine_region_end(t, &(RegionEnd){.region = id, .keep = true, .released = none, .ended = how}, NULL, NULL, &f->s.d), 0, "%s", f->s.d.text);
        store_fixture_commit(&f->s, t);
}

static uint64_t versions(Fixture *f) {
        Txn *t = store_fixture_begin(&f->s, false);
        SlotRow row = {0};
        int r = slot_row_get(t, "n", &row);

        store_abort(t);
        return r == 0 ? row.version : 0;
}

/* The newest event of this type, owned. */
static json_t *newest(Fixture *f, const char *type) {
        Txn *t = store_fixture_begin(&f->s, false);
        json_t *found = NULL, *o;

        for (uint64_t seq = 0; event_get(t, seq, &o) == 0; seq++)
                if (json_text_is(json_object_get(o, "type"), type)) {
                        json_decref(found);
                        found = o;
                } else
                        json_decref(o);
        store_abort(t);
        cr_assert(found, "no event %s", type);
        return found;
}

static int row_of(Fixture *f, ExecutionRow *ret) {
        Txn *t = store_fixture_begin(&f->s, false);
        int r = execution_get(t, f->object, f->trace, ret);

        store_abort(t);
        return r;
}

/* The rows are the fold of the ledger, and the audit's own fold agrees. */
static void sound(Fixture *f, const char *row) {
        Txn *t = store_fixture_begin(&f->s, false);
        AuditReport a;
        FoldResult r;

        cr_assert_eq(engine_fold_compare(t, &r, &f->s.d), 0, "%s: %s", row, f->s.d.text);
        cr_assert_null(r.how, "%s: table %s, key %s: %s", row, table_name(r.table), r.key, r.how);
        store_abort(t);
        cr_assert_eq(audit_run(f->s.store, &a), 0, "%s: %s; expected %s; found %s", row, a.what, a.expected, a.found);
}

// O-38: a region starts for a trace once, and only while the object waits for it.
Test(execution, one_region_for_each_started_entry) {
        static const struct {
                const char *name;
                bool started, closed, twice;
                const char *grant;
                int r;
        } rows[] = {
                {"started", true, false, false, NULL, 0},
                {"no entry", false, false, false, NULL, ENGINE_E_CONFLICT},
                {"the outcome is there", true, true, false, NULL, ENGINE_E_CONFLICT},
                {"a second region", true, false, true, NULL, ENGINE_E_CONFLICT},
                {"changes after any exit code", true, false, false, "{\"commit\": \"always\"}", ENGINE_E_NOT_GRANTED},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_fixture_ Fixture f;
                char id[REGION_ID_MAX];

                fixture_init(&f);
                if (rows[i].started)
                        started(&f);
                if (rows[i].closed)
                        move(&f, ENTRY_OUTCOME);
                if (rows[i].twice)
                        cr_assert_eq(start(&f, &(Start){.object = true}, id), 0, "%s: %s", rows[i].name, f.s.d.text);
                cr_assert_eq(start(&f, &(Start){.object = true, .grant = rows[i].grant}, id), rows[i].r, "%s: %s", rows[i].name, f.s.d.text);
                sound(&f, rows[i].name);
        }
}

// O-21, O-38: what an execution leaves, however it ends. The caller always asks to keep the changes: the engine decides.
Test(execution, changes_are_kept_after_success_alone) {
        static const struct {
                const char *name, *ended; /* NULL: the supervisor dies, and recovery ends the region */
                EntryKind move;           /* an entry of the object before the end; ENTRY_INSTANTIATED: none */
                bool kept;
                const char *why;
        } rows[] = {
                {"exit code 0", "{\"outcome\": \"exited\", \"exit_code\": 0}", ENTRY_INSTANTIATED, true, ""},
                {"exit code 1", "{\"outcome\": \"exited\", \"exit_code\": 1}", ENTRY_INSTANTIATED, false, "not_success"},
                {"a signal", "{\"outcome\": \"signaled\", \"signal\": 9}", ENTRY_INSTANTIATED, false, "not_success"},
                {"no exit code", "{\"outcome\": \"exited\"}", ENTRY_INSTANTIATED, false, "not_success"},
                {"interrupted by another process", "{\"outcome\": \"exited\", \"exit_code\": 0}", ENTRY_OUTCOME, false, EXECUTION_OVER},
                {"the object was ended", "{\"outcome\": \"exited\", \"exit_code\": 0}", ENTRY_TERMINATED, false, EXECUTION_OVER},
                {"a note came in", "{\"outcome\": \"exited\", \"exit_code\": 0}", ENTRY_INPUT, true, ""},
                {"the supervisor died", NULL, ENTRY_INSTANTIATED, false, "not_success"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *ended = NULL, *none = json_object();
                _cleanup_fixture_ Fixture f;
                char id[REGION_ID_MAX];
                ExecutionRow x = {0};

                fixture_init(&f);
                started(&f);
                cr_assert_eq(start(&f, &(Start){.object = true, .writes = true}, id), 0, "%s: %s", rows[i].name, f.s.d.text);
                cr_assert_eq(row_of(&f, &x), 0);
                cr_assert_str_eq(x.region, id, "%s", rows[i].name);
                propose(&f, id);
                if (rows[i].move)
                        move(&f, rows[i].move);
                if (rows[i].ended)
                        end(&f, id, rows[i].ended);
                else {
                        Txn *t = store_fixture_begin(&f.s, true);

                        cr_assert_eq(engine_region_recover(t, id, none, &f.s.d), 0, "%s", f.s.d.text);
                        store_fixture_commit(&f.s, t);
                }
                ended = newest(&f, "invocation.ended");
                cr_assert_str_eq(json_str(ended, "object"), f.object, "%s", rows[i].name);
                cr_assert_str_eq(json_str(ended, "trace"), f.trace, "%s", rows[i].name);
                cr_assert_eq(json_is_true(json_object_get(ended, "kept")), rows[i].kept, "%s", rows[i].name);
                cr_assert_str_eq(json_str(ended, "discarded"), rows[i].why, "%s", rows[i].name);
                cr_assert_eq(versions(&f), rows[i].kept, "%s: %" PRIu64 " versions", rows[i].name, versions(&f));
                if (!rows[i].move || rows[i].move == ENTRY_INPUT)
                        cr_assert(row_of(&f, &x) == 0 && x.ended > 0, "%s: the row of the execution does not know the end", rows[i].name);
                else
                        cr_assert_eq(row_of(&f, &x), -ENOENT, "%s: the execution is still open", rows[i].name);
                sound(&f, rows[i].name);
        }
}

// O-38: a region below ends before its execution, which may run again: nothing below is kept.
Test(execution, below_an_execution_nothing_is_kept) {
        static const struct {
                const char *name, *callback;
                bool writes;
                int r;
        } rows[] = {
                {"a sub-skill that writes", NULL, true, ENGINE_E_NOT_GRANTED},
                {"a sub-skill that reads", NULL, false, 0},
                {"a release callback that writes", "clean", true, 0},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *ended = NULL;
                _cleanup_fixture_ Fixture f;
                char id[REGION_ID_MAX], below[REGION_ID_MAX];
                ExecutionRow x = {0};

                fixture_init(&f);
                started(&f);
                cr_assert_eq(start(&f, &(Start){.object = true}, id), 0, "%s: %s", rows[i].name, f.s.d.text);
                cr_assert_eq(start(&f, &(Start){.parent = id, .callback = rows[i].callback, .writes = rows[i].writes}, below), rows[i].r, "%s: %s", rows[i].name, f.s.d.text);
                if (rows[i].r == 0) {
                        if (rows[i].writes)
                                propose(&f, below);
                        end(&f, below, "{\"outcome\": \"exited\", \"exit_code\": 0}");
                        ended = newest(&f, "invocation.ended");
                        cr_assert(json_is_true(json_object_get(ended, "below")) && json_is_false(json_object_get(ended, "kept")), "%s", rows[i].name);
                        cr_assert_str_eq(json_str(ended, "discarded"), EXECUTION_BELOW, "%s", rows[i].name);
                        cr_assert(row_of(&f, &x) == 0 && x.ended == 0, "%s: the end of a region below is not that of the execution", rows[i].name);
                }
                end(&f, id, "{\"outcome\": \"exited\", \"exit_code\": 0}");
                cr_assert_eq(versions(&f), 0, "%s", rows[i].name);
                sound(&f, rows[i].name);
        }
}

// A grant that is too large for an entry of the ledger: the entry still names the execution, and the rebuild agrees.
Test(execution, a_large_event_names_its_execution) {
        _cleanup_free_ char *big = malloc(70000);
        _cleanup_json_ json_t *allocated = NULL;
        _cleanup_fixture_ Fixture f;
        char id[REGION_ID_MAX];
        ExecutionRow x = {0};

        snprintf(big, 70000, "{\"commit\": \"success\", \"more\": \"%068000d\"}", 0);
        fixture_init(&f);
        started(&f);
        cr_assert_eq(start(&f, &(Start){.object = true, .grant = big}, id), 0, "%s", f.s.d.text);
        allocated = newest(&f, "region.allocated");
        cr_assert_str_eq(json_str(allocated, "fields"), "body");
        cr_assert_str_eq(json_str(allocated, "object"), f.object);
        cr_assert_eq(row_of(&f, &x), 0);
        cr_assert_str_eq(x.region, id);
        sound(&f, "large");
}
