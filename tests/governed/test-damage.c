#include "tests/governed/pipeline.h"

static const Trying by_me = {.policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO};

/* What a disk or a hand made of it. */
static void damage(Pipe *p, Kind kind, const char *id) {
        Txn *t = store_fixture_begin(&p->f, true);
        RecordKey k = record_key_of(pipe_scope(t), kind, id);
        uint8_t key[RECORD_KEY_MAX];

        cr_assert_eq(table_put(t, TABLE_REC, BYTES(key, record_key(&k, key)), BYTES_STR("{")), 0);
        store_fixture_commit(&p->f, t);
}

static Retried retry(Pipe *p) {
        Txn *t = store_fixture_begin(&p->f, true);
        Retried re;

        cr_assert_eq(belief_retry(t, 0, 0, &by_me, &re, &p->f.d), 0, "%s", p->f.d.text);
        store_fixture_commit(&p->f, t);
        return re;
}

static void rebuild(Pipe *p) {
        Txn *t = store_fixture_begin(&p->f, true);
        FoldResult fold;

        cr_assert_eq(engine_fold_rebuild(t, &fold, &p->f.d), 0);
        store_fixture_commit(&p->f, t);
        pipe_holds(p);
}

// G-7, G-54, M-21: what is damaged in one scope, be it the scope's own row or a row of its records, stops nobody's notes in another
Test(damage, of_another_scope) {
        static const char *const names[] = {"before", "elsewhere"};
        _cleanup_pipe_ Pipe p;
        uint64_t scope;
        Txn *t;

        pipe_init(&p);
        t = store_fixture_begin(&p.f, true);
        for (size_t i = 0; i < ARRAY_SIZE(names); i++)
                cr_assert_eq(engine_scope_create(t, PIPE_WHO, names[i], &scope, &p.f.d), 0);
        cr_assert_eq(table_put(t, TABLE_SCOPE, BYTES_STR("before"), BYTES_STR("{")), 0);
        {
                RecordKey k = record_key_of(scope, KIND_ISSUE, "only_there");
                uint8_t key[RECORD_KEY_MAX];

                cr_assert_eq(table_put(t, TABLE_REC, BYTES(key, record_key(&k, key)), BYTES_STR("{")), 0);
        }
        store_fixture_commit(&p.f, t);
        p.answer = "{\"decision\":\"accept\",\"bucket\":\"issues\",\"operation\":\"resolve\",\"target_id\":\"only_there\",\"payload\":{},\"confidence\":1}";
        pipe_note(&p, p.run.id, NOTE_AGENT, PIPE_NO_CUE);
        pipe_promote(&p, p.run.id, 1, NULL);
        pipe_expect(p.last, "invalid", "cross_scope");
        pipe_say(&p, "issue our_own: ours", NULL);
        pipe_expect(p.last, "committed", "");
        pipe_say(&p, "resolve only_there: fixed", NULL);
        pipe_expect(p.last, "pending", "no_candidate");
}

typedef struct Heard {
        char of[8][64]; /* "outcome code" by number of the note */
} Heard;

static int hear(void *user, uint64_t note, const json_t *outcome) {
        Heard *h = user;

        cr_assert_lt(note, ARRAY_SIZE(h->of));
        snprintf(h->of[note], sizeof(h->of[note]), "%s %s", pipe_word(outcome, "outcome"), pipe_word(outcome, "code"));
        return 0;
}

// G-5, G-7, G-19, G-44: a row that cannot be read stops what may be about it, by its id, by its words or as what is written, and no other note of the batch;
// when it can be read again, what waited is decided
Test(damage, of_a_row_stops_what_is_about_it) {
        static const struct {
                const char *note, *wanted;
        } rows[] = {
                {"issue lamp_out: a lamp went out", "committed "},
                {"resolve reader_crash: done", "pending damaged"},
                {"The parser crash on empty input is fixed.", "pending damaged"},
                {"issue reader_crash: it crashes again", "pending damaged"},
                {"decision night_runs: migrations run at night", "committed "},
                {"resolve lamp_out: a new one", "committed "},
        };
        Heard heard = {0};
        _cleanup_pipe_ Pipe p;
        bool of_store;
        Retried re;

        pipe_init(&p);
        pipe_say(&p, "issue reader_crash: the parser crashes on empty input", NULL);
        damage(&p, KIND_ISSUE, "reader_crash");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                pipe_note(&p, p.run.id, NOTE_AGENT, rows[i].note);
        cr_assert_eq(belief_promote(p.f.store, &(Promoting){.run = p.run.id, .batch = 64, .policy = &RESOLVE_POLICY_DEFAULT, .who = PIPE_WHO, .told = hear,
                                                               .user = &heard}, &p.sum, &of_store, &p.f.d), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                cr_expect_str_eq(heard.of[i + 2], rows[i].wanted, "%s", rows[i].note);
        for (unsigned i = 0; i <= WAIT_ATTEMPTS_MAX; i++) { /* nothing is used up meanwhile */
                re = retry(&p);
                cr_expect(re.tried == 0 && re.resolved == 0 && re.damaged == 3, "%lu %lu %lu", re.tried, re.resolved, re.damaged);
        }
        pipe_say(&p, "issue other_crash: the parser crashes on an empty line", NULL); /* and a commit does not fall over them */
        pipe_expect(p.last, "committed", "");
        rebuild(&p);
        re = retry(&p);
        /* the first ends the row that all three were about; to open it again is for a person (G-62) */
        cr_expect(re.tried == 3 && re.resolved == 1 && re.damaged == 0, "%lu %lu %lu", re.tried, re.resolved, re.damaged);
        pipe_holds(&p);
}

// G-46, G-56: an item that cannot be read, or is about a row that cannot, stops the retry of no other one, in its own scope or elsewhere, nor a commit
Test(damage, of_an_item_stops_no_other) {
        uint64_t broken, about_damage, fine;
        _cleanup_pipe_ Pipe p;
        uint8_t key[8];
        Retried re;
        NoteRun run;
        Txn *t;

        pipe_init(&p);
        pipe_say(&p, "issue disk_full_a: the disk of server one is full", NULL);
        pipe_say(&p, "issue disk_full_b: the disk of server two is full", NULL);
        pipe_say(&p, "resolve late_row: nobody knows", NULL);
        broken = (uint64_t)json_integer_value(json_object_get(p.last, "pending"));
        pipe_say(&p, "resolved: the disk of a server", NULL);
        about_damage = (uint64_t)json_integer_value(json_object_get(p.last, "pending"));
        pipe_say(&p, "invalidate decision: the store is postgres", NULL);
        fine = (uint64_t)json_integer_value(json_object_get(p.last, "pending"));
        cr_assert(broken && about_damage && fine);
        damage(&p, KIND_ISSUE, "disk_full_a");
        be64_put(key, broken);
        t = store_fixture_begin(&p.f, true);
        cr_assert_eq(table_put(t, TABLE_WAIT, BYTES(key, 8), BYTES_STR("{")), 0);
        store_fixture_commit(&p.f, t);
        re = retry(&p);
        cr_expect(re.tried == 1 && re.resolved == 0 && re.damaged == 2, "%lu %lu %lu", re.tried, re.resolved, re.damaged);
        cr_expect(pipe_wait(&p, fine).attempts == 1 && pipe_wait(&p, about_damage).attempts == 0);
        /* a row that all of these would be looked at for */
        pipe_say(&p, "issue late_row: it does not work", NULL);
        pipe_expect(p.last, "committed", "");
        pipe_say(&p, "decision use_pg: the store is postgres for all services", NULL);
        pipe_expect(p.last, "committed", "");
        run = pipe_begin(&p, "bob");
        pipe_note(&p, run.id, NOTE_AGENT, "resolve disk_full_b: it has room again");
        pipe_promote(&p, run.id, 1, NULL);
        pipe_expect(p.last, "committed", "");
        rebuild(&p);
        re = retry(&p);
        cr_expect(re.damaged == 0 && re.resolved >= 1, "%lu %lu %lu", re.tried, re.resolved, re.damaged);
        pipe_holds(&p);
}

// G-6, G-7: an advisor is told of the rows that can be read, and what it says of one that cannot waits
Test(damage, of_a_row_in_an_advisors_context) {
        _cleanup_json_ json_t *told = NULL;
        _cleanup_pipe_ Pipe p;

        pipe_init(&p);
        pipe_say(&p, "issue reader_crash: the parser crashes on empty input", NULL);
        pipe_say(&p, "issue lamp_out: a lamp went out", NULL);
        damage(&p, KIND_ISSUE, "lamp_out");
        pipe_say(&p, PIPE_NO_CUE, "{\"decision\":\"accept\",\"bucket\":\"issues\",\"operation\":\"resolve\",\"target_id\":\"lamp_out\",\"payload\":{},"
                                  "\"confidence\":1}");
        pipe_expect(p.last, "pending", "damaged");
        told = json_loads(p.told, 0, NULL);
        cr_expect_eq(json_array_size(json_object_get(json_object_get(told, "context"), "issues")), 1);
        pipe_say(&p, "The reader_crash is fixed.", "{\"decision\":\"accept\",\"bucket\":\"issues\",\"operation\":\"resolve\",\"target_id\":\"reader_crash\",\"payload\":{},"
                                  "\"confidence\":1}");
        pipe_expect(p.last, "committed", "");
}
