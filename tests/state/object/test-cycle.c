/* Cycles: selection and what it appends, executions that are settled, and what other processes do meanwhile (O-10..O-15,
 * O-19..O-23, O-29..O-38, O-43..O-47). */
#include "audit/audit.h"
#include "engine/fold.h"
#include "tests/state/object/cycle-fixture.h"
#include "tests/state/store/write-log.h"

#include <pthread.h>

#define RUN "{\"do\": {\"skill\": \"x\"}}"

static void sound(Node *n, const char *id, const char *row) {
        AuditReport a;

        node_holds(n, id, row);
        cr_assert_eq(audit_run(n->s.store, &a) ?: audit_fold(n->s.store, &a, &n->s.d), 0, "%s: %s; expected %s; found %s", row, a.what, a.expected, a.found);
}

// O-10, O-12, O-14, O-19, O-21, O-35, O-36, O-37: a whole life, with the store opened anew before each step.
Test(cycle, a_life) {
        _cleanup_free_ char *kinds = NULL;
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];

        node_init(&n);
        node_create(&n, "{\"do\": {\"steps\": [{\"skill\": \"a\"}, {\"wait\": {\"elapsed\": {\"for\": \"1m\"}}}, {\"skill\": \"b\"}]}}", id);
        node_restart(&n);
        node_execute(&n, id, "one", SUCCESS, NULL);
        node_restart(&n);
        cr_assert_str_eq(node_act(&n, id), "dormancy");
        node_restart(&n);
        cr_assert_str_eq(node_act(&n, id), "none");
        n.now += 61 * SECOND;
        cr_assert_str_eq(node_act(&n, id), "reentry");
        node_restart(&n);
        node_execute(&n, id, "two", SUCCESS, NULL);
        node_restart(&n);
        cr_assert_str_eq(node_act(&n, id), "termination");
        kinds = node_kinds(&n, id);
        cr_assert_str_eq(kinds, "instantiated evaluation started outcome dormant reentry evaluation started outcome terminated");
        cr_assert(node_versions(&n, "one") == 1 && node_versions(&n, "two") == 1);
        sound(&n, id, "a life");
}

// O-20, O-35: terminated is final: refused, and nothing is appended; still readable, verifiable and exportable.
Test(cycle, terminated_is_final) {
        static const char *const hows[] = {"satisfied", "requested", "requested while it sleeps", "requested in an execution"};

        for (size_t i = 0; i < ARRAY_SIZE(hows); i++) {
                _cleanup_json_ json_t *o = NULL, *answer = NULL, *more = NULL, *input = json_integer(1);
                _cleanup_buf_ Buf file = {0};
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];
                uint64_t before;
                Txn *t;

                node_init(&n);
                node_create(&n, i == 2 ? "{\"do\": {\"wait\": {\"elapsed\": {\"for\": \"1h\"}}}}" : RUN, id);
                if (i == 0)
                        node_execute(&n, id, NULL, SUCCESS, NULL);
                if (i != 1)
                        node_act(&n, id);
                if (i > 0) {
                        t = store_fixture_begin(&n.s, true);
                        cr_assert_eq(node_end(&n, t, object_end(t, id, WHO, "requested", &answer, &n.s.d)), 0, "%s: %s", hows[i], n.s.d.text);
                }
                before = node_entries(&n, id);
                cr_assert_eq(node_cycle(&n, id, &o), ENGINE_E_TERMINATED, "%s", hows[i]);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(node_end(&n, t, object_input(t, id, WHO, "x", input, &more, &n.s.d)), ENGINE_E_TERMINATED, "%s", hows[i]);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(node_end(&n, t, object_end(t, id, WHO, "again", &more, &n.s.d)), ENGINE_E_TERMINATED, "%s", hows[i]);
                cr_assert_eq(node_entries(&n, id), before, "%s: an entry behind the end", hows[i]);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(node_end(&n, t, object_export(t, id, false, WHO, &file, &n.s.d)), 0, "%s: %s", hows[i], n.s.d.text);
                sound(&n, id, hows[i]);
        }
}

// O-10, O-14, O-28, O-48: each kind of outcome is appended, and the next action follows from memory.
Test(cycle, outcomes_decide_the_next_action) {
        static const struct {
                const char *outcome, *next;
                const char *action, *reason;
        } rows[] = {
                {SUCCESS, NULL, "termination", "satisfied"},
                {FAILURE, NULL, "dormancy", "backoff"},
                {"{\"kind\": \"timeout\", \"latency_usec\": 5}", NULL, "dormancy", "backoff"},
                {"{\"kind\": \"partial\", \"latency_usec\": 5, \"remainder\": [\"b\"]}", NULL, "dormancy", "backoff"},
                {"{\"kind\": \"fault\", \"latency_usec\": 5, \"reason\": \"r\"}", NULL, "dormancy", "backoff"},
                {"{\"kind\": \"negative\", \"latency_usec\": 5, \"capability\": \"x\"}", NULL, "dormancy", "negative"},
                {FAILURE, "{\"end\": \"given_up\"}", "termination", "given_up"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *last = NULL;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];

                node_init(&n);
                node_create(&n, "{\"do\": {\"skill\": \"x\", \"args\": [\"a\", \"b\"]}, \"with\": {\"may\": [\"end\"]}}", id);
                node_execute(&n, id, NULL, rows[i].outcome, rows[i].next);
                last = node_last(&n, id, "outcome");
                cr_assert_str_eq(json_str(json_object_get(last, "outcome"), "kind"), json_str(json_object_get(last, "outcome"), "kind"));
                cr_assert(strstr(rows[i].outcome, json_str(json_object_get(last, "outcome"), "kind")), "%s", rows[i].outcome);
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s: %s", rows[i].outcome, n.s.d.text);
                cr_assert_str_eq(json_str(o, "action"), rows[i].action, "%s: %s", rows[i].outcome, json_str(o, "reason"));
                if (strcmp(rows[i].reason, "given_up") != 0)
                        cr_assert_str_eq(json_str(o, "reason"), rows[i].reason, "%s", rows[i].outcome);
                sound(&n, id, rows[i].outcome);
        }
}

// O-15, O-45: a denied policy performs nothing; what it allows later goes on.
Test(cycle, a_denied_policy_performs_nothing) {
        static const struct {
                const char *on_denied, *kinds;
        } rows[] = {
                {"dormant", "instantiated evaluation dormant"},
                {"terminate", "instantiated evaluation terminated"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_free_ char *kinds = NULL;
                _cleanup_json_ json_t *o = NULL;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];

                node_init(&n);
                node_create(&n, RUN, id);
                n.verdict = "denied";
                n.on_denied = rows[i].on_denied;
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
                cr_assert_null(json_object_get(o, "perform"), "%s", rows[i].on_denied);
                kinds = node_kinds(&n, id);
                cr_assert_str_eq(kinds, rows[i].kinds, "%s", rows[i].on_denied);
                if (i == 0) {
                        n.now += 2 * SECOND;
                        cr_assert_str_eq(node_act(&n, id), "none");
                        n.ref = "p2";
                        n.verdict = "allowed";
                        cr_assert_str_eq(node_act(&n, id), "reentry");
                        node_execute(&n, id, NULL, SUCCESS, NULL);
                }
                sound(&n, id, rows[i].on_denied);
        }
}

static uint64_t events(Node *n) {
        Txn *t = store_fixture_begin(&n->s, false);
        uint64_t rows;

        cr_assert_eq(table_rows(t, TABLE_EVENT, &rows), 0);
        store_abort(t);
        return rows;
}

// O-30, O-33, O-34: encounters that find nothing append nothing; the reentry names trigger and evidence.
Test(cycle, polling_appends_nothing) {
        static const struct {
                const char *name, *trigger, *evidence; /* what wakes: see below */
        } rows[] = {
                {"elapsed", "{\"elapsed\": {\"for\": \"1h\"}}", "elapsed"},
                {"a slot", "{\"prerequisite\": {\"slot\": \"ready\"}}", "prerequisite"},
                {"an event", "{\"event\": {\"type\": \"slot.written\", \"match\": {\"slot\": \"ready\"}}}", "event"},
                {"the policy", "{\"policy\": {\"not\": \"p1\"}}", "policy"},
                {"an input", "{\"outcomes\": {\"kind\": \"input\", \"n\": 1}}", "outcomes"},
                {"any of two", "{\"any\": [{\"elapsed\": {\"for\": \"9h\"}}, {\"prerequisite\": {\"slot\": \"ready\"}}]}", "prerequisite"},
                {"all of two", "{\"all\": [{\"event\": {\"type\": \"slot.written\"}}, {\"policy\": {\"not\": \"p1\"}}]}", "all"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *last = NULL, *v = json_integer(1), *any = json_object(), *answer = NULL;
                _cleanup_free_ char *intent = NULL, *unmet = NULL, *data = NULL;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];
                uint64_t before, ledger;
                Txn *t;

                node_init(&n);
                cr_assert_geq(asprintf(&intent, "{\"do\": {\"steps\": [{\"wait\": %s}, {\"skill\": \"x\"}]}}", rows[i].trigger), 0);
                node_create(&n, intent, id);
                cr_assert_str_eq(node_act(&n, id), "dormancy", "%s", rows[i].name);
                before = node_entries(&n, id);
                ledger = events(&n);
                for (int k = 0; k < 20; k++) {
                        json_decref(o);
                        n.now += SECOND;
                        cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
                        cr_assert_str_eq(json_str(o, "action"), "none", "%s", rows[i].name);
                        cr_assert_gt(json_array_size(json_object_get(o, "unmet")), 0, "%s: nobody says what is unmet", rows[i].name);
                }
                cr_assert_eq(node_entries(&n, id), before, "%s: memory grows by polling", rows[i].name);
                cr_assert_eq(events(&n), ledger, "%s: the ledger grows by polling", rows[i].name);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(engine_slot_define(t, WHO, NULL, "ready", any, NULL, &n.s.d), 0);
                cr_assert_eq(engine_slot_put(t, WHO, "ready", v, -1, &before, &before, &n.s.d), 0);
                cr_assert_eq(object_input(t, id, WHO, "test", v, &answer, &n.s.d), 0, "%s", n.s.d.text);
                store_fixture_commit(&n.s, t);
                n.now += 3600 * SECOND;
                n.ref = "p2";
                json_decref(o);
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
                unmet = json_dumps(o, 0);
                cr_assert_str_eq(json_str(o, "action"), "reentry", "%s: %s", rows[i].name, unmet);
                last = node_last(&n, id, "reentry");
                data = json_dumps(json_object_get(last, "data"), 0);
                cr_assert(json_object_get(json_object_get(json_object_get(last, "data"), "trigger"), rows[i].evidence), "%s: %s", rows[i].name, data);
                cr_assert(json_object_get(json_object_get(last, "data"), "evidence"), "%s", rows[i].name);
                sound(&n, id, rows[i].name);
        }
}

// O-38: an execution without outcome. What its region left decides: kept effects are a success and never tried again.
Test(cycle, executions_without_outcome_are_settled) {
        enum { NO_REGION, ALIVE, ENDED, RECOVERED, FAILED };
        static const struct {
                const char *name;
                int region;
                bool died;
                const char *kind;    /* of the outcome, NULL: none */
                const char *action;  /* of the cycle */
                uint64_t versions;   /* of the slot, when all is over */
        } rows[] = {
                {"no region yet, and a living performer", NO_REGION, false, NULL, "none", 0},
                {"no region, and a dead performer", NO_REGION, true, "interrupted", "dormancy", 1},
                {"a living region", ALIVE, false, NULL, "none", 0},
                {"a region that recovery has not reached", ALIVE, true, NULL, "none", 0},
                {"the region ended and kept its changes", ENDED, true, "success", "termination", 1},
                {"the same, and nobody says that the performer died", ENDED, false, "success", "termination", 1},
                {"recovery ended the region", RECOVERED, true, "interrupted", "dormancy", 1},
                {"the region failed", FAILED, true, "interrupted", "dormancy", 1},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *again = NULL, *last = NULL, *none = json_object();
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];
                const char *trace;
                Txn *t;

                node_init(&n);
                node_create(&n, RUN, id);
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
                trace = json_str(json_object_get(o, "perform"), "trace");
                if (rows[i].region != NO_REGION) {
                        cr_assert_eq(node_region(&n, id, o, "n"), 0, "%s", n.s.d.text);
                        node_propose(&n, o, "n", 1);
                }
                if (rows[i].region > ALIVE) {
                        t = store_fixture_begin(&n.s, true);
                        if (rows[i].region == RECOVERED)
                                cr_assert_eq(engine_region_recover(t, trace, none, &n.s.d), 0, "%s", n.s.d.text);
                        else
                                node_region_end_in(&n, t, trace, rows[i].region == FAILED);
                        store_fixture_commit(&n.s, t);
                }
                node_restart(&n);
                n.died = rows[i].died;
                cr_assert_eq(node_cycle(&n, id, &again), 0, "%s: %s", rows[i].name, n.s.d.text);
                cr_assert_str_eq(json_str(again, "action"), rows[i].action, "%s: %s", rows[i].name, json_str(again, "reason"));
                if (!rows[i].kind) {
                        cr_assert_str_eq(json_str(again, "reason"), "running", "%s", rows[i].name);
                        continue;
                }
                last = node_last(&n, id, "outcome");
                cr_assert_str_eq(json_str(json_object_get(last, "outcome"), "kind"), rows[i].kind, "%s", rows[i].name);
                cr_assert_str_eq(json_str(last, "trace"), trace, "%s: the outcome is of another execution", rows[i].name);
                cr_assert_eq(json_is_true(json_object_get(json_object_get(last, "data"), "recovered")), strcmp(rows[i].kind, "success") == 0, "%s", rows[i].name);
                if (strcmp(rows[i].kind, "interrupted") == 0) { /* the second try */
                        n.died = false;
                        n.now += 3600 * SECOND;
                        cr_assert_str_eq(node_act(&n, id), "reentry", "%s", rows[i].name);
                        node_execute(&n, id, "n", SUCCESS, NULL);
                        cr_assert_str_eq(node_act(&n, id), "termination", "%s", rows[i].name);
                }
                cr_assert_eq(node_versions(&n, "n"), rows[i].versions, "%s: %" PRIu64 " effects", rows[i].name, node_versions(&n, "n"));
                sound(&n, id, rows[i].name);
        }
}

// O-38, O-43: an outcome counts for its own execution, once; a region whose execution is over changes nothing.
Test(cycle, outcomes_that_come_too_late) {
        enum { TWICE, WRONG, ENDED, INTERRUPTED, ROWS };
        static const char *const names[ROWS] = {"a second outcome", "of another trace", "the object was ended", "another process settled it"};

        for (int row = 0; row < ROWS; row++) {
                _cleanup_json_ json_t *o = NULL, *answer = NULL, *more = NULL;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX], other[REGION_ID_MAX];
                const char *trace;
                uint64_t before;
                Txn *t;

                node_init(&n);
                node_create(&n, RUN, id);
                region_id_new(n.now, other);
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
                trace = json_str(json_object_get(o, "perform"), "trace");
                if (row == TWICE)
                        node_perform(&n, id, o, "n", SUCCESS, NULL);
                if (row == ENDED) {
                        cr_assert_eq(node_region(&n, id, o, "n"), 0, "%s", n.s.d.text);
                        node_propose(&n, o, "n", 1);
                        t = store_fixture_begin(&n.s, true);
                        cr_assert_eq(node_end(&n, t, object_end(t, id, WHO, "requested", &answer, &n.s.d)), 0, "%s", n.s.d.text);
                        t = store_fixture_begin(&n.s, true);
                        node_region_end_in(&n, t, trace, 0);
                        store_fixture_commit(&n.s, t);
                }
                if (row == INTERRUPTED) { /* the performer was thought to be dead before its region began */
                        n.died = true;
                        cr_assert_eq(node_cycle(&n, id, &more), 0, "%s", n.s.d.text);
                        cr_assert_eq(node_region(&n, id, o, "n"), ENGINE_E_CONFLICT, "%s: a region began for an execution that is over", names[row]);
                }
                before = node_entries(&n, id);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(node_end(&n, t, node_outcome_in(&n, t, id, row == WRONG ? other : trace, NULL, SUCCESS, NULL)), ENGINE_E_CONFLICT, "%s", names[row]);
                cr_assert_eq(node_entries(&n, id), before, "%s: an entry was appended", names[row]);
                cr_assert_eq(node_versions(&n, "n"), row == TWICE, "%s", names[row]);
                sound(&n, id, names[row]);
        }
}

// O-14, O-46: an outcome claims no effect that the engine did not keep, and is there even if its result is too large.
Test(cycle, outcomes_are_true_and_fit) {
        _cleanup_free_ char *big = malloc(300000);
        _cleanup_json_ json_t *o = NULL, *last = NULL, *second = NULL, *large = NULL;
        _cleanup_node_ Node n;
        char id[REGION_ID_MAX];
        const char *trace;
        Txn *t;

        node_init(&n);
        node_create(&n, "{\"do\": {\"skill\": \"x\"}, \"with\": {\"pace\": {\"base\": \"1ms\", \"min\": \"10ms\", \"max\": \"10ms\"}}}", id);
        cr_assert_eq(node_cycle(&n, id, &o), 0, "%s", n.s.d.text);
        trace = json_str(json_object_get(o, "perform"), "trace");
        cr_assert_eq(node_region(&n, id, o, "n"), 0, "%s", n.s.d.text);
        node_propose(&n, o, "n", 1);
        t = store_fixture_begin(&n.s, true);
        node_region_end_in(&n, t, trace, 1); /* nothing is kept, whatever the skill said */
        cr_assert_eq(node_end(&n, t, node_outcome_in(&n, t, id, trace, trace, "{\"kind\": \"success\", \"latency_usec\": 1, \"value\": 7}", NULL)), 0, "%s", n.s.d.text);
        last = node_last(&n, id, "outcome");
        cr_assert_str_eq(json_str(json_object_get(last, "outcome"), "kind"), "failure");
        cr_assert_null(json_object_get(json_object_get(last, "outcome"), "value"));
        n.now = clock_real_usec() + 60 * SECOND;
        cr_assert_eq(node_cycle(&n, id, &second), 0, "%s", n.s.d.text);
        snprintf(big, 300000, "{\"kind\": \"success\", \"latency_usec\": 1, \"value\": \"%0290000d\"}", 0);
        node_perform(&n, id, second, "n", big, NULL);
        large = node_last(&n, id, "outcome");
        cr_assert_str_eq(json_str(json_object_get(large, "outcome"), "kind"), "success");
        cr_assert_null(json_object_get(json_object_get(large, "outcome"), "value"));
        cr_assert_eq(node_versions(&n, "n"), 1);
        sound(&n, id, "large");
}

// O-22, O-23, O-44, O-47: what a skill proposes is taken as far as intent and scope allow; an input changes nothing.
Test(cycle, proposals_are_wishes) {
        static const struct {
                const char *name, *may, *next, *action;
        } rows[] = {
                {"narrow", "[\"mutate\"]", "{\"mutate\": {\"how\": \"rescope\", \"intent\": {\"do\": {\"skill\": \"x\", \"args\": [\"b\"]}, \"with\": {\"may\": [\"mutate\"]}}}}", "mutation"},
                {"a mutation that nobody allowed", "[]", "{\"mutate\": {\"how\": \"rescope\", \"intent\": {\"do\": {\"skill\": \"x\", \"args\": [\"b\"]}}}}", "dormancy"},
                {"a skill beyond the scope", "[\"mutate\"]", "{\"mutate\": {\"how\": \"rescope\", \"intent\": {\"do\": {\"skill\": \"other\"}, \"with\": {\"may\": [\"mutate\"]}}}}", "dormancy"},
                {"an end that nobody allowed", "[\"sleep\"]", "{\"end\": \"enough\"}", "dormancy"},
                {"an end", "[\"end\"]", "{\"end\": \"enough\"}", "termination"},
                {"children without depth", "[\"delegate\"]", "{\"delegate\": [{\"do\": {\"skill\": \"x\"}}]}", "dormancy"},
                {"nonsense", "[\"end\", \"mutate\"]", "{\"mutate\": 7}", "dormancy"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *answer = NULL, *input = json_of("{\"terminate\": true, \"confidence\": 1.0}");
                _cleanup_memory_ ObjectMemory before = OBJECT_MEMORY_NULL, after = OBJECT_MEMORY_NULL;
                _cleanup_free_ char *intent = NULL;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];
                Txn *t;

                node_init(&n);
                cr_assert_geq(asprintf(&intent, "{\"do\": {\"skill\": \"x\", \"args\": [\"a\"]}, \"with\": {\"may\": %s}}", rows[i].may), 0);
                cr_assert_eq(node_create_within(&n, intent, "{\"skills\": [\"x\"], \"depth\": 0}", id), 0, "%s: %s", rows[i].name, n.s.d.text);
                node_execute(&n, id, NULL, FAILURE, rows[i].next);
                node_memory(&n, id, &before);
                t = store_fixture_begin(&n.s, true);
                cr_assert_eq(node_end(&n, t, object_input(t, id, WHO, "model", input, &answer, &n.s.d)), 0, "%s", n.s.d.text);
                node_memory(&n, id, &after);
                cr_assert(json_equal(before.intent, after.intent) && before.state == after.state, "%s: an input changed the object", rows[i].name);
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s: %s", rows[i].name, n.s.d.text);
                cr_assert_str_eq(json_str(o, "action"), rows[i].action, "%s: %s", rows[i].name, json_str(o, "reason"));
                sound(&n, id, rows[i].name);
        }
}

// O-11, O-31: a clock that jumps by a year, between any two steps, loses no object and repeats no effect.
Test(cycle, clocks_that_jump_by_a_year) {
        enum { STARTED, ASLEEP, BACKOFF };
        static const struct {
                const char *name;
                int at;      /* where the clock jumps */
                bool back;
                const char *action;
        } rows[] = {
                {"forward in an execution", STARTED, false, "execution"}, /* the backoff is over */
                {"back in an execution", STARTED, true, "dormancy"},
                {"forward in a sleep", ASLEEP, false, "reentry"},
                {"back in a sleep", ASLEEP, true, "reentry"},
                {"forward in a backoff", BACKOFF, false, "reentry"},
                {"back in a backoff", BACKOFF, true, "reentry"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *o = NULL, *first = NULL;
                uint64_t was;
                _cleanup_node_ Node n;
                char id[REGION_ID_MAX];

                node_init(&n);
                was = n.now;
                node_create(&n, rows[i].at == ASLEEP ? "{\"do\": {\"steps\": [{\"wait\": {\"elapsed\": {\"for\": \"1h\"}}}, {\"skill\": \"x\"}]}}" : RUN, id);
                cr_assert_eq(node_cycle(&n, id, &first), 0, "%s", n.s.d.text);
                if (rows[i].at == BACKOFF) {
                        node_perform(&n, id, first, NULL, FAILURE, NULL);
                        cr_assert_str_eq(node_act(&n, id), "dormancy", "%s", rows[i].name);
                }
                n.now = rows[i].back ? was - YEAR : was + YEAR;
                if (rows[i].at == STARTED)
                        node_perform(&n, id, first, "n", FAILURE, NULL);
                cr_assert_eq(node_cycle(&n, id, &o), 0, "%s: %s", rows[i].name, n.s.d.text);
                cr_assert_str_eq(json_str(o, "action"), rows[i].action, "%s: %s", rows[i].name, json_str(o, "reason"));
                n.now = was + 2 * YEAR; /* the right time, in the end */
                if (strcmp(rows[i].action, "execution") == 0)
                        node_perform(&n, id, o, "n", SUCCESS, NULL);
                else {
                        if (strcmp(rows[i].action, "reentry") != 0)
                                cr_assert_str_eq(node_act(&n, id), "reentry", "%s", rows[i].name);
                        node_execute(&n, id, "n", SUCCESS, NULL);
                }
                cr_assert_str_eq(node_act(&n, id), "termination", "%s", rows[i].name);
                cr_assert_eq(node_versions(&n, "n"), 1, "%s", rows[i].name);
                sound(&n, id, rows[i].name);
        }
}

typedef struct Racer {
        Node *n;
        const char *id;
        pthread_barrier_t *together;
        bool began; /* this one got the execution */
        int r;
} Racer;

static void *race(void *arg) {
        _cleanup_json_ json_t *local = NULL, *o = NULL;
        char trace[REGION_ID_MAX];
        Racer *a = arg;
        Txn *t = NULL;
        Diag d;

        local = node_local(a->n);
        region_id_new(clock_real_usec(), trace);
        pthread_barrier_wait(a->together);
        a->r = store_begin(a->n->s.store, true, &t, &d);
        if (a->r == 0)
                a->r = object_cycle(t, a->id, &(ObjectCycle){.local = local, .who = WHO, .trace = trace}, &o, &d);
        if (a->r == 0)
                a->r = store_commit(t, &d);
        else if (t)
                store_abort(t);
        a->began = a->r == 0 && json_object_get(o, "perform");
        return NULL;
}

// O-43, O-53: of many that evaluate one object at once, one begins its execution; the others see that it runs.
Test(cycle, one_of_many_evaluators_begins) {
        enum { RACERS = 8 };
        pthread_barrier_t together;
        _cleanup_node_ Node n;

        node_init(&n);
        pthread_barrier_init(&together, NULL, RACERS);
        for (int round = 0; round < 20; round++) {
                pthread_t thread[RACERS];
                Racer racer[RACERS];
                char id[REGION_ID_MAX];
                int began = 0;

                node_create(&n, RUN, id);
                for (int i = 0; i < RACERS; i++) {
                        racer[i] = (Racer){.n = &n, .id = id, .together = &together};
                        cr_assert_eq(pthread_create(&thread[i], NULL, race, &racer[i]), 0);
                }
                for (int i = 0; i < RACERS; i++) {
                        pthread_join(thread[i], NULL);
                        cr_assert_eq(racer[i].r, 0, "round %d", round);
                        began += racer[i].began;
                }
                cr_assert_eq(began, 1, "round %d: %d evaluators began the execution", round, began);
                cr_assert_eq(node_entries(&n, id), 3, "round %d", round);
                sound(&n, id, "race");
        }
        pthread_barrier_destroy(&together);
}

/* Objects in the store. */
static uint64_t objects(Node *n) {
        Txn *t = store_fixture_begin(&n->s, false);
        char id[REGION_ID_MAX];
        uint64_t k = 0;
        int r = object_row_next(t, NULL, id);

        for (; r == 0; k++)
                r = object_row_next(t, id, id);
        cr_assert_eq(r, -ENOENT);
        store_abort(t);
        return k;
}

// O-19, O-36: a disk that is full in the middle of a cycle leaves all of its entries or none; the object goes on.
Test(cycle, a_full_disk_in_a_cycle) {
        static const struct {
                const char *intent, *kinds[2]; /* before and after the cycle */
                uint64_t more;                 /* objects that it creates */
        } rows[] = {
                {RUN, {"instantiated", "instantiated evaluation started"}, 0},
                {"{\"do\": {\"delegate\": [{\"do\": {\"skill\": \"x\"}}, {\"do\": {\"skill\": \"y\"}}, {\"do\": {\"skill\": \"z\"}}]}}",
                 {"instantiated", "instantiated evaluation delegation"}, 3},
                {"{\"do\": {\"wait\": {\"elapsed\": {\"for\": \"1h\"}}}}", {"instantiated", "instantiated evaluation dormant"}, 0},
        };
        static const int errors[] = {ENOSPC, EIO};
        unsigned points = 0;

        for (size_t i = 0; i < ARRAY_SIZE(rows) * ARRAY_SIZE(errors); i++)
                for (unsigned point = 1;; point++) {
                        const size_t row = i / ARRAY_SIZE(errors);
                        _cleanup_free_ char *kinds = NULL, *name = NULL;
                        _cleanup_json_ json_t *local = NULL, *o = NULL;
                        _cleanup_node_ Node n;
                        char id[REGION_ID_MAX], file[PATH_MAX], trace[REGION_ID_MAX];
                        bool committed, happened;
                        Txn *t = NULL;
                        int r;

                        cr_assert_geq(asprintf(&name, "row %zu, point %u, error %d", row, point, errors[i % ARRAY_SIZE(errors)]), 0);
                        node_init(&n);
                        node_create(&n, rows[row].intent, id);
                        local = node_local(&n);
                        region_id_new(n.now, trace);
                        snprintf(file, sizeof(file), "%.4000s/data.mdb", n.s.dir);
                        lengthen(file);
                        fail_after(file, point, errors[i % ARRAY_SIZE(errors)], point % 2);
                        r = store_begin(n.s.store, true, &t, &n.s.d);
                        cr_assert_eq(r, 0, "%s: %s", name, n.s.d.text);
                        r = object_cycle(t, id, &(ObjectCycle){.local = local, .who = WHO, .trace = trace}, &o, &n.s.d);
                        cr_assert_eq(r, 0, "%s: %s", name, n.s.d.text);
                        committed = store_commit(t, &n.s.d) == 0;
                        happened = fail_happened();
                        fail_after(file, 0, 0, false);
                        cr_assert(committed || happened, "%s: %s", name, n.s.d.text);
                        node_restart(&n);
                        kinds = node_kinds(&n, id);
                        /* an unacknowledged commit may be there: whole, and never half */
                        if (committed || strcmp(kinds, rows[row].kinds[0]) != 0)
                                cr_assert_str_eq(kinds, rows[row].kinds[1], "%s", name);
                        cr_assert_eq(objects(&n), strcmp(kinds, rows[row].kinds[0]) == 0 ? 1 : 1 + rows[row].more, "%s: children without their delegation, or none of them", name);
                        sound(&n, id, name);
                        n.died = true;
                        cr_assert_str_neq(node_act(&n, id), "", "%s: the object does not go on", name);
                        sound(&n, id, name);
                        if (!happened)
                                break;
                        points++;
                }
        cr_assert_geq(points, 12, "only %u failure points were met", points);
}
