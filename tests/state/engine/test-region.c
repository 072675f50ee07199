#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "base/io.h"
#include "belief/slot-view.h"
#include "engine/engine.h"
#include "record/event.h"
#include "ledger/ledger.h"
#include "schema/limits.h"
#include "tests/support/store-fixture.h"

#include <fcntl.h>
#include <string.h>

typedef struct Fixture {
        StoreFixture s;
        char id[REGION_ID_MAX];
        json_t *copies;
} Fixture;

static const char *const names[] = {"n", "list", NULL};

static int start(Fixture *f, char id[REGION_ID_MAX], uint64_t max_regions) {
        _cleanup_json_ json_t *slots = json_pack("{s:{s:s}, s:{s:s}}", "n", "type", "integer", "list", "type", "array");
        RegionStart s = {.region = id,
                         .skill_name = "s",
                         .skill_digest = "sha256:0",
                         .tier = "namespaces",
                         .slots = slots,
                         .reads = names,
                         .writes = names,
                         .supervisor_pid = 1,
                         .max_regions = max_regions};
        Txn *t = store_fixture_begin(&f->s, true);
        uint64_t seq;
        int r;

        region_id_new(clock_real_usec(), id);
        json_decref(f->copies);
        f->copies = NULL;
        r = engine_region_start(t, &s, &seq, &f->copies, &f->s.d);
        if (r == 0)
                store_fixture_commit(&f->s, t);
        else
                store_abort(t);
        return r;
}

static void fixture_init(Fixture *f) {
        *f = (Fixture){0};
        store_fixture_init(&f->s, STORE_SUPERVISE);
        cr_assert_eq(start(f, f->id, 0), 0, "%s", f->s.d.text);
}

static void fixture_deinit(Fixture *f) {
        json_decref(f->copies);
        store_fixture_deinit(&f->s);
}
#define _cleanup_fixture_ _cleanup_(fixture_deinit)

static int propose(Fixture *f, const char *id, const char *name, json_t *value, int64_t expect, uint64_t *ret_version) {
        Txn *t = store_fixture_begin(&f->s, true);
        uint64_t seq;
        int r = engine_slot_propose(t, &(SlotProposal){.region = id, .name = name, .value = value, .expect = expect}, &seq, ret_version, NULL, &f->s.d);

        json_decref(value);
        store_fixture_commit(&f->s, t);
        return r;
}

static int put(Fixture *f, const char *name, json_t *value, int64_t expect, uint64_t *ret_version) {
        Txn *t = store_fixture_begin(&f->s, true);
        uint64_t seq;
        int r = engine_slot_put(t, "uid:0", name, value, expect, &seq, ret_version, &f->s.d);

        json_decref(value);
        store_fixture_commit(&f->s, t);
        return r;
}

static void end(Fixture *f, const char *id, bool keep) {
        _cleanup_json_ json_t *none = json_object(),
                              *ended = json_pack("{s:s}", "outcome", keep ? "exited" : "out_of_region");
        uint64_t released, at;
        Txn *t = store_fixture_begin(&f->s, true);

        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, keep, none, ended}, &released, &at, &f->s.d), 0);
        cr_assert_lt(released, at); // I-15
        store_fixture_commit(&f->s, t);
}

static json_int_t value_of(Fixture *f, const char *name, uint64_t *ret_version) {
        _cleanup_json_ json_t *o = NULL;
        Txn *t = store_fixture_begin(&f->s, false);
        int r = belief_slot_get(t, name, 0, &o, &f->s.d);

        store_abort(t);
        if (r == ENGINE_E_NO_VALUE) {
                *ret_version = 0;
                return -1;
        }
        cr_assert_eq(r, 0, "%s", f->s.d.text);
        json_get_u64(json_object_get(o, "version"), ret_version);
        return json_integer_value(json_object_get(o, "value"));
}

static void audit(Fixture *f) {
        AuditReport a;

        cr_assert_eq(audit_run(f->s.store, &a), 0, "entry %lu: %s; expected %s; found %s", (unsigned long)a.seq, a.what,
                     a.expected, a.found);
}

static unsigned count(Fixture *f, const char *region, const char *type) {
        _cleanup_walk_ LedgerWalk w = {0};
        Txn *t = store_fixture_begin(&f->s, false);
        unsigned n = 0;
        uint64_t seq;
        Bytes e;

        cr_assert_eq(ledger_walk(t, 0, &w), 0);
        while (ledger_next(&w, &seq, &e) == 0) {
                _cleanup_json_ json_t *o = NULL;

                cr_assert_eq(event_get(t, seq, &o), 0);
                n += strcmp(json_string_value(json_object_get(o, "type")), type) == 0 &&
                     (!region || (json_object_get(o, "region") &&
                                  strcmp(json_string_value(json_object_get(o, "region")), region) == 0));
        }
        ledger_walk_deinit(&w);
        store_abort(t);
        return n;
}

// Held until the end: others see nothing before it, all of it after (I-18).
Test(region, proposals_hold_after_the_end) {
        _cleanup_fixture_ Fixture f;
        uint64_t version;

        fixture_init(&f);
        cr_assert(json_is_null(json_object_get(f.copies, "n")));
        cr_assert_eq(propose(&f, f.id, "n", json_integer(7), 0, &version), 0, "%s", f.s.d.text);
        cr_assert_eq(version, 1);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(8), 1, &version), 0, "%s", f.s.d.text);
        cr_assert_eq(version, 2);
        audit(&f);
        cr_assert_eq(value_of(&f, "n", &version), -1);
        end(&f, f.id, true);
        cr_assert_eq(value_of(&f, "n", &version), 8);
        cr_assert_eq(version, 2);
        cr_assert_eq(count(&f, f.id, "slot.written"), 2);
        audit(&f);
}

// I-71: a value that was proposed and not kept is in no file of the store after the end and a compaction; its hash is in the ledger.
Test(region, what_a_breach_discarded_is_gone) {
        static const char canary[] = "canary-51c7-discarded", kept[] = "canary-51c7-kept";
        _cleanup_fixture_ Fixture f;
        uint64_t version;
        RegionId again;

        fixture_init(&f);
        cr_assert_eq(propose(&f, f.id, "list", json_pack("[s]", canary), -1, &version), 0, "%s", f.s.d.text);
        cr_assert(store_fixture_has(&f.s, canary), "a proposal that is held is there");
        end(&f, f.id, false);
        audit(&f);
        cr_assert_eq(start(&f, again, 0), 0, "%s", f.s.d.text);
        cr_assert_eq(propose(&f, again, "list", json_pack("[s]", kept), -1, &version), 0, "%s", f.s.d.text);
        end(&f, again, true);
        audit(&f);
        store_fixture_compact(&f.s);
        cr_expect(!store_fixture_has(&f.s, canary), "what was discarded is still in the store");
        cr_expect(store_fixture_has(&f.s, kept), "what was kept is in the store");
        audit(&f);
}

// I-24: of an invocation that broke a budget nothing is committed, and the slot is free again.
Test(region, a_breach_discards_all) {
        _cleanup_fixture_ Fixture f;
        uint64_t version;

        fixture_init(&f);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(1), -1, &version), 0);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(2), -1, &version), 0);
        end(&f, f.id, false);
        cr_assert_eq(value_of(&f, "n", &version), -1);
        cr_assert_eq(count(&f, f.id, "slot.discarded"), 2);
        cr_assert_eq(count(&f, f.id, "slot.written"), 0);
        audit(&f);
        cr_assert_eq(put(&f, "n", json_integer(3), 0, &version), 0, "%s", f.s.d.text);
        cr_assert_eq(version, 1);
        audit(&f);
}

Test(region, a_held_slot_is_reserved) {
        _cleanup_fixture_ Fixture f;
        char other[REGION_ID_MAX];
        uint64_t version;

        fixture_init(&f);
        cr_assert_eq(start(&f, other, 0), 0);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(1), -1, &version), 0);
        cr_assert_eq(propose(&f, other, "n", json_integer(2), -1, &version), ENGINE_E_CONFLICT);
        cr_assert(strstr(f.s.d.text, f.id), "%s", f.s.d.text);
        cr_assert_eq(put(&f, "n", json_integer(3), -1, &version), ENGINE_E_CONFLICT);
        cr_assert_eq(propose(&f, other, "list", json_array(), -1, &version), 0);
        end(&f, other, true);
        end(&f, f.id, true);
        cr_assert_eq(value_of(&f, "n", &version), 1);
        cr_assert_eq(count(&f, other, "slot.refused"), 1);
        cr_assert_eq(count(&f, NULL, "slot.refused"), 2);
        audit(&f);
}

// I-2: the skill is told what is wrong with its value, the ledger which rule of the schema it broke.
Test(region, a_refused_value_is_not_in_the_ledger) {
        static const struct {
                const char *schema, *value, *rule;
        } rows[] = {
                {"{\"maximum\":5}", "7777777", "(schema #, keyword \"maximum\")"},
                {"{\"properties\":{\"a\":{\"minimum\":0}}}", "{\"a\":-7777777}", "(schema #/properties/a, keyword \"minimum\")"},
                {"{\"additionalProperties\":false}", "{\"canary-7777777\":1}", "keyword \"additionalProperties\")"},
                {"{\"additionalProperties\":false}", "{\" (schema 7777777\":1}", "keyword \"additionalProperties\")"},
                {"{\"propertyNames\":{\"maxLength\":1}}", "{\"7777777\":1}", "(schema #/propertyNames, keyword \"maxLength\")"},
        };
        _cleanup_fixture_ Fixture f;

        fixture_init(&f);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_json_ json_t *schema = json_loads(rows[i].schema, 0, NULL);
                Txn *t = store_fixture_begin(&f.s, true);
                _cleanup_walk_ LedgerWalk w = {0};
                char name[8], *text;
                uint64_t seq, version, size;
                Bytes e;

                snprintf(name, sizeof(name), "s%zu", i);
                cr_assert_eq(engine_slot_define(t, "uid:0", NULL, name, schema, &seq, &f.s.d), 0);
                store_fixture_commit(&f.s, t);
                cr_assert_eq(put(&f, name, json_loads(rows[i].value, JSON_DECODE_ANY, NULL), -1, &version), ENGINE_E_SCHEMA);
                cr_expect(strstr(f.s.d.text, "7777777"), "row %zu: %s", i, f.s.d.text);
                t = store_fixture_begin(&f.s, false);
                cr_assert_eq(ledger_state(t, &size, NULL), 0);
                cr_assert_eq(ledger_walk(t, size - 1, &w), 0);
                cr_assert_eq(ledger_next(&w, &seq, &e), 0);
                cr_expect(!memmem(e.p, e.n, "7777777", 7), "row %zu: %.*s", i, (int)e.n, (const char *)e.p);
                _cleanup_json_ json_t *o = json_loadb(e.p, e.n, 0, NULL);
                text = (char *)json_string_value(json_object_get(o, "message"));
                cr_expect(text && strstr(text, "the value does not fit (schema #") && strstr(text, rows[i].rule), "row %zu: %s", i, text);
                store_abort(t);
        }
}

// Each refusal has its code, is recorded, and changes nothing.
Test(region, refusals) {
        static const struct {
                const char *name, *value;
                int64_t expect;
                EngineCode code;
        } rows[] = {
                {"No", "1", -1, ENGINE_E_BAD_NAME},
                {"", "1", -1, ENGINE_E_BAD_NAME},
                {"n\x1b[2J", "1", -1, ENGINE_E_BAD_NAME},
                {"secret", "1", -1, ENGINE_E_NOT_GRANTED},
                {"n", "\"x\"", -1, ENGINE_E_SCHEMA},
                {"n", "1.5", -1, ENGINE_E_SCHEMA},
                {"n", "9007199254740993", -1, ENGINE_E_SCHEMA},
                {"n", "1", 4, ENGINE_E_CONFLICT},
                {"list", "{}", 0, ENGINE_E_SCHEMA},
        };
        _cleanup_fixture_ Fixture f;
        uint64_t version;
        json_t *big;

        fixture_init(&f);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                json_t *v = NULL;

                cr_assert_eq(json_parse(rows[i].value, strlen(rows[i].value), 100, 4, &v, NULL), 0);
                cr_assert_eq(propose(&f, f.id, rows[i].name, v, rows[i].expect, &version), rows[i].code, "row %zu: %s",
                             i, f.s.d.text);
                cr_assert_eq(count(&f, f.id, "slot.refused"), i + 1);
        }
        big = json_array();
        for (int i = 0; i < SLOT_VALUE_MAX / 8; i++)
                json_array_append_new(big, json_integer(1234567));
        cr_assert_eq(propose(&f, f.id, "list", big, -1, &version), ENGINE_E_TOO_LARGE);
        cr_assert_eq(propose(&f, "01kfabcdefghjkmnpqrstvwxyz", "n", json_integer(1), -1, &version), ENGINE_E_NO_REGION);
        cr_assert_eq(put(&f, "nowhere", json_integer(1), -1, &version), ENGINE_E_UNDEFINED);
        end(&f, f.id, true);
        cr_assert_eq(value_of(&f, "n", &version), -1);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(1), -1, &version), ENGINE_E_NO_REGION);
        audit(&f);
}

// I-20: the copy at entry is the version that the event says, whatever comes later.
Test(region, slots_are_copied_at_entry) {
        _cleanup_fixture_ Fixture f;
        char other[REGION_ID_MAX];
        uint64_t version;

        fixture_init(&f);
        end(&f, f.id, true);
        cr_assert_eq(put(&f, "n", json_integer(5), -1, &version), 0);
        cr_assert_eq(start(&f, other, 0), 0);
        cr_assert_eq(put(&f, "n", json_integer(6), -1, &version), 0);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(f.copies, "n"), "value")), 5);
        cr_assert_eq(json_integer_value(json_object_get(json_object_get(f.copies, "n"), "version")), 1);
        cr_assert_eq(count(&f, other, "slot.read"), 1);
        audit(&f);
}

Test(region, too_many_are_refused_politely) {
        _cleanup_fixture_ Fixture f;
        char ids[3][REGION_ID_MAX];

        fixture_init(&f);
        cr_assert_eq(start(&f, ids[0], 2), 0);
        cr_assert_eq(start(&f, ids[1], 2), ENGINE_E_TOO_MANY);
        cr_assert(strstr(f.s.d.text, "max_regions"), "%s", f.s.d.text);
        end(&f, f.id, true);
        cr_assert_eq(start(&f, ids[2], 2), 0);
        cr_assert_eq(count(&f, ids[1], "region.allocated"), 0);
        audit(&f);
}

static void recover(Fixture *f, const char *id) {
        _cleanup_json_ json_t *evidence = json_pack("{s:s}", "discipline", "none");
        Txn *t;

        store_fixture_close(&f->s);
        store_fixture_open(&f->s, STORE_SUPERVISE);
        t = store_fixture_begin(&f->s, true);
        RegionRow row;
        cr_assert_eq(engine_region_get(t, id, &row), 0);
        cr_assert(store_lock_is_free(f->s.store, row.supervisor_lock));
        cr_assert_eq(row.pid, 4711);
        cr_assert_str_eq(row.cgroup, "/sys/fs/cgroup/x");
        region_row_deinit(&row);
        cr_assert_eq(engine_region_recover(t, id, evidence, &f->s.d), 0, "%s", f->s.d.text);
        cr_assert_eq(engine_region_recover(t, id, evidence, &f->s.d), ENGINE_E_NO_REGION);
        store_fixture_commit(&f->s, t);
}

static void set_pid(Fixture *f) {
        Txn *t = store_fixture_begin(&f->s, true);

        cr_assert_eq(engine_region_pid(t, f->id, 4711, 99, "/sys/fs/cgroup/x", NULL), 0);
        store_fixture_commit(&f->s, t);
}

// I-60: the next start finishes what a dead supervisor left; what was acknowledged holds.
Test(region, recovery_projects_what_was_acknowledged) {
        _cleanup_fixture_ Fixture f;
        AuditReport a;
        uint64_t version;

        fixture_init(&f);
        set_pid(&f);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(9), -1, &version), 0);
        store_fixture_close(&f.s);
        store_fixture_open(&f.s, STORE_SUPERVISE);
        cr_assert_eq(audit_run(f.s.store, &a), AUDIT_E_BROKEN); /* its supervisor is gone */
        cr_assert(strstr(a.what, "I-60"), "%s", a.what);
        recover(&f, f.id);
        cr_assert_eq(value_of(&f, "n", &version), 9);
        cr_assert_eq(count(&f, f.id, "region.recovered"), 1);
        cr_assert_eq(count(&f, f.id, "region.released"), 1);
        cr_assert_eq(count(&f, f.id, "invocation.ended"), 1);
        audit(&f);
}

// I-24 with a crash between the fault and the end.
Test(region, recovery_discards_after_a_recorded_breach) {
        _cleanup_fixture_ Fixture f;
        _cleanup_json_ json_t *fault = json_pack("{s:s, s:i}", "resource", "memory", "limit", 1);
        uint64_t version;
        Txn *t;

        fixture_init(&f);
        set_pid(&f);
        cr_assert_eq(propose(&f, f.id, "n", json_integer(9), -1, &version), 0);
        t = store_fixture_begin(&f.s, true);
        cr_assert_eq(engine_event(t, f.id, "region.faulted", fault, NULL), 0);
        store_fixture_commit(&f.s, t);
        recover(&f, f.id);
        cr_assert_eq(value_of(&f, "n", &version), -1);
        cr_assert_eq(count(&f, f.id, "slot.discarded"), 1);
        audit(&f);
}

Test(event, the_clock_going_back_is_noted_and_harmless) {
        _cleanup_fixture_ Fixture f;
        _cleanup_json_ json_t *o = NULL;
        char time[CLOCK_TEXT_MAX], text[200];
        uint64_t future = clock_real_usec() + 3600 * UINT64_C(1000000), seq, behind;
        Txn *t;

        fixture_init(&f);
        t = store_fixture_begin(&f.s, true);
        snprintf(text, sizeof(text), "{\"time\":\"%s\",\"type\":\"x\"}", clock_format(future, time));
        cr_assert_eq(ledger_append(t, text, strlen(text), future, &seq), 0);
        cr_assert_eq(engine_event(t, f.id, "y", NULL, &seq), 0);
        store_fixture_commit(&f.s, t);
        t = store_fixture_begin(&f.s, false);
        cr_assert_eq(event_get(t, seq, &o), 0);
        store_abort(t);
        cr_assert_str_eq(json_string_value(json_object_get(o, "time")), time);
        cr_assert_eq(json_get_u64(json_object_get(o, "clock_behind_usec"), &behind), 0);
        cr_assert_gt(behind, UINT64_C(3590) * 1000000);
        audit(&f);
}

// An entry is at most 64 KiB: larger fields stand in its body, under its hash.
Test(event, large_fields_go_to_the_body) {
        _cleanup_fixture_ Fixture f;
        _cleanup_json_ json_t *fields = json_object(), *list = json_array(), *o = NULL;
        uint64_t seq;
        Txn *t;

        fixture_init(&f);
        for (int i = 0; i < 20000; i++)
                json_array_append_new(list, json_integer(i));
        json_object_set(fields, "denials", list);
        t = store_fixture_begin(&f.s, true);
        cr_assert_eq(engine_event(t, f.id, "region.denied", fields, &seq), 0);
        store_fixture_commit(&f.s, t);
        t = store_fixture_begin(&f.s, false);
        cr_assert_eq(event_get(t, seq, &o), 0);
        store_abort(t);
        cr_assert_str_eq(json_string_value(json_object_get(o, "fields")), "body");
        cr_assert_str_eq(json_string_value(json_object_get(o, "region")), f.id); // I-53
        audit(&f);
}

Test(slot, definitions) {
        _cleanup_fixture_ Fixture f;
        _cleanup_json_ json_t *a = json_pack("{s:s}", "type", "integer"), *b = json_pack("{s:s}", "type", "string"),
                              *c = json_pack("{s:s}", "typo", "string");
        uint64_t first, again;
        Txn *t;

        fixture_init(&f);
        t = store_fixture_begin(&f.s, true);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "d", a, &first, &f.s.d), 0);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "d", a, &again, &f.s.d), 0);
        cr_assert_eq(first, again);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "d", b, &again, &f.s.d), ENGINE_E_EXISTS);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "e", c, &again, &f.s.d), ENGINE_E_BAD_SCHEMA);
        cr_assert(strstr(f.s.d.text, "typo"), "%s", f.s.d.text);
        store_fixture_commit(&f.s, t);
        audit(&f);
}
