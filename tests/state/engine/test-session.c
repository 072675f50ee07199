/* The rows and events of sessions: what a turn carries counts once, in its transaction, or not at all. */
#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "engine/note.h"
#include "engine/session.h"
#include "ledger/ledger.h"
#include "schema/limits.h"
#include "tests/support/store-fixture.h"

#include <inttypes.h>
#include <string.h>

typedef struct Fixture {
        StoreFixture s;
        char session[REGION_ID_MAX];
} Fixture;

static json_t *json(const char *text) {
        json_t *o = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert(o, "%s", text);
        return o;
}

static int open_of(Fixture *f, const char *on_crash, uint64_t uid, uint64_t most, uint64_t turns, char id[static REGION_ID_MAX]) {
        _cleanup_json_ json_t *said = json_pack("{s:s, s:I, s:I, s:{s:{s:b, s:i}, s:{s:b, s:i}}}", "on_crash", on_crash, "idle_usec", (json_int_t)60000000, "turns",
                                                (json_int_t)turns, "sections", "a", "schema", 1, "bytes", 64, "b", "schema", 1, "bytes", 64),
                               *grant = json("{\"session\":{},\"commit\":\"success\"}");
        SessionStart s = {.region = {.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "session", .start = "cold", .grant = grant, .supervisor_pid = 1},
                          .said = said, .uid = uid, .target = "s", .max_sessions = most};
        Txn *t = store_fixture_begin(&f->s, true);
        int r;

        region_id_new(clock_real_usec(), id);
        r = engine_session_open(t, &s, &f->s.d);
        if (r == 0)
                store_fixture_commit(&f->s, t);
        else
                store_abort(t);
        return r;
}

static void fixture_init(Fixture *f, const char *on_crash) {
        *f = (Fixture){0};
        store_fixture_init(&f->s, STORE_SUPERVISE);
        cr_assert_eq(open_of(f, on_crash, 1, 0, 100, f->session), 0, "%s", f->s.d.text);
}

static void fixture_deinit(Fixture *f) {
        store_fixture_deinit(&f->s);
}
#define _cleanup_fixture_ _cleanup_(fixture_deinit)

static int turn(Fixture *f, char id[static REGION_ID_MAX], uint64_t *ret_turn) {
        Txn *t = store_fixture_begin(&f->s, true);
        int r;

        region_id_new(clock_real_usec(), id);
        r = engine_region_start(t, &(RegionStart){.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .supervisor_pid = 1,
                                                  .parent = f->session, .session = f->session, .ret_turn = ret_turn},
                                NULL, NULL, &f->s.d);
        if (r == 0)
                store_fixture_commit(&f->s, t);
        else
                store_abort(t);
        return r;
}

/* The end of a turn, with these values of "a" and "b" (NULL: none), or with a drop of as many. */
static void end(Fixture *f, const char *id, const char *a, const char *b, bool keep) {
        _cleanup_json_ json_t *none = json_object();
        const char *const values[] = {a, b};
        Txn *t = store_fixture_begin(&f->s, true);

        for (size_t i = 0; keep && i < 2; i++) {
                _cleanup_json_ json_t *v = values[i] ? json(values[i]) : NULL;

                if (v)
                        cr_assert_eq(engine_session_carry(t, &(SessionCarry){.session = f->session, .region = id, .section = i ? "b" : "a", .value = v}, NULL, &f->s.d), 0, "%s",
                                     f->s.d.text);
        }
        if (!keep)
                cr_assert_eq(engine_session_drop(t, f->session, id, (a != NULL) + (b != NULL), "signaled"), 0);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){.region = id, .keep = keep, .released = none, .ended = none}, NULL, NULL, &f->s.d), 0, "%s", f->s.d.text);
        store_fixture_commit(&f->s, t);
}

static void turn_of(Fixture *f, const char *a, const char *b, bool keep) {
        char id[REGION_ID_MAX];

        cr_assert_eq(turn(f, id, NULL), 0, "%s", f->s.d.text);
        end(f, id, a, b, keep);
}

static int close_it(Fixture *f, const char *session, const char *reason) {
        _cleanup_json_ json_t *none = json_object();
        Txn *t = store_fixture_begin(&f->s, true);
        int r = engine_session_end(t, &(SessionEnd){.session = session, .reason = reason, .who = "uid:1", .evidence = none}, &f->s.d);

        if (r == 0)
                store_fixture_commit(&f->s, t);
        else
                store_abort(t);
        return r;
}

/* A member of the session's row as text, owned; NULL: no row. */
static char *row(Fixture *f, const char *member) {
        Txn *t = store_fixture_begin(&f->s, false);
        RegionRow found = {0};
        char *out = NULL;

        if (engine_region_get(t, f->session, &found) == 0) {
                const json_t *v = json_object_get(session_of_row(&found), member);

                out = v ? json_dumps(v, JSON_ENCODE_ANY | JSON_SORT_KEYS | JSON_COMPACT) : strdup("none");
        }
        region_row_deinit(&found);
        store_abort(t);
        return out;
}

/* Of the session's host, which is the test itself. */
static uint64_t lock_of(Fixture *f) {
        return store_own_lock(f->s.store);
}

static void row_is(Fixture *f, const char *member, const char *want) {
        _cleanup_free_ char *is = row(f, member);

        cr_assert(is && strcmp(is, want) == 0, "%s is %s, not %s", member, is, want);
}

/* The values of a session that resumes, as text: owned. */
static char *values(Fixture *f) {
        _cleanup_json_ json_t *o = NULL;
        Txn *t = store_fixture_begin(&f->s, false);
        int r = engine_session_values(t, f->session, &o, &f->s.d);

        store_abort(t);
        cr_assert_eq(r, 0, "%d %s", r, f->s.d.text);
        return json_dumps(o, JSON_SORT_KEYS | JSON_COMPACT);
}

/* The types of all entries about sessions, with spaces between. Owned. */
static char *entries(Fixture *f) {
        Txn *t = store_fixture_begin(&f->s, false);
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t size, seq;
        char *out = calloc(1, 4096);

        cr_assert_eq(ledger_state(t, &size, NULL), 0);
        cr_assert_eq(ledger_walk(t, 0, &w), 0);
        for (uint64_t i = 0; i < size; i++) {
                _cleanup_json_ json_t *o = NULL;
                const char *type;
                Bytes e;

                cr_assert_eq(ledger_next(&w, &seq, &e), 0);
                o = json_loadb(e.p, e.n, 0, NULL);
                type = json_string_value(json_object_get(o, "type"));
                if (strncmp(type, "session.", 8) == 0)
                        strcat(strcat(out, *out ? " " : ""), type + 8);
        }
        ledger_walk_deinit(&w);
        w = (LedgerWalk){0};
        store_abort(t);
        return out;
}

static void entries_are(Fixture *f, const char *want) {
        _cleanup_free_ char *is = entries(f);

        cr_assert_str_eq(is, want);
}

static void audit(Fixture *f) {
        AuditReport a;

        cr_assert_eq(audit_run(f->s.store, &a), 0, "entry %lu: %s; expected %s; found %s", (unsigned long)a.seq, a.what, a.expected, a.found);
}

Test(session, turns_are_numbered_and_one_at_a_time) { // I-46, I-84
        _cleanup_fixture_ Fixture f;
        char first[REGION_ID_MAX], second[REGION_ID_MAX];
        uint64_t n = 0;

        fixture_init(&f, "end");
        cr_assert_eq(turn(&f, first, &n), 0, "%s", f.s.d.text);
        cr_assert_eq(n, 1);
        cr_assert_eq(turn(&f, second, &n), ENGINE_E_CONFLICT);
        cr_assert(strstr(f.s.d.text, "turn 1 of session") && strstr(f.s.d.text, first), "%s", f.s.d.text);
        cr_assert_eq(close_it(&f, f.session, "closed"), ENGINE_E_CONFLICT, "the turn ends before its session (I-48)");
        row_is(&f, "turns", "1");
        end(&f, first, NULL, NULL, true);
        row_is(&f, "turn", "none");
        cr_assert_eq(turn(&f, second, &n), 0);
        cr_assert_eq(n, 2);
        end(&f, second, NULL, NULL, true);
        cr_assert_eq(close_it(&f, f.session, "closed"), 0, "%s", f.s.d.text);
        cr_assert_null(row(&f, "turns"));
        cr_assert_eq(close_it(&f, f.session, "closed"), ENGINE_E_NO_REGION);
        cr_assert_neq(turn(&f, second, &n), 0, "an ended session has no turns");
        entries_are(&f, "opened ended");
        audit(&f);
}

Test(session, the_last_turn_is_the_last) { // I-86: what a session may have
        _cleanup_fixture_ Fixture f;
        char id[REGION_ID_MAX];

        fixture_init(&f, "end");
        cr_assert_eq(close_it(&f, f.session, "closed"), 0);
        cr_assert_eq(open_of(&f, "end", 1, 0, 2, f.session), 0);
        turn_of(&f, NULL, NULL, true);
        turn_of(&f, NULL, NULL, false);
        cr_assert_eq(turn(&f, id, NULL), ENGINE_E_TOO_MANY);
        cr_assert(strstr(f.s.d.text, "has had its 2 turns"), "%s", f.s.d.text);
}

Test(session, what_is_carried_is_in_no_file) { // I-85: on_crash end
        _cleanup_fixture_ Fixture f;

        fixture_init(&f, "end");
        turn_of(&f, "\"mellon mellon\"", NULL, true);
        turn_of(&f, "\"mellon mellon\"", "1", true);
        row_is(&f, "turns", "2");
        entries_are(&f, "opened carried carried carried");
        cr_assert(!store_fixture_has(&f.s, "mellon mellon"));
        audit(&f);
        cr_assert_eq(close_it(&f, f.session, "closed"), 0);
        audit(&f);
}

Test(session, a_session_that_resumes_has_the_newest_values) { // I-84, I-85
        _cleanup_fixture_ Fixture f;
        _cleanup_free_ char *first = NULL, *next = NULL, *after = NULL;
        Txn *t;

        fixture_init(&f, "resume");
        turn_of(&f, "\"mellon one\"", "{\"n\":1}", true);
        first = values(&f);
        cr_assert_str_eq(first, "{\"a\":{\"value\":\"mellon one\",\"version\":1},\"b\":{\"value\":{\"n\":1},\"version\":1}}");
        turn_of(&f, "\"mellon two\"", NULL, true);
        turn_of(&f, "\"mellon three\"", "2", false); /* dropped */
        next = values(&f);
        cr_assert_str_eq(next, "{\"a\":{\"value\":\"mellon two\",\"version\":2},\"b\":{\"value\":{\"n\":1},\"version\":1}}");
        audit(&f);
        t = store_fixture_begin(&f.s, true);
        cr_assert_eq(engine_session_adopt(t, f.session, lock_of(&f) + 1, &f.s.d), ENGINE_E_CONFLICT); /* another host came first */
        cr_assert(strstr(f.s.d.text, "is hosted by process"), "%s", f.s.d.text);
        cr_assert_eq(engine_session_adopt(t, f.session, lock_of(&f), &f.s.d), 0);
        store_fixture_commit(&f.s, t);
        after = values(&f);
        cr_assert_str_eq(after, next);
        entries_are(&f, "opened carried carried carried dropped resumed");
        cr_assert_eq(close_it(&f, f.session, "closed"), 0);
        audit(&f);
        store_fixture_compact(&f.s);
        cr_assert(!store_fixture_has(&f.s, "mellon"), "nothing that was carried is left after the end");
}

/* A transaction that is not committed has no effect at all: the same as a crash at that point. */
Test(session, a_crash_before_the_commit_carries_nothing) { // I-85, I-86
        _cleanup_fixture_ Fixture f;
        _cleanup_free_ char *is = NULL;
        _cleanup_json_ json_t *v = json("\"later\"");
        char id[REGION_ID_MAX];
        uint64_t version = 0;
        Txn *t;

        fixture_init(&f, "resume");
        turn_of(&f, "\"before\"", NULL, true);
        cr_assert_eq(turn(&f, id, NULL), 0);
        for (int n = 0; n < 2; n++) { /* as far as the carry, and to just before the commit */
                _cleanup_json_ json_t *none = json_object();

                t = store_fixture_begin(&f.s, true);
                cr_assert_eq(engine_session_carry(t, &(SessionCarry){.session = f.session, .region = id, .section = "a", .value = v}, &version, &f.s.d), 0);
                cr_assert_eq(version, 2);
                if (n == 1)
                        cr_assert_eq(engine_region_end(t, &(RegionEnd){.region = id, .keep = true, .released = none, .ended = none}, NULL, NULL, &f.s.d), 0);
                store_abort(t);
        }
        store_fixture_close(&f.s);
        store_fixture_open(&f.s, STORE_SUPERVISE);
        is = values(&f);
        cr_assert_str_eq(is, "{\"a\":{\"value\":\"before\",\"version\":1}}");
        row_is(&f, "turns", "2");
        end(&f, id, "\"later\"", NULL, false); /* as recovery does */
        free(is);
        is = values(&f);
        cr_assert_str_eq(is, "{\"a\":{\"value\":\"before\",\"version\":1}}");
        audit(&f);
}

Test(session, each_user_has_so_many) { // I-85
        _cleanup_fixture_ Fixture f;
        char id[REGION_ID_MAX];

        fixture_init(&f, "end"); /* the first of user 1 */
        cr_assert_eq(open_of(&f, "end", 1, 2, 9, id), 0);
        cr_assert_eq(open_of(&f, "end", 2, 2, 9, id), 0, "%s", f.s.d.text);
        cr_assert_eq(open_of(&f, "end", 1, 2, 9, id), ENGINE_E_TOO_MANY);
        cr_assert(strstr(f.s.d.text, "user 1 has 2 sessions open: policy allows 2 of a user at once (max_sessions)"), "%s", f.s.d.text);
        cr_assert_eq(open_of(&f, "end", 1, 0, 9, id), 0, "no limit");
        cr_assert_eq(close_it(&f, f.session, "idle"), 0);
        cr_assert_eq(close_it(&f, id, "idle"), 0);
        cr_assert_eq(open_of(&f, "end", 1, 2, 9, id), 0, "%s", f.s.d.text);
}

Test(session, waits_for_a_host) { // I-85
        _cleanup_json_ json_t *resumes = json("{\"on_crash\":\"resume\",\"used_usec\":1000,\"idle_usec\":500}"),
                               *ends = json("{\"on_crash\":\"end\",\"used_usec\":1000,\"idle_usec\":500}");

        cr_assert(session_waits(resumes, 1499) && !session_waits(resumes, 1500) && !session_waits(ends, 1000));
        cr_assert(session_resumes(resumes) && !session_resumes(ends) && !session_resumes(NULL));
}

/* Recovery of a session's region records its end, and what it carried leaves the store. */
Test(session, a_dead_host_ends_it_with_its_values) { // I-85
        _cleanup_fixture_ Fixture f;
        _cleanup_json_ json_t *none = json_object();
        Txn *t;

        fixture_init(&f, "resume");
        turn_of(&f, "\"mellon mellon\"", NULL, true);
        t = store_fixture_begin(&f.s, true);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){.region = f.session, .keep = false, .released = none, .ended = none}, NULL, NULL, &f.s.d), 0);
        store_fixture_commit(&f.s, t);
        entries_are(&f, "opened carried ended");
        audit(&f);
        store_fixture_compact(&f.s);
        cr_assert(!store_fixture_has(&f.s, "mellon"));
}

/* Each allocation of JSON fails once, one after the other: the step says so, and nothing of it is there. */
static int left = -1;

static void *failing_malloc(size_t n) {
        return left >= 0 && left-- == 0 ? NULL : malloc(n);
}

typedef enum Step { STEP_TURN, STEP_CARRY, STEP_DROP, STEP_ADOPT, STEP_END, STEPS } Step;
static const char *const step_names[STEPS] = {"turn", "carry", "drop", "adopt", "end"};

static int step(Fixture *f, Step what, Txn *t, const json_t *value, const json_t *none) {
        char id[REGION_ID_MAX];

        region_id_new(clock_real_usec(), id);
        switch (what) {
        case STEP_TURN:
                return engine_session_turn(t, f->session, id, &(uint64_t){0}, &f->s.d);
        case STEP_CARRY:
                return engine_session_carry(t, &(SessionCarry){.session = f->session, .who = "uid:1", .section = "a", .value = value}, NULL, &f->s.d);
        case STEP_DROP:
                return engine_session_drop(t, f->session, id, 1, "signaled");
        case STEP_ADOPT:
                return engine_session_adopt(t, f->session, lock_of(f), &f->s.d);
        case STEP_END:
                return engine_session_end(t, &(SessionEnd){.session = f->session, .reason = "closed", .evidence = none}, &f->s.d);
        case STEPS:
                break;
        }
        return -1;
}

Test(session, no_memory_for_a_step) { // I-85
        for (Step what = 0; what < STEPS; what++) {
                _cleanup_fixture_ Fixture f;
                _cleanup_json_ json_t *value = json("{\"later\":[1,2]}"), *none = json_object();
                _cleanup_free_ char *before = NULL, *entries_before = NULL;
                int failed = 0;

                fixture_init(&f, "resume");
                turn_of(&f, "\"before\"", NULL, true);
                before = values(&f);
                entries_before = entries(&f);
                for (int n = 0;; n++) {
                        Txn *t = store_fixture_begin(&f.s, true);
                        int r;

                        cr_assert_lt(n, 2000);
                        json_set_alloc_funcs(failing_malloc, free);
                        left = n;
                        r = step(&f, what, t, value, none);
                        if (left >= 0) { /* no allocation failed any more */
                                left = -1;
                                cr_assert_eq(r, 0, "%s: %d %s", step_names[what], r, f.s.d.text);
                                store_abort(t);
                                break;
                        }
                        left = -1;
                        store_abort(t);
                        failed++;
                        cr_assert_lt(r, 0, "%s, allocation %d: %d %s", step_names[what], n, r, f.s.d.text);
                        {
                                _cleanup_free_ char *is = values(&f), *entries_now = entries(&f);

                                cr_assert_str_eq(is, before, "%s, allocation %d", step_names[what], n);
                                cr_assert_str_eq(entries_now, entries_before, "%s, allocation %d", step_names[what], n);
                        }
                }
                cr_assert_gt(failed, 0, "%s", step_names[what]);
        }
}

/* Adds a note in a turn, in the run of the session. */
static void note_in_turn(Fixture *f, const char *text, bool keep) {
        char id[REGION_ID_MAX];
        uint64_t number;
        NoteRun run;
        Txn *t;
        int r;

        cr_assert_eq(turn(f, id, NULL), 0, "%s", f->s.d.text);
        t = store_fixture_begin(&f->s, true);
        r = engine_run_get(t, f->session, &run, &f->s.d);
        if (r == ENGINE_E_NO_RECORD)
                r = engine_run_begin(t, NULL, id, f->session, "s", NULL, &run, &f->s.d);
        cr_assert_eq(r, 0, "%s", f->s.d.text);
        cr_assert_eq(engine_note_add_by(t, f->session, id, NOTE_AGENT, text, strlen(text), NULL, &number, &f->s.d), 0, "%s", f->s.d.text);
        store_fixture_commit(&f->s, t);
        end(f, id, NULL, NULL, keep);
}

static void check_notes(Fixture *f, uint64_t notes, uint64_t processed, uint64_t there) {
        _cleanup_note_ Note n = NOTE_NULL;
        Txn *t = store_fixture_begin(&f->s, false);
        uint64_t from = 1, found = 0;
        NoteRun run;

        cr_assert_eq(engine_run_get(t, f->session, &run, &f->s.d), 0, "%s", f->s.d.text);
        cr_expect_eq(run.notes, notes);
        cr_expect_eq(run.processed, processed);
        for (; engine_note_next(t, f->session, from, false, &n) == 0; from = n.number + 1)
                found++;
        cr_expect_eq(found, there);
        store_abort(t);
}

// G-75 I-24: a turn that is not kept loses its own notes; the session's end, also after a crash, loses none
Test(session, notes_are_of_the_run) {
        _cleanup_fixture_ Fixture f;
        _cleanup_json_ json_t *none = json_object();
        Txn *t;

        fixture_init(&f, "end");
        note_in_turn(&f, "issue a_b: c", true);
        note_in_turn(&f, "issue b_c: d", false);
        check_notes(&f, 2, 1, 1);
        note_in_turn(&f, "issue c_d: e", true);
        check_notes(&f, 3, 1, 2);
        t = store_fixture_begin(&f.s, true);
        cr_assert_eq(engine_region_recover(t, f.session, none, &f.s.d), 0, "%s", f.s.d.text);
        store_fixture_commit(&f.s, t);
        check_notes(&f, 3, 1, 2);
}
