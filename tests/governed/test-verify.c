#include "tests/governed/pipeline.h"

#include "audit/audit.h"
#include "record/event.h"
#include "engine/fold.h"
#include "index/index.h"
#include "engine/dead-letter.h"
#include "store/hooks.h"

/* What `lethe verify` finds first; "" when all holds. */
static const char *found(Pipe *p) {
        static char check[40];
        _cleanup_txn_ Txn *t = store_fixture_begin(&p->f, false);
        _cleanup_json_ json_t *o = NULL;
        Diag d;
        int r = audit_state(t, &o, &d);

        cr_assert_eq(r, 0, "verify gives no answer: %d", r);
        snprintf(check, sizeof(check), "%s", pipe_word(json_object_get(o, "first"), "check"));
        cr_expect_eq(json_is_true(json_object_get(o, "intact")), *check == '\0');
        return check;
}

static void rebuild(Pipe *p) {
        Txn *t = store_fixture_begin(&p->f, true);
        FoldResult fold;
        Diag d;

        cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0, "%s", d.text);
        store_fixture_commit(&p->f, t);
}

static void change(Pipe *p, Table table, Bytes key, const char *value) {
        Txn *t = store_fixture_begin(&p->f, true);

        cr_assert_eq(value ? table_put(t, table, key, BYTES_STR(value)) : table_del(t, table, key), 0);
        store_fixture_commit(&p->f, t);
}

static uint64_t start(Pipe *p) {
        pipe_init(p);
        pipe_say(p, "issue parser_crash: it crashes", NULL);
        pipe_say(p, "resolve late_row: it works now", NULL);
        cr_assert_str_eq(found(p), "");
        return (uint64_t)json_integer_value(json_object_get(p->last, "pending"));
}

// G-56: projections equal the fold of the ledger; a row that is no row at all is found, too
Test(verify, projections) {
        _cleanup_pipe_ Pipe p;
        uint64_t pending = start(&p);
        uint8_t key[RECORD_KEY_MAX];
        RecordKey k;
        size_t n;
        Txn *t;

        be64_put(key, pending);
        change(&p, TABLE_WAIT, BYTES(key, 8), "x");
        cr_expect_str_eq(found(&p), "projection");
        rebuild(&p);
        cr_expect_str_eq(found(&p), "");
        change(&p, TABLE_WAIT, BYTES(key, 8), NULL);
        cr_expect_str_eq(found(&p), "projection", "an item that is lost");
        rebuild(&p);
        t = store_fixture_begin(&p.f, false);
        k = record_key_of(pipe_scope(t), KIND_ISSUE, "parser_crash");
        store_abort(t);
        n = record_key(&k, key);
        change(&p, TABLE_REC, BYTES(key, n), NULL);
        cr_expect_str_eq(found(&p), "projection", "a row that is lost");
        rebuild(&p);
        cr_expect_str_eq(found(&p), "");
}

// G-56: no pending item without its request, also one that was decided long ago
Test(verify, pending_without_its_request) {
        _cleanup_pipe_ Pipe p;
        uint64_t pending = start(&p);
        uint8_t key[8];

        be64_put(key, pending);
        change(&p, TABLE_BODY, BYTES(key, 8), NULL);
        cr_expect_str_neq(found(&p), "");
        rebuild(&p); /* what the index had of it goes; the request does not come back */
        cr_expect_str_eq(found(&p), "pending");
}

Test(verify, decided_without_its_request) {
        _cleanup_pipe_ Pipe p;
        const Trying person = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO};
        uint64_t pending = start(&p);
        _cleanup_applied_ Applied done = {0};
        uint8_t key[8];
        Txn *t = store_fixture_begin(&p.f, true);
        Diag d;

        cr_assert_eq(belief_bind(t, pending, "parser_crash", &person, &done, &d), 0);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(pipe_wait(&p, pending).state, WAIT_RESOLVED);
        be64_put(key, pending);
        change(&p, TABLE_BODY, BYTES(key, 8), NULL);
        cr_expect_str_eq(found(&p), "pending");
}

// G-56: no event without region or operator
Test(verify, event_without_a_cause) {
        _cleanup_json_ json_t *payload = json_pack("{s:s}", "title", "out of nowhere");
        _cleanup_pipe_ Pipe p;
        Mutated m;
        Txn *t;
        Diag d;

        start(&p);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(engine_mutate(t, &(Mutation){.kind = KIND_ISSUE, .op = OP_UPSERT, .id = "some_row", .payload = payload,
                                                  .expect = MUTATION_ANY}, &m, &d), 0);
        store_fixture_commit(&p.f, t);
        cr_expect_str_eq(found(&p), "cause");
}

// G-26, G-28, G-30, G-56: an event that cannot be projected stays, is told of, and blocks its row, which then waits instead of being overtaken
Test(verify, unapplied) {
        _cleanup_json_ json_t *fields = NULL, *entry = NULL, *row = NULL;
        _cleanup_pipe_ Pipe p;
        uint64_t seq;
        Txn *t;

        start(&p);
        t = store_fixture_begin(&p.f, true);
        fields = json_pack("{s:I, s:s, s:s, s:i, s:s}", "scope", (json_int_t)pipe_scope(t), "kind", "issues", "id", "parser_crash", "version", 9,
                           "state", "resolved");
        cr_assert_eq(event_append(t, &(Event){.type = "canon.resolve", .who = PIPE_WHO, .fields = TAKE_PTR(fields)}, &seq), 0);
        cr_assert_eq(event_get(t, seq, &entry), 0);
        cr_assert_eq(dead_letter_project(t, seq, entry, NULL, NULL), 1);
        store_fixture_commit(&p.f, t);
        cr_expect_str_eq(found(&p), "unapplied");
        row = pipe_row(&p, "issues", "parser_crash");
        cr_expect_str_eq(pipe_word(row, "state"), "open");
        pipe_say(&p, "resolve parser_crash: done", NULL);
        pipe_expect(p.last, "pending", "blocked");
        cr_expect_str_eq(found(&p), "unapplied");
        pipe_holds(&p);
}

static Bytes live_key(Pipe *p, uint8_t key[static TERM_KEY_MAX]) {
        Txn *t = store_fixture_begin(&p->f, false);
        size_t n = term_key(pipe_scope(t), KIND_ISSUE, INDEX_LIVE, INDEX_LIVE_TERM, strlen(INDEX_LIVE_TERM), key);

        store_abort(t);
        be64_put(key + n, 0); /* its rows are among the first 256 */
        return BYTES(key, n + 8);
}

// G-17, G-56: whether a row has ended is in the index, too, and what the index says of it is held against the ledger
Test(verify, rows_that_have_not_ended) {
        _cleanup_pipe_ Pipe p;
        uint8_t key[TERM_KEY_MAX];
        Txn *t;

        start(&p);
        change(&p, TABLE_TERM, live_key(&p, key), NULL);
        cr_expect_str_eq(found(&p), "projection");
        t = store_fixture_begin(&p.f, true);
        cr_expect_eq(engine_index_need(t, &p.f.d), 0);
        store_fixture_commit(&p.f, t);
        cr_expect_eq(engine_index_renew(p.f.store, &p.f.d), 0);
        cr_expect_str_eq(found(&p), "projection", "made anew behind the operator's back");
        rebuild(&p);
        cr_expect_str_eq(found(&p), "");
        pipe_say(&p, "resolve parser_crash: done", NULL);
        pipe_expect(p.last, "committed", "");
        cr_expect_str_eq(found(&p), "");
        pipe_holds(&p);
}

// G-17, G-29: the index of a store of version 2 does not say it: it is made anew before rows are looked for, and nothing else is.
Test(verify, an_index_of_version_2) {
        for (unsigned by_rebuild = 0; by_rebuild < 2; by_rebuild++) {
                _cleanup_pipe_ Pipe p;
                uint8_t key[TERM_KEY_MAX];
                bool newest = true;
                Txn *t;

                pipe_init(&p);
                pipe_say(&p, "issue the_issue_1: the reader of part p1 leaks memory", NULL);
                change(&p, TABLE_TERM, live_key(&p, key), NULL);
                t = store_fixture_begin(&p.f, true);
                be64_put(key, 2);
                cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("version"), BYTES(key, 8)), 0);
                store_fixture_commit(&p.f, t);
                cr_expect_str_eq(found(&p), "projection");
                if (by_rebuild)
                        rebuild(&p);
                pipe_say(&p, "The reader of part p1 is fixed now.", NULL);
                pipe_expect(p.last, "committed", "");
                cr_expect_str_eq(pipe_word(p.last, "id"), "the_issue_1");
                cr_expect_str_eq(found(&p), "");
                t = store_fixture_begin(&p.f, false);
                cr_expect_eq(store_is_newest(t, &newest), 0);
                cr_expect(newest);
                store_abort(t);
                pipe_holds(&p);
        }
}

/* What somebody could have done to working memory behind Lethe's back. */
typedef struct Tampering {
        const char *what;
        bool note;        /* else the run's row */
        uint64_t number;  /* of the note */
        const char *id;   /* of another run than the one that is there; or NULL */
        const char *from, *to; /* text of the row and what it becomes; from NULL: the row goes; from "": it is put where there is none */
} Tampering;

#define OTHER_RUN "01zzzzzzzzzzzzzzzzzzzzzzzz"

static void tamper(Pipe *p, const Tampering *x) {
        uint8_t key[RUN_ID_MAX + 8];
        char value[8192] = "";
        size_t n = x->note ? sizeof(key) : RUN_ID_MAX - 1;
        Txn *t = store_fixture_begin(&p->f, true);
        Table table = x->note ? TABLE_NOTE : TABLE_RUN;
        Bytes v;

        memcpy(key, p->run.id, RUN_ID_MAX);
        be64_put(key + RUN_ID_MAX, x->number);
        cr_assert_eq(table_get(t, table, BYTES(key, n), &v), 0, "%s", x->what);
        cr_assert_lt(v.n, sizeof(value));
        memcpy(value, v.p, v.n);
        if (x->id)
                memcpy(key, x->id, RUN_ID_MAX);
        if (x->from && *x->from) {
                char changed[sizeof(value)], *at = strstr(value, x->from);

                cr_assert(at, "%s: %s", x->what, value);
                snprintf(changed, sizeof(changed), "%.*s%s%s", (int)(at - value), value, x->to, at + strlen(x->from));
                strcpy(value, changed);
        }
        cr_assert_eq(x->from ? table_put(t, table, BYTES(key, n), BYTES_STR(value)) : table_del(t, table, BYTES(key, n)), 0, "%s", x->what);
        store_fixture_commit(&p->f, t);
}

// G-7, G-56: runs that go on and what became of their notes are what the ledger says
Test(verify, runs_and_their_notes) {
        static const Tampering rows[] = {
                {"another agent", false, 0, NULL, "\"agent\":\"alice\"", "\"agent\":\"mallory\""},
                {"another scope", false, 0, NULL, "\"scope\":", "\"scope\":1"},
                {"more notes", false, 0, NULL, "\"notes\":4", "\"notes\":5"},
                {"fewer looked at", false, 0, NULL, "\"processed\":3", "\"processed\":2"},
                {"one that would be passed over", false, 0, NULL, "\"settled\":3", "\"settled\":4"},
                {"no row", false, 0, NULL, NULL, NULL},
                {"no row that can be read", false, 0, NULL, "{", "["},
                {"a run of nobody's", false, 0, OTHER_RUN, "", NULL},
                {"a note that is gone", true, 2, NULL, NULL, NULL},
                {"the last note is gone", true, 4, NULL, NULL, NULL},
                {"a note of no run", true, 1, OTHER_RUN, "", NULL},
                {"committed, and to be looked at again", true, 1, NULL, "\"outcome\":\"committed\"", "\"was\":\"committed\""},
                {"committed, and told as noise", true, 1, NULL, "\"outcome\":\"committed\"", "\"outcome\":\"rejected\""},
                {"committed by another event", true, 1, NULL, "\"seq\":", "\"seq\":1"},
                {"waits, and told as committed", true, 2, NULL, "\"outcome\":\"pending\"", "\"outcome\":\"committed\""},
                {"waits as another item", true, 2, NULL, "\"pending\":", "\"pending\":1"},
                {"noise, and told as committed", true, 3, NULL, "\"outcome\":\"rejected\"", "\"outcome\":\"committed\""},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_pipe_ Pipe p;
                uint64_t dropped;
                Txn *t;
                NoteRun ended;

                start(&p);
                ended = pipe_begin(&p, "bob");
                pipe_note(&p, ended.id, NOTE_AGENT, "issue another_row: it crashes");
                pipe_promote(&p, ended.id, 1, NULL);
                t = store_fixture_begin(&p.f, true);
                cr_assert_eq(engine_run_end(t, PIPE_WHO, NULL, ended.id, false, &dropped, &p.f.d), 0);
                store_fixture_commit(&p.f, t);
                pipe_say(&p, PIPE_NO_CUE, NULL);
                pipe_note(&p, p.run.id, NOTE_AGENT, "issue later_row: not looked at yet");
                cr_assert_str_eq(found(&p), "", "%s", rows[i].what);
                tamper(&p, &rows[i]);
                cr_expect_str_eq(found(&p), "run", "%s", rows[i].what);
        }
}
