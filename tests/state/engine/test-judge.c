/* Runs: tests. A judge's question, answers and verdicts (G-74). */
#include "tests/state/engine/gather-fixture.h"

#include "engine/fold.h"
#include "engine/judge.h"
#include "engine/round.h"

/* The names that gather_begin() gives a region's skill. */
#define SKILL "s"
#define DIGEST "sha256:0"

static void ask(StoreFixture *f, const char *question) {
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;

        cr_assert_eq(engine_slot_ask(t, "uid:0", "a", question, 0, &seq, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

static void start(StoreFixture *f, const char *rule) {
        store_fixture_init(f, STORE_SUPERVISE);
        gather_define(f, "a", rule);
        ask(f, "q");
}

static int question(StoreFixture *f, JudgeQuestion *q, json_t **ret) {
        _cleanup_free_ char *line = NULL;
        Txn *t = store_fixture_begin(f, false);
        int r = judge_question(t, "a", q, &line, &f->d);

        store_abort(t);
        if (r == 0 && ret)
                *ret = json_loads(line, 0, NULL);
        return r;
}

/* A region as that of a judge: begins, and ends well. */
static void sits(StoreFixture *f, char id[static REGION_ID_MAX]) {
        gather_begin(f, &(Begin){0}, id);
        gather_end(f, id, true);
}

static int judge(StoreFixture *f, const JudgeQuestion *q, const Judgement *j, json_t **ret) {
        _cleanup_json_ json_t *own = NULL;
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;
        int r = engine_slot_judge(t, "uid:0", "a", q, j, &seq, ret ? ret : &own, &f->d);

        store_fixture_commit(f, t);
        return r;
}

static const char *word(const json_t *verdict, size_t i) {
        return json_string_value(json_object_get(json_array_get(json_object_get(verdict, "proposals"), i), "verdict"));
}

static void holds(StoreFixture *f) {
        Txn *t = store_fixture_begin(f, false);
        FoldResult fold;

        cr_assert_eq(engine_fold_compare(t, &fold, &f->d), 0, "%s", f->d.text);
        cr_expect_null(fold.how, "table %s, key %s: %s", table_name(fold.table), fold.key, fold.how);
        store_abort(t);
        gather_audit(f);
}

// G-74: equal values once, in the order of their hashes, without a region; what is for another version is not shown
Test(judge, the_question) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *o = NULL, *put = json_string("new");
        char id[REGION_ID_MAX];
        const json_t *list, *p;
        uint64_t seq, version;
        JudgeQuestion q;
        Txn *t;
        size_t i;

        start(&f, "judge/8");
        cr_expect_eq(question(&f, &q, NULL), ENGINE_E_NO_VALUE);
        gather_one(&f, "x", "a", "green", -1, id);
        gather_one(&f, "y", "a", "green", -1, id);
        gather_one(&f, "x", "a", "red", -1, id);
        gather_begin(&f, &(Begin){0}, id);
        cr_assert_eq(gather_propose(&f, id, "a", "old", 0, -1), 0, "%s", f.d.text);
        gather_end(&f, id, true);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_put(t, "uid:0", "a", put, -1, &seq, &version, &f.d), 0, "%s", f.d.text);
        store_fixture_commit(&f, t);
        cr_assert_eq(question(&f, &q, &o), 0, "%s", f.d.text);
        cr_expect_str_eq(json_string_value(json_object_get(o, "question")), "q");
        list = json_object_get(o, "proposals");
        cr_assert_eq(json_array_size(list), 2);
        cr_expect_eq(q.n, 2);
        cr_expect_eq(q.n_seen, 3);
        cr_expect_lt(strcmp(q.sha256[0], q.sha256[1]), 0);
        json_array_foreach(list, i, p) {
                bool green = strcmp(json_string_value(json_object_get(p, "value")), "green") == 0;

                cr_expect_eq(json_integer_value(json_object_get(p, "proposal")), (json_int_t)i + 1);
                cr_expect_eq(json_integer_value(json_object_get(p, "regions")), green ? 2 : 1);
                cr_expect_eq(json_array_size(json_object_get(p, "skills")), green ? 2 : 1);
                cr_expect_str_eq(json_string_value(json_object_get(p, "sha256")), q.sha256[i]);
                cr_expect_null(json_object_get(p, "region"));
        }
        holds(&f);
}

// G-74: a number of the question, or "none", and nothing else
Test(judge, answers) {
        static const struct {
                const char *line;
                uint64_t seq; /* 0 with good: none */
                bool good;
        } rows[] = {
                {"{\"proposal\":1}", 10, true},
                {"{\"proposal\":2}", 20, true},
                {"{\"proposal\":2,\"sha256\":\"bb\"}", 20, true},
                {"{\"proposal\":\"none\"}", 0, true},
                {"{\"proposal\":2,\"sha256\":\"aa\"}", 0, false},
                {"{\"proposal\":\"none\",\"sha256\":\"aa\"}", 0, false},
                {"{\"proposal\":1,\"sha256\":1}", 0, false},
                {"{\"proposal\":0}", 0, false},
                {"{\"proposal\":3}", 0, false},
                {"{\"proposal\":-1}", 0, false},
                {"{\"proposal\":1.0}", 0, false},
                {"{\"proposal\":\"1\"}", 0, false},
                {"{\"proposal\":true}", 0, false},
                {"{\"proposal\":null}", 0, false},
                {"{\"proposal\":[1]}", 0, false},
                {"{\"proposal\":\"none\\u0000\"}", 0, false},
                {"{\"proposal\":1,\"value\":\"mine\"}", 0, false},
                {"{\"proposal\":1,\"proposal\":2}", 0, false},
                {"{}", 0, false},
                {"[1]", 0, false},
                {"1", 0, false},
                {"", 0, false},
                {"none", 0, false},
                {"{\"proposal\":1} {\"proposal\":2}", 0, false},
        };
        const JudgeQuestion q = {.n = 2, .seq = {10, 20}, .sha256 = {"aa", "bb"}};

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                uint64_t seq = 99;
                Diag d = {0};
                int r = judge_answer(&q, rows[i].line, &seq, &d);

                cr_expect_eq(r, rows[i].good ? 0 : JUDGE_E_ANSWER, "%s: %d, %s", rows[i].line, r, d.text);
                cr_expect_eq(seq, rows[i].good ? rows[i].seq : 99, "%s: %lu", rows[i].line, (unsigned long)seq);
                cr_expect_eq(strlen(d.text) > 0, !rows[i].good, "%s", rows[i].line);
        }
}

// G-74: the verdict: a value, "none", and a fault; each closes the round, and is what the tables and an audit have
Test(judge, verdicts) {
        static const char *const reasons[] = {"won", "no_choice", "judge_failed"};

        for (unsigned i = 0; i < ARRAY_SIZE(reasons); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *v = NULL;
                char id[REGION_ID_MAX], sat[REGION_ID_MAX];
                uint64_t version;
                JudgeQuestion q;

                start(&f, "quorum:3/3");
                gather_one(&f, NULL, "a", "green", -1, id);
                gather_one(&f, NULL, "a", "red", -1, id);
                cr_assert_eq(question(&f, &q, NULL), 0, "%s", f.d.text);
                sits(&f, sat);
                cr_assert_eq(judge(&f, &q, &(Judgement){SKILL, DIGEST, sat, i == 2 ? "bad_answer" : NULL,
                                                        i == 0 ? q.seen[1] : 0}, &v), 0, "%s", f.d.text);
                cr_expect_str_eq(json_string_value(json_object_get(v, "reason")), reasons[i]);
                cr_expect_str_eq(gather_value(&f, "a", &version), i == 0 ? "red" : "");
                cr_expect_str_eq(word(v, 0), i == 0 ? "not_chosen" : reasons[i]);
                cr_expect_eq(question(&f, &q, NULL), ENGINE_E_RULE);
                cr_expect(strstr(f.d.text, "no round is open"), "%s", f.d.text);
                holds(&f);
        }
}

// G-74: a value that was gathered after the question cannot be chosen
Test(judge, what_came_later) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *v = NULL, *o = NULL;
        char id[REGION_ID_MAX], sat[REGION_ID_MAX];
        JudgeQuestion q, after;
        uint64_t version;

        start(&f, "judge/2");
        gather_one(&f, NULL, "a", "green", -1, id);
        cr_assert_eq(question(&f, &q, NULL), 0, "%s", f.d.text);
        sits(&f, sat);
        gather_one(&f, NULL, "a", "red", -1, id);
        cr_assert_eq(question(&f, &after, &o), 0, "%s", f.d.text);
        cr_assert_eq(after.n_seen, 2);
        gather_one(&f, NULL, "a", "blue", -1, id); /* one more than the rule takes */
        cr_expect_eq(gather_count(&f, "a"), 2);
        cr_assert_eq(judge(&f, &q, &(Judgement){SKILL, DIGEST, sat, NULL, after.seen[1]}, &v), 0, "%s", f.d.text);
        cr_expect(json_is_null(json_object_get(v, "winner")));
        cr_expect_str_eq(word(v, 1), "unseen");
        cr_expect_str_eq(gather_value(&f, "a", &version), "");
}

// G-74: a verdict is on the round of the question; a judge's slot has no other
Test(judge, another_round) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *v = NULL;
        char id[REGION_ID_MAX], sat[REGION_ID_MAX];
        uint64_t version;
        JudgeQuestion q;

        start(&f, "judge/2");
        gather_one(&f, NULL, "a", "green", -1, id);
        cr_assert_eq(question(&f, &q, NULL), 0, "%s", f.d.text);
        sits(&f, sat);
        cr_expect_eq(gather_decided(&f, "a", &v), ENGINE_E_RULE);
        cr_expect(strstr(f.d.text, "decide a --judge SKILL"), "%s", f.d.text);
        ask(&f, "next");
        gather_one(&f, NULL, "a", "red", -1, id);
        cr_expect_eq(judge(&f, &q, &(Judgement){SKILL, DIGEST, sat, NULL, q.seen[0]}, NULL), ENGINE_E_CONFLICT);
        cr_expect_str_eq(gather_value(&f, "a", &version), "");
        cr_expect_eq(gather_count(&f, "a"), 1);
        holds(&f);
}

// G-74: without a question nothing is proposed to a judge
Test(judge, no_round_no_proposal) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "judge/2");
        gather_begin(&f, &(Begin){0}, id);
        cr_expect_eq(gather_propose(&f, id, "a", "green", -1, -1), ENGINE_E_RULE);
        cr_expect(strstr(f.d.text, "no question is open"), "%s", f.d.text);
        gather_end(&f, id, true);
        holds(&f);
}

// G-74: the record says who judged, and an audit finds each lie
Test(judge, lies_are_found) {
        static const struct {
                const char *name, *skill, *digest, *what;
                bool before, later; /* the judge's region began before the question; before a proposal came */
        } rows[] = {
                {"none", SKILL, DIGEST, NULL, false, false},
                {"another skill", "other", DIGEST, "the skill of a judge", false, false},
                {"other files", SKILL, "sha256:1", "the skill of a judge", false, false},
                {"another time", SKILL, DIGEST, "without its region", true, false},
                {"not seen", SKILL, DIGEST, "gathered later", false, true},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX], before[REGION_ID_MAX], sat[REGION_ID_MAX];
                JudgeQuestion q;
                AuditReport a;
                int r;

                store_fixture_init(&f, STORE_SUPERVISE);
                gather_define(&f, "a", "judge/4");
                sits(&f, before);
                ask(&f, "q");
                gather_one(&f, NULL, "a", "green", -1, id);
                sits(&f, sat);
                if (rows[i].later)
                        gather_one(&f, NULL, "a", "red", -1, id);
                cr_assert_eq(question(&f, &q, NULL), 0, "%s", f.d.text);
                cr_assert_eq(judge(&f, &q, &(Judgement){rows[i].skill, rows[i].digest, rows[i].before ? before : sat,
                                                        NULL, q.seen[0]}, NULL), 0, "%s", f.d.text);
                r = audit_run(f.store, &a);
                cr_expect_eq(r, rows[i].what ? AUDIT_E_BROKEN : 0, "%s: %d, %s", rows[i].name, r, a.what);
                if (rows[i].what)
                        cr_expect(strstr(a.what, rows[i].what), "%s: \"%s\"", rows[i].name, a.what);
        }
}
