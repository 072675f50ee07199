/* Runs: tests. Rounds of a slot with a rule of arbitration (G-74). */
#include "tests/state/engine/gather-fixture.h"

#include "engine/fold.h"
#include "engine/round.h"

static int ask(StoreFixture *f, const char *slot, const char *question, uint64_t until) {
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;
        int r = engine_slot_ask(t, "uid:0", slot, question, until, &seq, &f->d);

        store_fixture_commit(f, t);
        return r;
}

/* The tables are the fold of the ledger, and an audit decides as the engine did. */
static void holds(StoreFixture *f) {
        Txn *t = store_fixture_begin(f, false);
        FoldResult fold;

        cr_assert_eq(engine_fold_compare(t, &fold, &f->d), 0, "%s", f->d.text);
        cr_expect_null(fold.how, "table %s, key %s: %s", table_name(fold.table), fold.key, fold.how);
        store_abort(t);
        gather_audit(f);
}

static void newest_verdict(StoreFixture *f, unsigned n, const char *reason, size_t proposals) {
        _cleanup_json_ json_t *e = NULL;
        unsigned found;

        e = gather_event(f, "slot.arbitrated", &found);
        cr_assert_eq(found, n, "%u verdicts", found);
        cr_expect_str_eq(json_string_value(json_object_get(e, "reason")), reason);
        cr_expect_eq(json_array_size(json_object_get(e, "proposals")), proposals);
        cr_expect(json_object_get(e, "round"));
}

static void discarded(StoreFixture *f, unsigned n, const char *reason) {
        _cleanup_json_ json_t *e = NULL;
        unsigned found;

        e = gather_event(f, "slot.discarded", &found);
        cr_assert_eq(found, n, "%u discarded", found);
        cr_expect_str_eq(json_string_value(json_object_get(e, "reason")), reason);
}

static bool is_open(StoreFixture *f, const char *slot) {
        Txn *t = store_fixture_begin(f, false);
        Round round;

        cr_assert_eq(round_get(t, slot, &round), 0);
        store_abort(t);
        return round.open;
}

// G-74: finding 8: a round of three of which one is missing, then a new question with three equal answers: these decide
Test(round, leftovers_do_not_count) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], late[REGION_ID_MAX], straggler[REGION_ID_MAX];
        uint64_t version;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:3/3");
        cr_assert_eq(ask(&f, "a", "colour", 0), 0, "%s", f.d.text);
        gather_one(&f, NULL, "a", "blue", -1, id);
        gather_one(&f, NULL, "a", "red", -1, id);
        gather_begin(&f, &(Begin){0}, late);
        cr_assert_eq(gather_propose(&f, late, "a", "blue", -1, -1), 0, "%s", f.d.text);
        gather_begin(&f, &(Begin){0}, straggler);
        holds(&f);
        cr_assert_eq(ask(&f, "a", "size", 0), 0, "%s", f.d.text);
        newest_verdict(&f, 1, "closed", 2);
        cr_expect_eq(gather_count(&f, "a"), 0);
        holds(&f);
        for (int i = 0; i < 2; i++)
                gather_one(&f, NULL, "a", "large", -1, id);
        /* proposed in the round before, and ended in this one */
        gather_end(&f, late, true);
        discarded(&f, 1, "other_round");
        cr_expect_eq(gather_count(&f, "a"), 2);
        /* began in the round before, and proposes in this one */
        cr_expect_eq(gather_propose(&f, straggler, "a", "blue", -1, -1), ENGINE_E_RULE);
        cr_expect(strstr(f.d.text, "after the region began"), "%s", f.d.text);
        gather_end(&f, straggler, true);
        holds(&f);
        gather_one(&f, NULL, "a", "large", -1, id);
        newest_verdict(&f, 2, "won", 3);
        cr_expect_str_eq(gather_value(&f, "a", &version), "large");
        cr_expect_eq(version, 1);
        cr_expect_not(is_open(&f, "a"));
        /* no question is open */
        gather_begin(&f, &(Begin){0}, id);
        cr_expect_eq(gather_propose(&f, id, "a", "large", -1, -1), ENGINE_E_RULE);
        cr_expect(strstr(f.d.text, "no question is open"), "%s", f.d.text);
        gather_end(&f, id, true);
        holds(&f);
}

// G-74: what was gathered before the first question does not count in its round
Test(round, what_came_before_the_first_question) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *e = NULL;
        char id[REGION_ID_MAX];
        uint64_t version;
        unsigned n;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:2/2");
        gather_one(&f, NULL, "a", "blue", -1, id);
        cr_expect_eq(gather_count(&f, "a"), 1);
        cr_assert_eq(ask(&f, "a", "q1", 0), 0, "%s", f.d.text);
        e = gather_event(&f, "slot.arbitrated", &n);
        cr_assert_eq(n, 1);
        cr_expect(!json_object_get(e, "round"));
        gather_one(&f, NULL, "a", "blue", -1, id);
        cr_expect_str_eq(gather_value(&f, "a", &version), "");
        gather_one(&f, NULL, "a", "blue", -1, id);
        cr_expect_str_eq(gather_value(&f, "a", &version), "blue");
        holds(&f);
}

// G-74: a round without a verdict says so and is closed: by a verdict of nobody, by the operator, and without any answer
Test(round, without_a_winner) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *verdict = NULL, *again = NULL;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:2/2");
        cr_assert_eq(ask(&f, "a", "q1", 0), 0, "%s", f.d.text);
        gather_one(&f, NULL, "a", "blue", -1, id);
        gather_one(&f, NULL, "a", "red", -1, id);
        newest_verdict(&f, 1, "no_quorum", 2);
        cr_expect_not(is_open(&f, "a"));
        cr_assert_eq(ask(&f, "a", "q2", 0), 0, "%s", f.d.text);
        cr_expect(is_open(&f, "a"));
        cr_assert_eq(gather_decided(&f, "a", &verdict), 0, "%s", f.d.text);
        newest_verdict(&f, 2, "closed", 0);
        cr_expect(json_is_null(json_object_get(verdict, "winner")));
        cr_expect_not(is_open(&f, "a"));
        cr_expect_eq(gather_decided(&f, "a", &again), ENGINE_E_NO_VALUE);
        holds(&f);
}

/* The ledger's time goes on to `usec`; the clock need not. */
static void turn_to(StoreFixture *f, uint64_t usec) {
        char time[CLOCK_TEXT_MAX], entry[160];
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;

        snprintf(entry, sizeof entry, "{\"time\":\"%s\",\"type\":\"belief.read\",\"who\":\"uid:0\"}",
                 clock_format(usec, time));
        cr_assert_eq(ledger_append(t, entry, strlen(entry), usec, &seq), 0);
        store_fixture_commit(f, t);
}

// G-74: after the deadline nothing counts; the first region that ends then brings the verdict on what came in time
Test(round, the_deadline) {
        for (unsigned in_time = 0; in_time < 3; in_time++) {
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX], late[REGION_ID_MAX], later[REGION_ID_MAX];
                uint64_t version, until = clock_real_usec() + 3600 * UINT64_C(1000000);

                store_fixture_init(&f, STORE_SUPERVISE);
                gather_define(&f, "a", "quorum:2/3");
                cr_assert_eq(ask(&f, "a", "q1", until), 0, "%s", f.d.text);
                for (unsigned i = 0; i < in_time; i++)
                        gather_one(&f, NULL, "a", "blue", -1, id);
                gather_begin(&f, &(Begin){0}, late);
                cr_assert_eq(gather_propose(&f, late, "a", "blue", -1, -1), 0, "%s", f.d.text);
                gather_begin(&f, &(Begin){0}, later);
                turn_to(&f, until + 1);
                cr_expect_eq(gather_propose(&f, later, "a", "blue", -1, -1), ENGINE_E_RULE);
                cr_expect(strstr(f.d.text, "deadline is over"), "%s", f.d.text);
                cr_expect(is_open(&f, "a"));
                gather_end(&f, late, true);
                discarded(&f, 1, "too_late");
                newest_verdict(&f, 1, in_time == 0 ? "closed" : in_time == 1 ? "no_quorum" : "won", in_time);
                cr_expect_str_eq(gather_value(&f, "a", &version), in_time == 2 ? "blue" : "");
                cr_expect_not(is_open(&f, "a"));
                gather_end(&f, later, true);
                holds(&f);
        }
}

// G-74: values are compared by their canonical bytes, or by a member
Test(round, equality_by_a_member) {
        static const char *const values[] = {"{\"answer\":{\"x\":1,\"y\":2},\"why\":\"a\"}",
                                             "{\"why\":\"b\",\"answer\":{\"y\":2,\"x\":1}}"};
        for (unsigned by = 0; by < 2; by++) {
                _cleanup_store_fixture_ StoreFixture f;
                uint64_t version, seq;
                bool arbitrated;
                Diag d;

                store_fixture_init(&f, STORE_SUPERVISE);
                gather_define(&f, "a", by ? "{\"rule\":\"quorum\",\"of\":2,\"least\":2,\"by\":\"answer\"}" : "quorum:2/2");
                for (unsigned i = 0; i < 2; i++) {
                        _cleanup_json_ json_t *v = json_loads(values[i], 0, NULL), *without = json_pack("{s:i}", "why", 1);
                        char id[REGION_ID_MAX];
                        SlotProposal p = {.region = id, .name = "a", .value = without, .expect = -1};
                        Txn *t;

                        gather_begin(&f, &(Begin){0}, id);
                        t = store_fixture_begin(&f, true);
                        if (by) {
                                cr_expect_eq(engine_slot_propose(t, &p, &seq, &version, &arbitrated, &d), ENGINE_E_RULE);
                                cr_expect(strstr(d.text, "\"answer\""), "%s", d.text);
                        }
                        p.value = v;
                        cr_assert_eq(engine_slot_propose(t, &p, &seq, &version, &arbitrated, &d), 0, "%s", d.text);
                        store_fixture_commit(&f, t);
                        gather_end(&f, id, true);
                }
                gather_value(&f, "a", &version);
                cr_expect_eq(version, by);
                holds(&f);
        }
}

// G-74: what cannot be asked
Test(round, refusals) {
        _cleanup_store_fixture_ StoreFixture f;
        ArbitrationRule rule;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/1");
        gather_define(&f, "plain", NULL);
        cr_expect_eq(ask(&f, "plain", "q", 0), ENGINE_E_RULE);
        cr_expect_eq(ask(&f, "nowhere", "q", 0), ENGINE_E_UNDEFINED);
        cr_expect_eq(ask(&f, "a", "", 0), ENGINE_E_BAD_NAME);
        cr_expect_eq(ask(&f, "a", "two words", 0), ENGINE_E_BAD_NAME);
        cr_expect_eq(ask(&f, "a", "12345678901234567890123456789012345678901234567890123456789012345", 0), ENGINE_E_BAD_NAME);
        cr_expect_eq(arbitration_rule_parse_text("{\"rule\":\"first\",\"of\":2,\"by\":\"answer\"}", &rule, &f.d), ARBITRATION_E_RULE);
        cr_expect_eq(arbitration_rule_parse_text("{\"rule\":\"quorum\",\"of\":2,\"least\":2,\"by\":\"\"}", &rule, &f.d),
                     ARBITRATION_E_RULE);
        cr_expect_eq(gather_events(&f, "slot.asked"), 0);
        holds(&f);
}
