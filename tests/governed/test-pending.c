#include "tests/governed/pipeline.h"

#include "record/event.h"

static const Trying by_me = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO}, by_77 = {.policy = &RESOLVE_POLICY_DEFAULT, .who = "uid:77"};

/* One row that the words of two notes can be about, and what waits between such rows. */
static uint64_t pending(Pipe *p, const char *note) {
        pipe_say(p, note, NULL);
        cr_assert_str_eq(pipe_word(p->last, "outcome"), "pending", "%s: %s %s", note, pipe_word(p->last, "outcome"), pipe_word(p->last, "code"));
        return (uint64_t)json_integer_value(json_object_get(p->last, "pending"));
}

static void committed(Pipe *p, const char *note) {
        pipe_say(p, note, NULL);
        pipe_expect(p->last, "committed", "");
}

/* notes: at most n, the rest is NULL */
static void all_committed(Pipe *p, const char *const *notes, size_t n) {
        for (size_t i = 0; i < n && notes[i]; i++)
                committed(p, notes[i]);
}

static json_t *event(Pipe *p, uint64_t seq) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        json_t *entry = NULL;

        cr_assert_eq(event_get(t, seq, &entry), 0);
        return entry;
}

// G-16, G-18, G-44, G-45: what the queue keeps
Test(pending, keeps_all_that_it_takes) {
        static const char *const members[] = {"pending", "request", "note", "agent", "run", "reason", "candidates", "created", "attempts", "last", "state"};
        _cleanup_json_ json_t *o = NULL, *body = NULL, *entry = NULL;
        const json_t *source_ref;
        _cleanup_pipe_ Pipe p;
        uint64_t id;
        Wait w;

        pipe_init(&p);
        committed(&p, "issue disk_full_a: the disk of server one is full");
        committed(&p, "issue disk_full_b: the disk of server two is full");
        id = pending(&p, "resolved: the disk of a server");
        {
                _cleanup_txn_ Txn *t = store_fixture_begin(&p.f, false);

                cr_assert_eq(wait_get(t, id, &w), 0);
                cr_assert_eq(wait_show(t, &w, &o), 0);
                cr_assert_eq(record_body(t, id, &body), 0);
        }
        source_ref = json_object_get(body, "source_ref"); /* what was found, and by which thresholds */
        cr_expect_str_eq(pipe_word(source_ref, "resolution_reason"), pipe_word(o, "reason"));
        cr_expect(json_equal(json_object_get(source_ref, "candidate_matches"), json_object_get(o, "candidates")));
        cr_expect_float_eq(json_real_value(json_object_get(source_ref, "tau")), RESOLVE_POLICY_DEFAULT.tau, 1e-12);
        entry = event(&p, id);
        cr_expect_float_eq(json_real_value(json_object_get(entry, "delta")), RESOLVE_POLICY_DEFAULT.delta, 1e-12);
        for (size_t i = 0; i < ARRAY_SIZE(members); i++)
                cr_expect(json_object_get(o, members[i]), "%s", members[i]);
        cr_expect_str_eq(pipe_word(o, "note"), "resolved: the disk of a server");
        cr_expect_str_eq(pipe_word(o, "agent"), "alice");
        cr_expect_str_eq(pipe_word(o, "state"), "open");
        cr_expect_str_eq(pipe_word(json_object_get(o, "request"), "operation"), "resolve");
        cr_expect_eq(json_integer_value(json_object_get(o, "attempts")), 0);
        cr_expect_eq(json_array_size(json_object_get(o, "candidates")), 2);
}

/* A row, a note that ends it under a name that nothing has yet, and the change that gives the row this name. */
#define LATE_ROW "issue late_row: it does not work"
#define LATE_NOTE "resolved: the kettle in the hall\nref: kettle hall\nalias: kettle hall"
#define LATE_NAME LATE_ROW "\nref: kettle hall\nalias: kettle hall"

// G-46, G-48, G-59: a later change decides it, without the note, in the same transaction, as an ordinary event
Test(pending, decided_by_a_later_change) {
        _cleanup_json_ json_t *change = NULL, *row = NULL;
        uint64_t id, dropped;
        _cleanup_pipe_ Pipe p;
        Txn *t;
        Diag d;
        NoteRun other;
        Wait w;

        pipe_init(&p);
        committed(&p, LATE_ROW);
        id = pending(&p, LATE_NOTE);
        t = store_fixture_begin(&p.f, true); /* the note goes with its run */
        cr_assert_eq(engine_run_end(t, PIPE_WHO, NULL, p.run.id, false, &dropped, &d), 0);
        store_fixture_commit(&p.f, t);
        other = pipe_begin(&p, "bob");
        pipe_note(&p, other.id, NOTE_AGENT, LATE_NAME);
        pipe_promote(&p, other.id, 1, NULL);
        cr_expect_eq(p.sum.resolved, 1);
        row = pipe_row(&p, "issues", "late_row");
        cr_expect_str_eq(pipe_word(row, "state"), "resolved");
        w = pipe_wait(&p, id);
        cr_expect_eq(w.state, WAIT_RESOLVED);
        change = pipe_change(&p, "issues", "late_row");
        cr_expect_eq(json_integer_value(json_object_get(change, "seq")), (json_int_t)w.last);
        cr_expect_eq(json_integer_value(json_object_get(change, "pending")), (json_int_t)id);
        cr_expect_eq(json_integer_value(json_object_get(json_object_get(change, "source_ref"), "pending")), (json_int_t)id);
        cr_expect_str_eq(pipe_word(change, "agent"), "alice", "whose note it was");
        cr_expect_str_eq(pipe_word(change, "raw_input"), LATE_NOTE);
        pipe_holds(&p);
}

/* The reason why the item waits now (belief_look()). */
static json_t *now(Pipe *p, uint64_t id) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        _cleanup_bucket_ Bucket b = {0};
        json_t *o = NULL;
        Wait w;

        cr_assert_eq(wait_get(t, id, &w), 0);
        cr_assert_eq(belief_look(t, &b, &w, &by_me, &o), 0);
        return o;
}

// G-62, G-64: an item ends no row that was opened, or opened again, after it began to wait, and says so; by id and by name
Test(pending, is_about_no_later_incarnation) {
        static const struct {
                const char *before[2], *note, *then[3], *bucket, *id, *state;
        } rows[] = {
                {{"issue pandas_import_blocker: pandas cannot be imported\nalias: import blocker"}, "The earlier blocker is fixed.",
                 {"resolve pandas_import_blocker: reinstalled\nref: earlier blocker", "issue pandas_import_blocker: pandas fails again after the rollback"},
                 "issues", "pandas_import_blocker", "open"},
                {{NULL}, "resolve late_row: it works now", {"issue late_row: it does not work"}, "issues", "late_row", "open"},
                {{NULL}, "invalidate constraint no_net: lifted", {"constraint no_net: tests run without a network"}, "constraints", "no_net", "active"},
                {{"issue late_row: it does not work", "resolve late_row: done"}, "resolve other_row: done",
                 {"issue other_row: it does not work either"}, "issues", "other_row", "open"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *row = NULL, *why = NULL;
                _cleanup_applied_ Applied done = {0};
                uint64_t id;
                Retried re;
                _cleanup_pipe_ Pipe p;
                Txn *t;
                Diag d;

                pipe_init(&p);
                all_committed(&p, rows[i].before, ARRAY_SIZE(rows[i].before));
                id = pending(&p, rows[i].note);
                all_committed(&p, rows[i].then, ARRAY_SIZE(rows[i].then));
                t = store_fixture_begin(&p.f, true);
                cr_assert_eq(belief_retry(t, 0, 0, &by_me, &re, &p.f.d), 0);
                store_fixture_commit(&p.f, t);
                cr_expect(re.tried == 1 && re.resolved == 0, "%s: %lu %lu", rows[i].note, re.tried, re.resolved);
                row = pipe_row(&p, rows[i].bucket, rows[i].id);
                cr_expect_str_eq(pipe_word(row, "state"), rows[i].state, "%s", rows[i].note);
                cr_expect_eq(pipe_wait(&p, id).state, WAIT_OPEN, "%s", rows[i].note);
                why = now(&p, id);
                cr_expect_str_eq(pipe_word(why, "reason"), "other_incarnation", "%s", rows[i].note);
                cr_expect(strstr(pipe_word(why, "message"), rows[i].id), "%s", pipe_word(why, "message"));
                t = store_fixture_begin(&p.f, true); /* a person may */
                cr_assert_eq(belief_bind(t, id, rows[i].id, &by_77, &done, &d), 0);
                cr_expect_eq(done.outcome, NOTE_COMMITTED, "%s: %s", rows[i].note, done.code);
                store_fixture_commit(&p.f, t);
                pipe_holds(&p);
        }
}

// G-64: an item shows what it waits for now, with at most three candidates, and what would commit
Test(pending, shows_what_it_waits_for_now) {
        _cleanup_json_ json_t *first = NULL, *then = NULL, *last = NULL;
        _cleanup_pipe_ Pipe p;
        uint64_t id;

        pipe_init(&p);
        id = pending(&p, "resolved: the disk of a server");
        first = now(&p, id);
        cr_expect_str_eq(pipe_word(first, "reason"), "no_candidate");
        cr_expect_eq(json_array_size(json_object_get(first, "candidates")), 0);
        for (unsigned i = 0; i < 5; i++) {
                char text[100];

                snprintf(text, sizeof(text), "issue disk_full_%u: the disk of server %u is full", i, i);
                committed(&p, text);
        }
        then = now(&p, id);
        cr_expect(strcmp(pipe_word(then, "reason"), "ambiguous") == 0 || strcmp(pipe_word(then, "reason"), "weak") == 0, "%s", pipe_word(then, "reason"));
        cr_expect_eq(json_array_size(json_object_get(then, "candidates")), 3);
        for (unsigned i = 0; i < 5; i++) {
                char text[100];

                snprintf(text, sizeof(text), "resolve disk_full_%u: done", i);
                committed(&p, text);
        }
        last = now(&p, id);
        cr_expect_str_eq(pipe_word(last, "reason"), "no_candidate");
        pipe_holds(&p);
}

// G-19, G-20, G-34, G-50: what waits as it is like a row does not become one when that row is ended or rewritten: a person says that it is another thing
Test(pending, is_not_new_as_its_like_went) {
        static const struct {
                const char *before[3], *note, *reason, *then, *bucket, *id;
        } rows[] = {
                {{"decision use_pg: the store is postgres for all services"}, "decision: the store is postgres for all services", "alike",
                 "invalidate decision use_pg: it does not scale", "decisions", "pg_again"},
                {{"constraint no_net: tests run without a network"}, "constraint: tests run without any network", "alike",
                 "constraint no_net: every build is signed", "constraints", "no_net_2"},
                {{"issue reader_crash: the parser crashes on empty input", "resolve reader_crash: done"}, "issue: the parser crashes on empty input", "reopen",
                 "issue reader_crash: a lamp went out", "issues", "reader_2"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_applied_ Applied done = {0};
                _cleanup_json_ json_t *row = NULL;
                uint64_t id;
                Retried re;
                _cleanup_pipe_ Pipe p;
                Txn *t;
                Diag d;

                pipe_init(&p);
                all_committed(&p, rows[i].before, ARRAY_SIZE(rows[i].before));
                id = pending(&p, rows[i].note);
                pipe_expect(p.last, "pending", rows[i].reason);
                committed(&p, rows[i].then);
                cr_expect(p.sum.resolved == 0 && pipe_wait(&p, id).state == WAIT_OPEN, "%s", rows[i].note);
                t = store_fixture_begin(&p.f, true);
                cr_assert_eq(belief_retry(t, 0, 0, &by_me, &re, &p.f.d), 0);
                cr_expect(re.tried == 1 && re.resolved == 0, "%s: %lu %lu", rows[i].note, re.tried, re.resolved);
                cr_assert_eq(belief_bind(t, id, rows[i].id, &by_77, &done, &d), 0);
                cr_expect(done.outcome == NOTE_COMMITTED && done.created, "%s: %s", rows[i].note, done.code);
                store_fixture_commit(&p.f, t);
                row = pipe_row(&p, rows[i].bucket, rows[i].id);
                cr_expect(row != NULL, "%s", rows[i].note);
                cr_expect_eq(pipe_wait(&p, id).state, WAIT_RESOLVED);
                pipe_holds(&p);
        }
}

// G-46, G-47: what is decided decides more, also what had failed just before
Test(pending, chains) {
        _cleanup_pipe_ Pipe p;
        uint64_t older, newer;

        pipe_init(&p);
        committed(&p, "decision dec_x: alpha beta\nalias: alpha, beta");
        committed(&p, "decision dec_1: beta alpha\nalias: alpha, beta");
        committed(&p, "decision dec_2: beta delta\nalias: beta, delta");
        older = pending(&p, "invalidate decision: beta\nref: beta\nalias: beta");   /* any of them */
        newer = pending(&p, "invalidate decision: alpha\nref: alpha\nalias: alpha"); /* dec_x or dec_1 */
        /* dec_x goes: so the newer one is about dec_1; that goes: so the older one, which alpha's row touches, too, is about dec_2 */
        committed(&p, "invalidate decision dec_x: of last year");
        cr_expect_eq(p.sum.resolved, 2);
        cr_expect_eq(pipe_wait(&p, newer).state, WAIT_RESOLVED);
        cr_expect_eq(pipe_wait(&p, older).state, WAIT_RESOLVED);
        pipe_holds(&p);
}

/* Attempts of the events from `from` on: those that failed and those that did not. */
static unsigned attempts(Pipe *p, uint64_t from) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        unsigned n = 0;
        uint64_t seq, last;

        cr_assert_eq(ledger_state(t, &seq, &last), 0);
        for (uint64_t i = from; i < seq; i++) {
                _cleanup_json_ json_t *entry = NULL;

                cr_assert_eq(event_get(t, i, &entry), 0);
                n += (unsigned)json_array_size(json_object_get(entry, "failed"));
                n += json_object_get(entry, "pending") && strncmp(pipe_word(entry, "type"), "canon.", 6) == 0;
        }
        return n;
}

// G-47: 64 attempts of one commit, those that it triggers included; a chain that is longer goes on when it is asked for
Test(pending, at_most_64_attempts_of_a_commit) {
        enum { LINKS = 90 };
        uint64_t before, first = 0;
        Retried re;
        _cleanup_pipe_ Pipe p;
        char text[300];
        Txn *t;

        pipe_init(&p);
        for (unsigned i = 0; i <= LINKS; i++) {
                snprintf(text, sizeof(text), "decision link_%u: thing%u thing%u\nalias: thing%u, thing%u", i, i, i + 1, i, i + 1);
                committed(&p, text);
        }
        for (unsigned i = 1; i <= LINKS; i++) {
                uint64_t id;

                snprintf(text, sizeof(text), "invalidate decision: thing%u\nref: thing%u\nalias: thing%u", i, i, i);
                id = pending(&p, text);
                first = first ? first : id;
        }
        before = pipe_rows(&p, TABLE_EVENT);
        committed(&p, "invalidate decision link_0: no more");
        cr_expect_eq(p.sum.resolved, SETTLE_ATTEMPTS_MAX);
        cr_expect_eq(attempts(&p, before), SETTLE_ATTEMPTS_MAX);
        cr_expect_eq(pipe_wait(&p, first + 63).state, WAIT_RESOLVED);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_retry(t, 0, 1, &by_me, &re, &p.f.d), 0);
        cr_expect(re.tried == 1 && re.resolved == LINKS - SETTLE_ATTEMPTS_MAX, "%lu %lu", re.tried, re.resolved);
        store_fixture_commit(&p.f, t);
        pipe_holds(&p);
}

// G-47: also where the 64th is one of several that a row touches
Test(pending, at_most_64_attempts_among_several) {
        enum { LINKS = 40 };
        uint64_t before, failing[LINKS + 1];
        unsigned failed = 0;
        _cleanup_pipe_ Pipe p;
        char text[300];

        pipe_init(&p);
        for (unsigned i = 0; i <= LINKS; i++) {
                snprintf(text, sizeof(text), "decision link_%u: thing%u thing%u\nalias: thing%u, thing%u", i, i, i + 1, i, i + 1);
                committed(&p, text);
        }
        for (unsigned i = 1; i <= LINKS; i++) {
                snprintf(text, sizeof(text), "invalidate decision: thing%u\nref: thing%u\nalias: thing%u", i, i, i);
                pending(&p, text);
                snprintf(text, sizeof(text), "invalidate decision: whatever thing%u was about, and other matters of those days\nref: matters of those days", i);
                failing[i] = pending(&p, text); /* never clear enough */
        }
        before = pipe_rows(&p, TABLE_EVENT);
        committed(&p, "invalidate decision link_0: no more");
        cr_expect_eq(attempts(&p, before), SETTLE_ATTEMPTS_MAX, "%u", attempts(&p, before));
        for (unsigned i = 1; i <= LINKS; i++)
                failed += (unsigned)pipe_wait(&p, failing[i]).attempts;
        cr_expect_eq(p.sum.resolved + failed, SETTLE_ATTEMPTS_MAX, "%lu and %u", p.sum.resolved, failed);
        cr_expect(failed > 0 && p.sum.resolved > 0);
        pipe_holds(&p);
}

static const uint8_t living[KEY_BYTES] = {0xde, 0xad, 0xbe, 0xef, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
static const uint8_t *const living_keys[] = {living};
#define LIVING_KEY "deadbeef0102030405060708090a0b0c"

// I-11, G-47, G-49, G-50: what waits was queued when the region did not live yet whose key it holds: while it lives, nobody's commit, nobody's request and
// no person makes a row of it, and however often they try, none of its attempts is used up; afterwards it is a note like any other
Test(pending, holds_the_key_of_a_region_that_came_later) {
        static const KeyHold hold = {pipe_hold, pipe_let_go};
        const Trying by = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO, .keys = &hold};
        _cleanup_json_ json_t *before = NULL, *after = NULL;
        _cleanup_applied_ Applied done = {0};
        uint64_t id;
        Retried re;
        _cleanup_pipe_ Pipe p;
        Txn *t;
        Diag d;

        pipe_init(&p);
        committed(&p, LATE_ROW);
        id = pending(&p, LATE_NOTE "\nIt works with " LIVING_KEY ".");
        pipe_note(&p, p.run.id, NOTE_AGENT, LATE_NAME);
        pipe_promote(&p, p.run.id, 1, &(KeySet){living_keys, 1});
        pipe_expect(p.last, "committed", "");
        cr_expect_eq(p.sum.resolved, 0);
        pipe_keys = &(KeySet){living_keys, 1};
        t = store_fixture_begin(&p.f, true);
        for (unsigned i = 0; i < WAIT_ATTEMPTS_MAX; i++) {
                uint64_t events, last, events_after;

                cr_assert_eq(ledger_state(t, &events, &last), 0);
                cr_assert_eq(belief_retry(t, 0, 0, &by, &re, &p.f.d), 0);
                cr_assert_eq(ledger_state(t, &events_after, &last), 0);
                cr_expect(re.tried == 0 && re.resolved == 0 && events_after == events, "%lu %lu", re.tried, re.resolved);
        }
        cr_assert_eq(belief_bind(t, id, "late_row", &by, &done, &d), 0);
        cr_expect(done.outcome == NOTE_INVALID && strcmp(done.code, "key_escape") == 0, "%s", done.code);
        store_fixture_commit(&p.f, t);
        before = pipe_row(&p, "issues", "late_row");
        cr_expect_str_eq(pipe_word(before, "state"), "open");
        cr_expect(pipe_wait(&p, id).state == WAIT_OPEN && pipe_wait(&p, id).attempts == 0, "%lu", pipe_wait(&p, id).attempts);
        pipe_keys = NULL;
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_retry(t, 0, 0, &by, &re, &p.f.d), 0);
        cr_expect(re.tried == 1 && re.resolved == 1, "%lu %lu", re.tried, re.resolved);
        store_fixture_commit(&p.f, t);
        after = pipe_row(&p, "issues", "late_row");
        cr_expect_str_eq(pipe_word(after, "state"), "resolved");
        pipe_holds(&p);
}

// G-49: after 20 attempts it is stuck: nothing retries it, it is there, and a person can still decide
Test(pending, stuck_after_20_attempts) {
        uint64_t id;
        Retried re;
        _cleanup_applied_ Applied done = {0};
        _cleanup_pipe_ Pipe p;
        Txn *t;
        Diag d;
        Wait w;

        pipe_init(&p);
        committed(&p, "issue disk_full_a: the disk of server one is full");
        committed(&p, "issue disk_full_b: the disk of server two is full");
        id = pending(&p, "resolved: the disk of a server");
        for (unsigned i = 0; i < 25; i++) {
                w = pipe_wait(&p, id);
                cr_expect(w.attempts == MIN(i, 20U) && w.state == (i < 20 ? WAIT_OPEN : WAIT_STUCK), "%u: %lu", i, w.attempts);
                committed(&p, "issue disk_full_a: the disk of server one is full");
        }
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_retry(t, 0, 0, &by_me, &re, &p.f.d), 0);
        cr_expect_eq(re.tried, 0);
        cr_assert_eq(belief_bind(t, id, "disk_full_b", &by_me, &done, &d), 0);
        cr_expect_eq(done.outcome, NOTE_COMMITTED);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(pipe_wait(&p, id).state, WAIT_RESOLVED);
        pipe_holds(&p);
}

// G-50: a person binds or drops: an event that names the person; what is decided stays so
Test(pending, bound_and_dropped_by_a_person) {
        _cleanup_applied_ Applied done = {0}, again = {0};
        _cleanup_json_ json_t *bound = NULL, *gone = NULL, *change = NULL;
        uint64_t one, two, seq;
        _cleanup_pipe_ Pipe p;
        Txn *t;
        Diag d;

        pipe_init(&p);
        committed(&p, "issue disk_full_a: the disk of server one is full");
        committed(&p, "issue disk_full_b: the disk of server two is full");
        one = pending(&p, "resolved: the disk of a server");
        two = pending(&p, "resolved: the heating of the cellar"); /* which nobody spoke of */
        t = store_fixture_begin(&p.f, true);
        cr_expect_eq(belief_bind(t, one, "Not An Id", &by_77, &done, &d), ENGINE_E_BAD_NAME);
        cr_expect(strstr(d.text, "target \"Not An Id\" is not an id of issues: "), "%s", d.text);
        cr_expect_eq(belief_bind(t, one + 1000, "disk_full_b", &by_77, &done, &d), ENGINE_E_NO_RECORD);
        cr_assert_eq(belief_bind(t, one, "disk_full_b", &by_77, &done, &d), 0);
        cr_expect_eq(done.outcome, NOTE_COMMITTED);
        store_fixture_commit(&p.f, t);
        bound = event(&p, done.seq);
        cr_expect_str_eq(pipe_word(bound, "who"), "uid:77");
        cr_expect_eq(json_integer_value(json_object_get(bound, "pending")), (json_int_t)one);
        change = pipe_change(&p, "issues", "disk_full_b");
        cr_expect_str_eq(pipe_word(json_object_get(change, "source_ref"), "resolution_reason"), "person");
        cr_expect_str_eq(pipe_word(json_object_get(change, "source_ref"), "who"), "uid:77");
        t = store_fixture_begin(&p.f, true);
        cr_expect_eq(belief_bind(t, one, "disk_full_a", &by_77, &again, &d), ENGINE_E_BAD_STATE);
        cr_expect_eq(engine_wait_drop(t, "uid:77", one, "no", &seq, &d), ENGINE_E_BAD_STATE);
        cr_assert_eq(engine_wait_drop(t, "uid:77", two, "nobody knows", &seq, &d), 0, "%s", d.text);
        store_fixture_commit(&p.f, t);
        gone = event(&p, seq);
        cr_expect_str_eq(pipe_word(gone, "type"), "pending.dropped");
        cr_expect_str_eq(pipe_word(gone, "who"), "uid:77");
        cr_expect_eq(pipe_wait(&p, two).state, WAIT_DROPPED);
        pipe_holds(&p);
}

// G-46, G-50: what a person said is a commit like any other, after which the queue is looked through
Test(pending, decided_by_what_a_person_said) {
        _cleanup_applied_ Applied done = {0};
        uint64_t one, two;
        _cleanup_pipe_ Pipe p;
        Txn *t;
        Diag d;

        pipe_init(&p);
        committed(&p, "decision dec_x: alpha beta\nalias: alpha, beta");
        committed(&p, "decision dec_1: beta alpha\nalias: alpha, beta");
        one = pending(&p, "invalidate decision: alpha\nref: alpha\nalias: alpha"); /* either of them */
        two = pending(&p, "invalidate decision: alpha\nref: alpha\nalias: alpha");
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_bind(t, one, "dec_x", &by_77, &done, &d), 0, "%s", d.text);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(pipe_wait(&p, one).state, WAIT_RESOLVED);
        cr_expect_eq(pipe_wait(&p, two).state, WAIT_RESOLVED); /* there is one row left */
        pipe_holds(&p);
}

static unsigned roll(uint32_t *dice, unsigned n) {
        *dice = *dice * 1664525U + 1013904223U;
        return (*dice >> 16) % n;
}

/* Each item that was ever told is there, once, with what it takes to decide it. */
static void none_lost(Pipe *p, const uint64_t *ids, size_t n) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        uint64_t from = 0;
        size_t seen = 0;
        Wait w;

        for (; wait_next(t, from, 0, 0, &w) == 0; from = w.id + 1) {
                _cleanup_json_ json_t *body = NULL;

                cr_assert(seen < n && w.id == ids[seen], "item %lu is there, item %lu is wanted", w.id, seen < n ? ids[seen] : 0);
                cr_assert_eq(record_body(t, w.id, &body), 0, "item %lu", w.id);
                cr_assert(json_is_object(json_object_get(body, "request")), "item %lu", w.id);
                seen++;
        }
        cr_assert_eq(seen, n);
}

// G-44, G-49, G-50: whatever is done, nothing that waits or waited is lost: opened, tried, stuck, decided by a row or by a person, dropped, its run ended
Test(pending, none_is_ever_lost) {
        enum { MOST = 60 };
        static const char *const states[] = {"", "open", "resolved", "stuck", "dropped"};
        size_t of[ARRAY_SIZE(states)] = {0}, n = 0;
        uint64_t ids[MOST], seq;
        Retried re;
        _cleanup_pipe_ Pipe p;
        uint32_t dice = 7;
        char text[200];

        pipe_init(&p);
        committed(&p, "issue disk_full_a: the disk of server one is full");
        committed(&p, "issue disk_full_b: the disk of server two is full");
        for (unsigned i = 0; i < 400; i++) {
                _cleanup_applied_ Applied done = {0};
                uint64_t id = n ? ids[roll(&dice, (unsigned)n)] : 0;
                Txn *t;
                Diag d;

                switch (roll(&dice, 12)) {
                case 0:
                case 1:
                        snprintf(text, sizeof(text), roll(&dice, 2) ? "resolve late_%u: it works" : "resolved: the disk of a server, say %u", roll(&dice, 20));
                        pipe_say(&p, text, NULL);
                        if (n < MOST && strcmp(pipe_word(p.last, "outcome"), "pending") == 0)
                                ids[n++] = (uint64_t)json_integer_value(json_object_get(p.last, "pending"));
                        break;
                case 2:
                        snprintf(text, sizeof(text), "issue late_%u: it does not work", roll(&dice, 20));
                        pipe_say(&p, text, NULL);
                        break;
                case 3:
                case 4:
                        t = store_fixture_begin(&p.f, true);
                        if (id && roll(&dice, 2))
                                (void)engine_wait_drop(t, PIPE_WHO, id, "nobody knows", &seq, &d);
                        else if (id)
                                (void)belief_bind(t, id, "disk_full_b", &by_me, &done, &d);
                        store_fixture_commit(&p.f, t);
                        break;
                case 5:
                        t = store_fixture_begin(&p.f, true);
                        cr_assert_eq(belief_retry(t, 0, 0, &by_me, &re, &p.f.d), 0);
                        store_fixture_commit(&p.f, t);
                        break;
                default:
                        pipe_say(&p, "issue disk_full_a: the disk of server one is full", NULL); /* an attempt for each that is about it */
                }
                if (n == MOST)
                        break;
                none_lost(&p, ids, n);
        }
        none_lost(&p, ids, n);
        for (size_t i = 0; i < n; i++)
                of[pipe_wait(&p, ids[i]).state]++;
        for (size_t i = 1; i < ARRAY_SIZE(states); i++)
                cr_expect_gt(of[i], 0, "none is %s", states[i]);
        pipe_holds(&p);
}
