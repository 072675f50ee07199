/* Runs: tests. The age of what waits (G-63). */
#include "tests/governed/pipeline.h"

#include "base/clock.h"
#include "record/event.h"

/* A row, a note that ends it under a name that nothing has yet, and the change that gives the row this name. */
#define ROW "issue late_row: it does not work"
#define NOTE "resolved: the kettle in the hall\nref: kettle hall\nalias: kettle hall"
#define NAME ROW "\nref: kettle hall\nalias: kettle hall"

static uint64_t waits(Pipe *p, const char *note) {
        pipe_say(p, note, NULL);
        pipe_expect(p->last, "pending", pipe_word(p->last, "code"));
        return (uint64_t)json_integer_value(json_object_get(p->last, "pending"));
}

static void commits(Pipe *p, unsigned n) {
        char text[64];

        for (unsigned i = 0; i < n; i++) {
                snprintf(text, sizeof text, "task some_task: at %u", i);
                pipe_say(p, text, NULL);
                pipe_expect(p->last, "committed", "");
        }
}

/* The item as `lethe pending show` reads it. New reference. */
static json_t *shown(Pipe *p, uint64_t id) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        json_t *o = NULL;
        Wait w;

        cr_assert_eq(wait_get(t, id, &w), 0);
        cr_assert_eq(wait_show(t, &w, &o), 0);
        return o;
}

static const char *row_state(Pipe *p, const char *id) {
        static char state[32];
        _cleanup_json_ json_t *row = pipe_row(p, "issues", id);

        snprintf(state, sizeof state, "%s", pipe_word(row, "state"));
        return state;
}

static void expired_by(Pipe *p, uint64_t id, const char *limit) {
        _cleanup_json_ json_t *o = shown(p, id), *entry = NULL;
        const json_t *expired = json_object_get(o, "expired");
        Wait w = pipe_wait(p, id);
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);

        cr_assert_eq(w.state, WAIT_EXPIRED, "%lu: %s", id, wait_state_name(w.state));
        cr_expect_str_eq(pipe_word(expired, "limit"), limit);
        cr_expect(*pipe_word(expired, "time"));
        cr_expect(json_object_get(o, "note") && json_object_get(o, "request"), "it stays to be seen");
        cr_assert_eq(event_get(t, w.last, &entry), 0);
        cr_expect_str_eq(pipe_word(entry, "type"), "pending.expired");
        cr_expect_str_eq(pipe_word(entry, "who"), PIPE_WHO);
        cr_expect(json_object_get(entry, strcmp(limit, "age") == 0 ? "age_usec" : "commits"));
}

// G-63: beyond the scope's commits; nothing applies it afterwards: no commit, no retry, no person, no wider limit
Test(expiry, beyond_the_commits_of_its_scope) {
        _cleanup_applied_ Applied done = {0};
        Trying by = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO};
        _cleanup_pipe_ Pipe p;
        uint64_t id, seq;
        Retried re;
        Txn *t;
        Diag d;

        pipe_init(&p);
        p.limits.commits = 3;
        by.limits = &p.limits;
        pipe_say(&p, ROW, NULL);
        commits(&p, 5); /* before it waits */
        id = waits(&p, NOTE);
        commits(&p, 3);
        cr_expect(pipe_wait(&p, id).state == WAIT_OPEN && p.sum.expired == 0);
        commits(&p, 1);
        cr_expect_eq(p.sum.expired, 1);
        expired_by(&p, id, "commits");
        p.limits = WAIT_LIMITS_DEFAULT;
        pipe_say(&p, NAME, NULL);
        cr_expect_eq(p.sum.resolved, 0);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(belief_retry(t, 0, 0, &by, &re, &p.f.d), 0);
        cr_expect(re.tried == 0 && re.expired == 0);
        cr_expect_eq(belief_bind(t, id, "late_row", &by, &done, &d), ENGINE_E_BAD_STATE);
        cr_expect_eq(engine_wait_drop(t, PIPE_WHO, id, "no", &seq, &d), ENGINE_E_BAD_STATE);
        store_fixture_commit(&p.f, t);
        expired_by(&p, id, "commits");
        cr_expect_str_eq(row_state(&p, "late_row"), "open");
        pipe_holds(&p);
}

static const json_t *expired_in_history(Pipe *p, const char *id, uint64_t pending, json_t **ret) {
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        uint64_t scope, of;
        const json_t *o;
        size_t i;
        Diag d;

        cr_assert_eq(scope_get(t, SCOPE_DEFAULT, &scope), 0);
        cr_assert_eq(belief_history(t, scope, KIND_ISSUE, id, ret, &d), 0, "%s", d.text);
        json_array_foreach(*ret, i, o)
                if (json_object_get(o, "expired") && json_get_u64(json_object_get(o, "pending"), &of) == 0 &&
                    of == pending)
                        return o;
        return NULL;
}

// G-63: the history of each row that the item could be about has the item, in its place; the history of no other row
Test(expiry, stands_in_the_history_of_its_rows) {
        _cleanup_json_ json_t *one = NULL, *two = NULL, *other = NULL;
        uint64_t id, seq, before = 0;
        const json_t *o;
        _cleanup_pipe_ Pipe p;
        size_t i;

        pipe_init(&p);
        p.limits.commits = 3;
        pipe_say(&p, "issue disk_full_a: the disk of server one is full", NULL);
        pipe_say(&p, "issue disk_full_b: the disk of server two is full", NULL);
        pipe_say(&p, ROW, NULL);
        id = waits(&p, "resolved: the disk of a server");
        commits(&p, 3);
        cr_expect_null(expired_in_history(&p, "disk_full_a", id, &one), "it waits");
        json_decref(TAKE_PTR(one));
        commits(&p, 1);
        pipe_say(&p, "issue disk_full_a: the disk of server one is full\ndetail: very", NULL);
        o = expired_in_history(&p, "disk_full_a", id, &one);
        cr_assert(o);
        cr_expect_str_eq(pipe_word(json_object_get(o, "expired"), "limit"), "commits");
        cr_expect_str_eq(pipe_word(o, "operation"), "resolve");
        cr_expect_str_eq(pipe_word(o, "raw_input"), "resolved: the disk of a server");
        cr_expect(json_is_false(json_object_get(o, "applied")));
        json_array_foreach(one, i, o) {
                cr_assert_eq(json_get_u64(json_object_get(o, "seq"), &seq), 0);
                cr_expect_gt(seq, before);
                before = seq;
        }
        cr_expect_eq(json_array_size(one), 3);
        cr_expect(expired_in_history(&p, "disk_full_b", id, &two));
        cr_expect_null(expired_in_history(&p, "late_row", id, &other));
}

// G-63: a commit that would decide the item makes it overdue: it is closed, not applied. The control has a commit less
Test(expiry, the_deciding_commit_comes_too_late) {
        for (unsigned late = 0; late < 2; late++) {
                _cleanup_pipe_ Pipe p;
                uint64_t id;

                pipe_init(&p);
                p.limits.commits = 3;
                pipe_say(&p, ROW, NULL);
                id = waits(&p, NOTE);
                commits(&p, 2 + late);
                cr_expect_eq(pipe_wait(&p, id).state, WAIT_OPEN);
                pipe_say(&p, NAME, NULL);
                pipe_expect(p.last, "committed", "");
                cr_expect(p.sum.resolved == !late && p.sum.expired == late, "%u: %lu %lu", late, p.sum.resolved,
                          p.sum.expired);
                cr_expect_str_eq(row_state(&p, "late_row"), late ? "open" : "resolved");
                if (late)
                        expired_by(&p, id, "commits");
                pipe_holds(&p);
        }
}

static void wait_a_usec(Pipe *p, uint64_t id) {
        uint64_t since = pipe_wait(p, id).since_usec;

        cr_assert_gt(since, 0);
        while (clock_real_usec() <= since)
                ;
}

// G-63: beyond the age; a retry closes what is overdue, a person cannot bind it, and what is looked at says so
Test(expiry, beyond_the_age) {
        Trying by = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO};
        _cleanup_applied_ Applied done = {0};
        _cleanup_bucket_ Bucket b = {0};
        _cleanup_json_ json_t *now = NULL;
        _cleanup_pipe_ Pipe p;
        uint64_t id, scope;
        Retried re;
        Txn *t;
        Wait w;
        Diag d;

        pipe_init(&p);
        by.limits = &p.limits;
        pipe_say(&p, ROW, NULL);
        id = waits(&p, NOTE);
        wait_a_usec(&p, id);
        p.limits.age_usec = 0;
        t = store_fixture_begin(&p.f, true);
        w = (Wait){0};
        cr_assert_eq(wait_get(t, id, &w), 0);
        cr_assert_eq(belief_look(t, &b, &w, &by, &now), 0);
        cr_expect_str_eq(pipe_word(now, "reason"), "overdue");
        cr_expect_eq(belief_bind(t, id, "late_row", &by, &done, &d), ENGINE_E_BAD_STATE);
        cr_expect(strstr(d.text, "pending.age"), "%s", d.text);
        scope = pipe_scope(t);
        cr_assert_eq(belief_retry(t, scope, 0, &by, &re, &p.f.d), 0);
        cr_expect(re.expired == 1 && re.tried == 0, "%lu %lu", re.expired, re.tried);
        bucket_deinit(&b);
        store_fixture_commit(&p.f, t);
        expired_by(&p, id, "age");
        cr_expect_str_eq(row_state(&p, "late_row"), "open");
        pipe_holds(&p);
}

// G-63: the ledger's time does not go back with the clock: an entry far ahead makes the item old
Test(expiry, a_clock_set_back_does_not_make_young) {
        uint64_t id, seq, ahead = clock_real_usec() + WAIT_AGE_USEC + 3600 * UINT64_C(1000000);
        char time[CLOCK_TEXT_MAX], entry[160];
        _cleanup_pipe_ Pipe p;
        Txn *t;

        pipe_init(&p);
        pipe_say(&p, ROW, NULL);
        id = waits(&p, NOTE);
        commits(&p, 1);
        cr_expect_eq(pipe_wait(&p, id).state, WAIT_OPEN);
        snprintf(entry, sizeof entry, "{\"time\":\"%s\",\"type\":\"belief.read\"}", clock_format(ahead, time));
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(ledger_append(t, entry, strlen(entry), ahead, &seq), 0);
        store_fixture_commit(&p.f, t);
        commits(&p, 1);
        expired_by(&p, id, "age");
        pipe_holds(&p);
}

// G-63: a commit closes at most 64, the oldest first; other scopes' items stay
Test(expiry, so_many_a_commit) {
        _cleanup_json_ json_t *body = json_pack("{s:{s:s, s:s, s:s}, s:s}", "request", "decision", "accept", "bucket",
                                                "issues", "operation", "resolve", "note", "resolved: it");
        uint64_t scope, other, ids[100], elsewhere;
        _cleanup_pipe_ Pipe p;
        Txn *t;

        pipe_init(&p);
        pipe_say(&p, ROW, NULL);
        t = store_fixture_begin(&p.f, true);
        scope = pipe_scope(t);
        cr_assert_eq(engine_scope_create(t, PIPE_WHO, "other", &other, &p.f.d), 0);
        for (size_t i = 0; i < ARRAY_SIZE(ids); i++)
                cr_assert_eq(engine_wait(t, PIPE_WHO, NULL, scope, i % 2 ? KIND_ISSUE : KIND_DECISION,
                                         i % 2 ? OP_RESOLVE : OP_INVALIDATE, NULL, body, &ids[i]), 0);
        cr_assert_eq(engine_wait(t, PIPE_WHO, NULL, other, KIND_ISSUE, OP_RESOLVE, NULL, body, &elsewhere), 0);
        store_fixture_commit(&p.f, t);
        p.limits.commits = 1;
        commits(&p, 1);
        cr_expect_eq(p.sum.expired, 0);
        commits(&p, 1);
        cr_expect_eq(p.sum.expired, WAIT_EXPIRES_MOST);
        for (size_t i = 1; i < ARRAY_SIZE(ids); i += 2) /* issues come before decisions */
                expired_by(&p, ids[i], "commits");
        for (size_t i = 0, gone = 0; i < ARRAY_SIZE(ids); i += 2, gone++)
                cr_expect_eq(pipe_wait(&p, ids[i]).state, gone < 14 ? WAIT_EXPIRED : WAIT_OPEN, "%zu", i);
        commits(&p, 1);
        cr_expect_eq(p.sum.expired, ARRAY_SIZE(ids) - WAIT_EXPIRES_MOST);
        cr_expect_eq(pipe_wait(&p, elsewhere).state, WAIT_OPEN);
        pipe_holds(&p);
}

/* note.pending, as a Lethe without G-63 wrote it. */
static uint64_t old_item(Pipe *p) {
        _cleanup_json_ json_t *body =
                json_pack("{s:{s:s, s:s, s:s, s:s, s:{}, s:f}, s:s, s:[]}", "request", "decision", "accept", "bucket",
                          "issues", "operation", "resolve", "reference_text", "kettle hall", "payload", "confidence",
                          1.0, "note", "resolved: kettle hall", "candidates");
        Txn *t = store_fixture_begin(&p->f, true);
        uint64_t id;
        json_t *fields = json_pack("{s:o, s:s, s:s, s:s}", "scope", json_u64(pipe_scope(t)), "kind", "issues", "op",
                                   "resolve", "reason", "no_candidate");

        cr_assert_eq(project_append(t, &(Event){.type = "note.pending", .who = PIPE_WHO, .json = body,
                                                .fields = fields}, &id), 0);
        store_fixture_commit(&p->f, t);
        return id;
}

// G-63: items of an older Lethe: the row is as that Lethe wrote it; commits count from the first new item
Test(expiry, items_of_an_older_store) {
        static const char row[] = "{\"attempts\":0,\"kind\":\"issues\",\"last\":%lu,\"op\":\"resolve\",\"scope\":%lu,"
                                  "\"state\":\"open\"}";
        _cleanup_pipe_ Pipe p;
        uint64_t old, new, scope;
        uint8_t key[8];
        char want[160];
        Bytes v;

        pipe_init(&p);
        pipe_say(&p, ROW, NULL);
        old = old_item(&p);
        {
                _cleanup_txn_ Txn *t = store_fixture_begin(&p.f, false);

                scope = pipe_scope(t);
                cr_assert_eq(table_get(t, TABLE_WAIT, seq_key(old, key), &v), 0);
                snprintf(want, sizeof want, row, old, scope);
                cr_expect(v.n == strlen(want) && memcmp(v.p, want, v.n) == 0, "%.*s", (int)v.n, (const char *)v.p);
        }
        p.limits.commits = 2;
        commits(&p, 4);
        cr_expect_eq(pipe_rows(&p, TABLE_COMMITS), 0);
        cr_expect_eq(pipe_wait(&p, old).state, WAIT_OPEN);
        new = waits(&p, NOTE);
        cr_expect_eq(pipe_rows(&p, TABLE_COMMITS), 1);
        commits(&p, 3);
        expired_by(&p, old, "commits");
        expired_by(&p, new, "commits");
        old = old_item(&p);
        {
                uint64_t now = clock_real_usec();

                while (clock_real_usec() <= now)
                        ;
        }
        p.limits = (WaitLimits){.age_usec = 0, .commits = 1000};
        commits(&p, 1);
        expired_by(&p, old, "age");
        pipe_holds(&p);
}

// G-63, M-25: a deleted scope takes its count with it
Test(expiry, a_deleted_scope_counts_no_more) {
        _cleanup_pipe_ Pipe p;
        uint64_t seq, n;
        Txn *t;
        Diag d;

        pipe_init(&p);
        pipe_say(&p, ROW, NULL);
        waits(&p, NOTE);
        cr_expect_eq(pipe_rows(&p, TABLE_COMMITS), 1);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(engine_scope_delete(t, PIPE_WHO, SCOPE_DEFAULT, NULL, &seq, &n, &d), 0, "%s", d.text);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(pipe_rows(&p, TABLE_COMMITS), 0);
        pipe_holds(&p);
}
