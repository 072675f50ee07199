/* Gates: evidence that is read anew at each entry, inside the transaction that begins the region (I-50..I-52). */
#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "record/event.h"
#include "ledger/ledger.h"
#include "tests/support/store-fixture.h"

#include <string.h>

static const char gate_json[] = "[{\"slot\":\"review\",\"schema\":{\"type\":\"object\",\"required\":[\"score\"],\"properties\":{\"score\":{\"type\":\"integer\",\"minimum\":3}}}}]";

static json_t *json(const char *text) {
        json_t *v = json_loads(text, JSON_DECODE_ANY, NULL);

        cr_assert(v, "%s", text);
        return v;
}

static void put(StoreFixture *f, const char *name, const char *text) {
        _cleanup_json_ json_t *v = json(text), *any = json_object();
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq, version;

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, name, any, &seq, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(engine_slot_put(t, "uid:0", name, v, -1, &seq, &version, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

/* Begins a region with these gates; as record.c does, the verdicts of a closed gate are committed. */
static int start(StoreFixture *f, const char *gates_text, char id[static REGION_ID_MAX], json_t **ret_evidence) {
        _cleanup_json_ json_t *gates = json(gates_text), *copies = NULL, *slots = json("{\"own\":{}}");
        static const char *const writes[] = {"review", NULL};
        RegionStart s = {.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .slots = slots, .writes = writes,
                         .gates = gates, .ret_evidence = ret_evidence};
        Txn *t = store_fixture_begin(f, true);
        uint64_t seq;
        int r;

        *ret_evidence = NULL;
        region_id_new(clock_real_usec(), id);
        r = engine_region_start(t, &s, &seq, &copies, &f->d);
        if (r == 0 || r == ENGINE_E_GATE)
                store_fixture_commit(f, t);
        else
                store_abort(t);
        return r;
}

static void finish(StoreFixture *f, const char *id) {
        _cleanup_json_ json_t *none = json_object();
        Txn *t = store_fixture_begin(f, true);
        uint64_t released, ended;

        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, true, none, none}, &released, &ended, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

/* The events of a region of one type, in order. */
static json_t *events(StoreFixture *f, const char *id, const char *type) {
        json_t *all = json_array();
        Txn *t = store_fixture_begin(f, false);
        uint64_t size, last;

        cr_assert_eq(ledger_state(t, &size, &last), 0);
        for (uint64_t seq = 0; seq < size; seq++) {
                json_t *e;

                cr_assert_eq(event_get(t, seq, &e), 0);
                if (strcmp(json_string_value(json_object_get(e, "region")) ?: "", id) == 0 &&
                    (!type || strcmp(json_string_value(json_object_get(e, "type")), type) == 0))
                        json_array_append(all, e);
                json_decref(e);
        }
        store_abort(t);
        return all;
}

static void verdict_is(StoreFixture *f, const char *id, const char *verdict, json_int_t version, const char *reason) {
        _cleanup_json_ json_t *all = events(f, id, "gate.evaluated");
        json_t *e = json_array_get(all, 0);

        cr_assert_eq(json_array_size(all), 1);
        cr_assert_str_eq(json_string_value(json_object_get(e, "slot")), "review");
        cr_assert_str_eq(json_string_value(json_object_get(e, "verdict")), verdict);
        cr_assert_eq(json_integer_value(json_object_get(e, "version")), version);
        cr_assert_str_eq(json_string_value(json_object_get(e, "reason")) ?: "", reason);
}

static void audit_is_clean(StoreFixture *f) {
        AuditReport a;

        cr_assert_eq(audit_run(f->store, &a), 0, "entry %lu: %s; expected %s; found %s", (unsigned long)a.seq, a.what, a.expected, a.found);
}

// I-50: the run waits for the evidence; the verdict has region, slot and version.
Test(gate, closed_and_open) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *evidence = NULL, *left = NULL;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        cr_assert_eq(start(&f, gate_json, id, &evidence), ENGINE_E_GATE);
        cr_assert_null(evidence);
        verdict_is(&f, id, "fail", 0, "no_value");
        left = events(&f, id, NULL);
        cr_assert_eq(json_array_size(left), 2, "the verdict and region.refused, and nothing that the region would have made");

        put(&f, "review", "{\"score\":2}");
        cr_assert_eq(start(&f, gate_json, id, &evidence), ENGINE_E_GATE);
        verdict_is(&f, id, "fail", 1, "schema");
        cr_assert(strstr(f.d.text, "2") == NULL, "the message has nothing of the value: %s", f.d.text);

        put(&f, "review", "{\"score\":7}");
        cr_assert_eq(start(&f, gate_json, id, &evidence), 0, "%s", f.d.text);
        verdict_is(&f, id, "pass", 2, "");
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(json_object_get(evidence, "review"), "value"), "score")), 7);
        finish(&f, id);
        audit_is_clean(&f);
}

// I-52: what an earlier invocation read is nothing to the next one.
Test(gate, read_anew_at_each_entry) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        for (int score = 0; score < 8; score++) {
                _cleanup_json_ json_t *evidence = NULL;
                char text[32];

                snprintf(text, sizeof(text), "{\"score\":%d}", score % 2 ? score : 0);
                put(&f, "review", text);
                cr_assert_eq(start(&f, gate_json, id, &evidence), score % 2 && score >= 3 ? 0 : ENGINE_E_GATE, "score %d", score);
                verdict_is(&f, id, score % 2 && score >= 3 ? "pass" : "fail", score + 1, score % 2 && score >= 3 ? "" : "schema");
                if (!evidence)
                        continue;
                cr_assert_eq(json_integer_value(json_object_get(json_object_get(json_object_get(evidence, "review"), "value"), "score")), score);
                finish(&f, id);
        }
        audit_is_clean(&f);
}

// I-51, I-52: a proposal of a living region is no evidence; only what was committed is, and then it is a version of a slot.
Test(gate, proposals_are_no_evidence) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *evidence = NULL, *value = json("{\"score\":9}"), *read = NULL;
        char writer[REGION_ID_MAX], id[REGION_ID_MAX];
        uint64_t seq, version;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        put(&f, "review", "{\"score\":1}");
        cr_assert_eq(start(&f, "[]", writer, &evidence), 0, "%s", f.d.text);
        json_decref(TAKE_PTR(evidence));
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = writer, .name = "review", .value = value, .expect = -1}, &seq, &version, NULL, &f.d), 0, "%s", f.d.text);
        store_fixture_commit(&f, t);
        cr_assert_eq(start(&f, gate_json, id, &evidence), ENGINE_E_GATE, "held, not written");
        verdict_is(&f, id, "fail", 1, "schema");
        finish(&f, writer);
        cr_assert_eq(start(&f, gate_json, id, &evidence), 0, "%s", f.d.text);
        verdict_is(&f, id, "pass", 2, "");
        /* The lineage of the evidence: the version's own event, by the region that republished it. */
        read = events(&f, writer, "slot.written");
        cr_assert_eq(json_integer_value(json_object_get(json_array_get(read, 0), "version")), 2);
        finish(&f, id);
        audit_is_clean(&f);
}

// I-76: a value that was written longer ago than the gate allows is no evidence, nor one of which the age cannot be told; the verdict has the age.
Test(gate, evidence_has_a_greatest_age) {
        static const struct {
                int64_t later; /* than the value was written, microseconds */
                const char *verdict, *reason;
                uint64_t left;
        } rows[] = {{0, "pass", "", 5000000}, {4999999, "pass", "", 1}, {5000000, "pass", "", 0}, {5000001, "fail", "too_old", 0}, {INT64_C(86400000000), "fail", "too_old", 0}, {-1, "fail", "clock", 0}};
        static const char gates_text[] = "[{\"slot\":\"review\",\"schema\":true,\"max_age_usec\":5000000}]";
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *gates = json(gates_text), *written = NULL;
        uint64_t at;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        put(&f, "review", "1");
        t = store_fixture_begin(&f, false);
        cr_assert_eq(event_get(t, 2, &written), 0);
        store_abort(t);
        cr_assert_str_eq(json_string_value(json_object_get(written, "type")), "slot.written");
        cr_assert_eq(clock_parse(json_string_value(json_object_get(written, "time")), &at), 0);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *evidence = NULL, *all = NULL;
                char id[REGION_ID_MAX];
                uint64_t until = 77, age, before, after;
                int r;

                region_id_new(clock_real_usec(), id);
                t = store_fixture_begin(&f, true);
                before = clock_mono_usec();
                r = engine_region_start(t, &(RegionStart){.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .gates = gates,
                                                          .now_usec = at + (uint64_t)rows[i].later, .ret_evidence = &evidence},
                                        NULL, NULL, &f.d);
                after = clock_mono_usec();
                cr_expect_eq(r, strcmp(rows[i].verdict, "pass") == 0 ? 0 : ENGINE_E_GATE, "row %zu", i);
                store_fixture_commit(&f, t);
                verdict_is(&f, id, rows[i].verdict, 1, rows[i].reason);
                all = events(&f, id, "gate.evaluated");
                if (rows[i].later >= 0)
                        cr_expect(json_get_u64(json_object_get(json_array_get(all, 0), "age_usec"), &age) == 0 && age == (uint64_t)rows[i].later, "row %zu", i);
                cr_expect_eq(evidence != NULL, r == 0, "row %zu", i);
                if (r == 0)
                        cr_expect(json_get_u64(json_object_get(json_object_get(evidence, "review"), "until_usec"), &until) == 0 && until >= before + rows[i].left &&
                                          until <= after + rows[i].left,
                                  "row %zu", i);
                if (r == 0)
                        finish(&f, id);
        }
        audit_is_clean(&f);
}

// I-50: all must hold, all are recorded.
Test(gate, several) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *evidence = NULL, *all = NULL;
        char id[REGION_ID_MAX];

        store_fixture_init(&f, STORE_SUPERVISE);
        put(&f, "a", "1");
        put(&f, "b", "2");
        cr_assert_eq(start(&f, "[{\"slot\":\"a\",\"schema\":true},{\"slot\":\"b\",\"schema\":{\"const\":3}},{\"slot\":\"a\",\"schema\":{\"const\":1}}]", id, &evidence), ENGINE_E_GATE);
        all = events(&f, id, "gate.evaluated");
        cr_assert_eq(json_array_size(all), 3);
        cr_assert(strstr(f.d.text, "gate b"), "%s", f.d.text);
        cr_assert_eq(start(&f, "[{\"slot\":\"A!\",\"schema\":true}]", id, &evidence), ENGINE_E_BAD_NAME);
        cr_assert_eq(start(&f, "[{\"slot\":\"a\",\"schema\":{\"no\":1}}]", id, &evidence), ENGINE_E_BAD_SCHEMA);
        audit_is_clean(&f);
}

// I-11: a slot cannot have the type of a key, wherever in its schema it stands, and a proposal that holds a key is refused whole.
Test(gate, keys_and_slots) {
        static const char *const rows[] = {
                "{\"format\":\"lethe-key\"}", "{\"items\":{\"format\":\"lethe-key\"}}", "{\"$defs\":{\"unused\":{\"format\":\"lethe-key\"}}}",
                "{\"anyOf\":[true,{\"not\":{\"format\":\"lethe-key\"}}]}", "{\"patternProperties\":{\"^k\":{\"type\":\"string\",\"format\":\"lethe-key\"}}}",
        };
        static const uint8_t key[KEY_BYTES] = "0123456789abcdef", *const keys[] = {key};
        static const KeySet set = {keys, 1};
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *evidence = NULL, *value = json_pack("[s]", "x30313233343536373839616263646566"), *plain = json_pack("[s]", "x"), *refused = NULL;
        char id[REGION_ID_MAX];
        uint64_t seq, version;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *schema = json(rows[i]);

                t = store_fixture_begin(&f, true);
                cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "k", schema, &seq, &f.d), ENGINE_E_BAD_SCHEMA, "%s", rows[i]);
                cr_assert(strstr(f.d.text, "lethe-key"), "%s", f.d.text);
                store_abort(t);
        }
        put(&f, "review", "[]");
        cr_assert_eq(start(&f, "[]", id, &evidence), 0);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = id, .name = "review", .value = value, .expect = -1, .keys = &set}, &seq, &version, NULL, &f.d), ENGINE_E_KEY_ESCAPE);
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = id, .name = "a30313233343536373839616263646566", .value = plain, .expect = -1, .keys = &set}, &seq, &version, NULL, &f.d), ENGINE_E_KEY_ESCAPE, "as a name");
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = id, .name = "review", .value = plain, .expect = -1, .keys = &set}, &seq, &version, NULL, &f.d), 0);
        cr_assert_eq(version, 2, "what was refused is no version");
        store_fixture_commit(&f, t);
        refused = events(&f, id, NULL);
        {
                _cleanup_free_ char *text = json_dumps(refused, 0);

                cr_assert(strstr(text, "key_escape") && !strstr(text, "30313233"), "the ledger cannot forget: %s", text);
        }
        finish(&f, id);
        audit_is_clean(&f);
}
