#include "tests/state/engine/gather-fixture.h"

// I-55, I-56: what is gathered is seen by nobody until it is enough; then one of it is the slot's value.
Test(gather, the_last_region_brings_the_verdict) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *e = NULL;
        char ids[3][REGION_ID_MAX];
        uint64_t version;
        unsigned n;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:2/3");
        for (int i = 0; i < 3; i++)
                gather_begin(&f, &(Begin){0}, ids[i]);
        cr_assert_eq(gather_propose(&f, ids[0], "a", "blue", -1, -1), 0, "%s", f.d.text);
        cr_assert_eq(gather_propose(&f, ids[1], "a", "red", 0, -1), 0, "not reserved: %s", f.d.text);
        cr_assert_eq(gather_propose(&f, ids[2], "a", "red", -1, -1), 0, "%s", f.d.text);
        gather_audit(&f);
        cr_assert_eq(gather_count(&f, "a"), 0, "of regions that live nothing counts");
        gather_end(&f, ids[1], true);
        cr_assert_eq(gather_count(&f, "a"), 1);
        gather_end(&f, ids[0], true);
        gather_audit(&f);
        cr_assert_str_eq(gather_value(&f, "a", &version), "");
        gather_end(&f, ids[2], true);
        cr_assert_str_eq(gather_value(&f, "a", &version), "red");
        cr_assert_eq(version, 1);
        cr_assert_eq(gather_count(&f, "a"), 0);
        e = gather_event(&f, "slot.arbitrated", &n);
        cr_assert_eq(n, 1);
        cr_assert_eq(json_array_size(json_object_get(e, "proposals")), 3);
        cr_assert_str_eq(json_string_value(json_object_get(e, "reason")), "won");
        json_decref(e);
        e = gather_event(&f, "slot.written", &n);
        cr_assert_eq(n, 1);
        cr_assert_str_eq(json_string_value(json_object_get(e, "from")), ids[1], "the first of those that have the value");
        cr_assert(!json_object_get(e, "region"), "its region is over");
        gather_audit(&f);
}

// I-56: a verdict may be that there is none; then the next round begins.
Test(gather, nobody_may_win) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *e = NULL;
        char id[REGION_ID_MAX];
        uint64_t version;
        unsigned n;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "confidence:0.6/2");
        gather_one(&f, NULL, "a", "x", 0.5, id);
        gather_one(&f, NULL, "a", "y", 0.59, id);
        cr_assert_str_eq(gather_value(&f, "a", &version), "");
        e = gather_event(&f, "slot.arbitrated", &n);
        cr_assert(n == 1 && json_is_null(json_object_get(e, "winner")));
        cr_assert_str_eq(json_string_value(json_object_get(e, "reason")), "all_below_floor");
        gather_audit(&f);
        gather_one(&f, NULL, "a", "z", 0.61, id);
        gather_one(&f, NULL, "a", "y", 0.2, id);
        cr_assert_str_eq(gather_value(&f, "a", &version), "z");
        cr_assert_eq(version, 1);
        gather_audit(&f);
}

// I-24, I-56: only what regions proposed that ended well is looked at.
Test(gather, a_breach_does_not_count) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], other[REGION_ID_MAX];
        uint64_t version;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/2");
        gather_begin(&f, &(Begin){0}, id);
        cr_assert_eq(gather_propose(&f, id, "a", "broke", -1, -1), 0);
        gather_end(&f, id, false);
        cr_assert_eq(gather_count(&f, "a"), 0);
        gather_one(&f, NULL, "a", "one", -1, id);
        gather_one(&f, NULL, "a", "two", -1, other);
        cr_assert_str_eq(gather_value(&f, "a", &version), "one");
        cr_assert_eq(gather_events(&f, "slot.discarded"), 1);
        gather_audit(&f);
}

// I-55: a region has one voice. What it proposed last counts, however often it proposes.
Test(gather, who_proposes_twice_counts_once) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *e = NULL;
        char id[REGION_ID_MAX];
        uint64_t version;
        unsigned n;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:2/3");
        gather_define(&f, "plain", NULL);
        gather_begin(&f, &(Begin){0}, id);
        for (int i = 0; i < 3; i++) {
                cr_assert_eq(gather_propose(&f, id, "a", i < 2 ? "mine" : "last", 0, -1), 0, "%s", f.d.text);
                cr_assert_eq(gather_propose(&f, id, "plain", "p", i, -1), 0, "%s", f.d.text);
        }
        gather_end(&f, id, true);
        cr_assert_eq(gather_count(&f, "a"), 1);
        e = gather_event(&f, "slot.discarded", &n);
        cr_assert_eq(n, 2);
        cr_assert_str_eq(json_string_value(json_object_get(e, "reason")), "superseded");
        gather_audit(&f);
        cr_assert_eq(gather_decided(&f, "a", NULL), 0);
        cr_assert_str_eq(gather_value(&f, "a", &version), "", "one vote of three is none");
        cr_assert_str_eq(gather_value(&f, "plain", &version), "p");
        cr_assert_eq(version, 3);
        gather_audit(&f);
}

// I-55: regions that share another's key share its sections. They are not disjoint, and have one voice among them.
Test(gather, regions_of_one_tree_have_one_voice) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *e = NULL;
        char top[REGION_ID_MAX], middle[REGION_ID_MAX], ids[3][REGION_ID_MAX];
        unsigned n;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:2/4");
        gather_define(&f, "b", "quorum:2/4");
        gather_begin(&f, &(Begin){.key_scope = "invocation-tree"}, top);
        gather_begin(&f, &(Begin){.parent = top, .key_scope = "invocation"}, middle);
        for (int i = 0; i < 3; i++) {
                gather_begin(&f, &(Begin){.parent = i ? middle : top}, ids[i]);
                cr_assert_eq(gather_propose(&f, ids[i], "a", "ours", -1, -1), 0);
                gather_end(&f, ids[i], true);
                cr_assert_eq(gather_count(&f, "a"), 1, "%d", i);
        }
        e = gather_event(&f, "slot.discarded", &n);
        cr_assert_eq(n, 2);
        cr_assert_str_eq(json_string_value(json_object_get(e, "reason")), "not_disjoint");
        gather_end(&f, middle, true);
        cr_assert_eq(gather_propose(&f, top, "a", "ours", -1, -1), 0);
        gather_end(&f, top, true);
        cr_assert_eq(gather_count(&f, "a"), 1, "it is in the tree as well");
        gather_audit(&f);
        /* Below one that keeps its key to itself they are disjoint. */
        gather_begin(&f, &(Begin){.key_scope = "invocation"}, top);
        for (int i = 0; i < 2; i++) {
                gather_begin(&f, &(Begin){.parent = top, .key_scope = "invocation-tree"}, ids[i]);
                cr_assert_eq(gather_propose(&f, ids[i], "b", "ours", -1, -1), 0);
                gather_end(&f, ids[i], true);
                cr_assert_eq(gather_count(&f, "b"), i + 1);
        }
        gather_end(&f, top, true);
        gather_audit(&f);
}

// I-55: what a skill's release callback proposes is of the same invocation, and no second voice.
Test(gather, a_callback_has_no_voice_of_its_own) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], below[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "quorum:2/3");
        gather_begin(&f, &(Begin){.key_scope = "invocation"}, id);
        cr_assert_eq(gather_propose(&f, id, "a", "ours", -1, -1), 0);
        for (int i = 0; i < 2; i++) {
                gather_begin(&f, &(Begin){.parent = id, .callback = i ? "b" : "a"}, below);
                cr_assert_eq(gather_propose(&f, below, "a", "ours", -1, -1), 0);
                gather_end(&f, below, true);
        }
        gather_end(&f, id, true);
        cr_assert_eq(gather_count(&f, "a"), 1);
        cr_assert_eq(gather_events(&f, "slot.discarded"), 2);
        gather_audit(&f);
}

// I-56: the operator may have the verdict earlier, and may write over it; who expected what was there then is out.
Test(gather, the_operator_decides) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *v = json_string("put"), *verdict = NULL;
        char id[REGION_ID_MAX];
        uint64_t version, seq;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "priority:good,better/5");
        gather_define(&f, "plain", NULL);
        cr_assert_eq(gather_decided(&f, "a", NULL), ENGINE_E_NO_VALUE);
        cr_assert_eq(gather_decided(&f, "plain", NULL), ENGINE_E_RULE);
        cr_assert_eq(gather_decided(&f, "none", NULL), ENGINE_E_UNDEFINED);
        cr_assert_eq(gather_decided(&f, "No", NULL), ENGINE_E_BAD_NAME);
        cr_assert_eq(gather_events(&f, "slot.refused"), 4);
        gather_one(&f, "worse", "a", "1", -1, id);
        gather_begin(&f, &(Begin){.skill = "good"}, id);
        cr_assert_eq(gather_propose(&f, id, "a", "2", 0, -1), 0);
        gather_end(&f, id, true);
        gather_one(&f, "better", "a", "3", -1, id);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_put(t, "uid:0", "a", v, -1, &seq, &version, &f.d), 0, "%s", f.d.text);
        store_fixture_commit(&f, t);
        cr_assert_eq(gather_decided(&f, "a", &verdict), 0, "%s", f.d.text);
        cr_assert_str_eq(gather_value(&f, "a", &version), "3");
        cr_assert_eq(version, 2);
        cr_assert_str_eq(json_string_value(json_object_get(json_array_get(json_object_get(verdict, "proposals"), 1), "verdict")), "stale");
        gather_audit(&f);
        cr_assert_eq(gather_decided(&f, "a", NULL), ENGINE_E_NO_VALUE);
}

// I-56: what a rule does not allow is refused at once, with a code of its own, and recorded.
Test(gather, writes_that_the_rule_refuses) {
        static const struct {
                const char *slot;
                int64_t expect;
                double confidence;
                EngineCode code;
        } rows[] = {
                {"plain", -1, 0.5, ENGINE_E_RULE},
                {"a", -1, 0.5, ENGINE_E_RULE},
                {"b", -1, -1, ENGINE_E_RULE},
                {"b", -1, 1.0000001, ENGINE_E_RULE},
                {"b", -1, 1e300, ENGINE_E_RULE},
                {"b", -1, __builtin_nan(""), ENGINE_E_RULE},
                {"b", -1, __builtin_inf(), ENGINE_E_RULE},
                {"b", 3, 0.5, ENGINE_E_CONFLICT},
                {"cas", -1, -1, ENGINE_E_RULE},
                {"cas", 1, -1, ENGINE_E_CONFLICT},
                {"secret", -1, 0.5, ENGINE_E_NOT_GRANTED},
        };
        static const char *const writes[] = {"a", "b", "plain", "cas", NULL};
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/1");
        gather_define(&f, "b", "confidence:0/1");
        gather_define(&f, "cas", "cas/1");
        gather_define(&f, "plain", NULL);
        gather_define(&f, "secret", "confidence:0/1");
        gather_begin(&f, &(Begin){.writes = writes}, id);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_expect_eq(gather_propose(&f, id, rows[i].slot, "x", rows[i].expect, rows[i].confidence), rows[i].code, "row %zu: %s", i, f.d.text);
                cr_expect_eq(gather_events(&f, "slot.refused"), i + 1);
        }
        cr_assert_eq(gather_events(&f, "slot.proposed"), 0);
        cr_assert_eq(gather_propose(&f, id, "b", "x", -1, 0), 0, "%s", f.d.text);
        cr_assert_eq(gather_propose(&f, id, "cas", "x", 0, -1), 0, "%s", f.d.text);
        gather_end(&f, id, true);
        cr_assert_eq(gather_events(&f, "slot.arbitrated"), 2);
        gather_audit(&f);
}

// I-60: the set outlives the supervisor, and the recovery of the last region brings the verdict.
Test(gather, a_dead_supervisor_loses_nothing) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *evidence = json_pack("{s:s}", "discipline", "none"), *fault = json_pack("{s:s}", "resource", "memory");
        char done[REGION_ID_MAX], ids[3][REGION_ID_MAX];
        uint64_t version;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "confidence:0.1/3");
        gather_one(&f, NULL, "a", "done", 0.5, done);
        for (int i = 0; i < 3; i++) {
                gather_begin(&f, &(Begin){0}, ids[i]);
                cr_assert_eq(gather_propose(&f, ids[i], "a", i == 2 ? "best" : i ? "broke" : "good", -1, i == 2 ? 0.9 : i ? 1 : 0.6), 0);
        }
        Txn *t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_event(t, ids[1], "region.faulted", fault, NULL), 0);
        store_fixture_commit(&f, t);
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        cr_assert_eq(gather_count(&f, "a"), 1);
        for (int i = 0; i < 3; i++) {
                cr_assert_str_eq(gather_value(&f, "a", &version), "", "%d", i);
                t = store_fixture_begin(&f, true);
                cr_assert_eq(engine_region_recover(t, ids[i], evidence, &f.d), 0, "%s", f.d.text);
                store_fixture_commit(&f, t);
        }
        cr_assert_str_eq(gather_value(&f, "a", &version), "best");
        gather_audit(&f);
}

// I-60, I-55: also when the region above was recovered first.
Test(gather, recovery_does_not_need_the_region_above) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *evidence = json_object();
        char top[REGION_ID_MAX], below[REGION_ID_MAX];
        const char *order[] = {top, below};

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/3");
        gather_begin(&f, &(Begin){.key_scope = "invocation-tree"}, top);
        gather_begin(&f, &(Begin){.parent = top}, below);
        cr_assert_eq(gather_propose(&f, top, "a", "1", -1, -1), 0);
        cr_assert_eq(gather_propose(&f, below, "a", "2", -1, -1), 0);
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        for (size_t i = 0; i < ARRAY_SIZE(order); i++) {
                Txn *t = store_fixture_begin(&f, true);

                cr_assert_eq(engine_region_recover(t, order[i], evidence, &f.d), 0, "%s", f.d.text);
                store_fixture_commit(&f, t);
        }
        cr_assert_eq(gather_count(&f, "a"), 1);
        cr_assert_eq(gather_events(&f, "slot.discarded"), 1);
}

/* Bounded: never more than the rule's number, and never more than ARBITRATION_PROPOSALS_MAX. */
Test(gather, a_round_is_bounded) { // I-56
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];
        uint64_t version;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/64");
        for (int i = 1; i <= 130; i++) {
                char value[10];

                snprintf(value, sizeof(value), "%d", i);
                gather_one(&f, "a-skill-of-a-long-name-0123456789-0123456789-0123456789-01234567", "a", value, -1, id);
                cr_assert_eq(gather_count(&f, "a"), i % 64);
        }
        cr_assert_str_eq(gather_value(&f, "a", &version), "65");
        cr_assert_eq(version, 2);
        gather_audit(&f);
}

// I-56: a slot has one rule, which its definition says; the same again is no change, and a manifest's definition has no word in it.
Test(gather, a_rule_does_not_change) {
        static const struct {
                const char *rule;
                EngineCode code;
        } rows[] = {{"first/2", ENGINE_OK}, {"first/3", ENGINE_E_EXISTS}, {"cas/2", ENGINE_E_EXISTS}, {NULL, ENGINE_E_EXISTS}, {"bad", ENGINE_E_RULE}};
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *schema = json_object(), *e = NULL, *bad = json_pack("{s:s}", "rule", "first");
        uint64_t seq, first;
        unsigned n;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/2");
        gather_define(&f, "plain", NULL);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *json = NULL;
                Txn *t = store_fixture_begin(&f, true);
                ArbitrationRule rule;

                if (rows[i].rule && rows[i].code != ENGINE_E_RULE) {
                        cr_assert_eq(arbitration_rule_parse_text(rows[i].rule, &rule, NULL), 0);
                        json = arbitration_rule_json(&rule);
                } else if (rows[i].rule)
                        json = json_incref(bad);
                cr_expect_eq(engine_slot_define_ruled(t, "uid:0", "a", schema, json, &seq, &f.d), rows[i].code, "row %zu: %s", i, f.d.text);
                if (i == 0)
                        cr_expect_eq(engine_slot_define_ruled(t, "uid:0", "plain", schema, json, &seq, &f.d), ENGINE_E_EXISTS);
                cr_expect_eq(engine_slot_define(t, NULL, NULL, "a", schema, &first, &f.d), 0);
                store_abort(t);
        }
        e = gather_event(&f, "slot.defined", &n);
        cr_assert_eq(n, 2);
}

// I-71: of what a region proposed for one slot the last counts, and what came before it is in no file of the store.
Test(gather, what_its_region_replaced_is_gone) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/2");
        gather_begin(&f, &(Begin){0}, id);
        cr_assert_eq(gather_propose(&f, id, "a", "canary-51c7-first", -1, -1), 0);
        cr_assert_eq(gather_propose(&f, id, "a", "canary-51c7-last", -1, -1), 0);
        cr_assert(store_fixture_has(&f, "canary-51c7-first"), "what is held is there");
        gather_end(&f, id, true);
        store_fixture_compact(&f);
        cr_expect(!store_fixture_has(&f, "canary-51c7-first") && store_fixture_has(&f, "canary-51c7-last"));
        gather_audit(&f);
}

// I-71: a value that a verdict did not take is in no file of the store after it and a compaction; the verdict can still be checked.
Test(gather, what_was_not_taken_is_gone) {
        static const struct {
                const char *rule, *kept, *lost[2]; /* lost: confidences 0.9 of the first two, 0.2 of the last */
        } rows[] = {
                {"quorum:2/3", "canary-51c7-won", {"canary-51c7-outvoted", "canary-51c7-won"}},
                {"quorum:2/3", NULL, {"canary-51c7-one", "canary-51c7-two"}},
                {"confidence:0.5/3", "canary-51c7-sure", {"canary-51c7-unsure", "canary-51c7-sure"}},
                {"first/3", "canary-51c7-first", {"canary-51c7-second", "canary-51c7-third"}},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                const char *values[] = {rows[i].kept ? rows[i].kept : "canary-51c7-three", rows[i].lost[1], rows[i].lost[0]};
                bool sure = strncmp(rows[i].rule, "confidence", 10) == 0;
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX];
                uint64_t version;

                store_fixture_init(&f, STORE_SUPERVISE);
                gather_define(&f, "a", rows[i].rule);
                for (size_t k = 0; k < ARRAY_SIZE(values); k++) {
                        gather_one(&f, NULL, "a", values[k], sure ? k < 2 ? 0.9 : 0.2 : -1, id);
                        cr_assert(store_fixture_has(&f, values[k]), "%zu: what is gathered is there", i);
                        gather_audit(&f);
                }
                cr_expect_str_eq(gather_value(&f, "a", &version), rows[i].kept ? rows[i].kept : "", "%zu", i);
                store_fixture_compact(&f);
                gather_audit(&f);
                for (size_t k = 0; k < ARRAY_SIZE(values); k++)
                        cr_expect_eq(store_fixture_has(&f, values[k]), rows[i].kept && strcmp(values[k], rows[i].kept) == 0, "%zu: %s", i, values[k]);
                gather_one(&f, NULL, "a", "next", sure ? 0.8 : -1, id); /* the next round begins */
                cr_expect_eq(gather_count(&f, "a"), 1);
                gather_audit(&f);
        }
}
