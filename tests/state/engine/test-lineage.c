#include "engine/engine.h"
#include "record/rows.h"
#include "ledger/ledger.h"
#include "store/hooks.h"
#include "tests/support/store-fixture.h"

#include <string.h>

#define A "00000000000000000000000000"

/* One region's life, with everything that is recorded of one: two reads, two proposals, a refused one, refused lines, denials, traces. */
static void live(StoreFixture *f, const char *lineage, bool keep) {
        _cleanup_json_ json_t *schema = json_pack("{s:s}", "type", "integer"), *one = json_integer(1), *text = json_string("x"),
                              *released = json_pack("{s:{s:s}}", "teardown", "grade", "cleared"), *ended = json_pack("{s:s}", "outcome", "exited"),
                              *refused = json_pack("{s:s, s:i}", "code", "bad_json", "count", 3), *none = json_object();
        const char *slots[] = {"n", "m", NULL};
        RegionStart s = {.region = A, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .reads = slots, .writes = slots, .lineage = lineage};
        uint64_t seq, version, before = 77;
        Txn *t;

        store_fixture_init(f, STORE_SUPERVISE);
        t = store_fixture_begin(f, true);
        for (size_t i = 0; slots[i]; i++) {
                cr_assert_eq(engine_slot_define(t, "uid:0", NULL, slots[i], schema, &seq, &f->d), 0);
                cr_assert_eq(engine_slot_put(t, "uid:0", slots[i], one, -1, &seq, &version, &f->d), 0);
        }
        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f->d), 0, "%s", f->d.text);
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = A, .name = "n", .value = one, .expect = -1}, &seq, &version, NULL, &f->d), 0);
        cr_assert_eq(version, 2);
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = A, .name = "n", .value = text, .expect = -1}, &seq, &version, NULL, &f->d), ENGINE_E_SCHEMA);
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = A, .name = "m", .value = one, .expect = 9}, &seq, &version, NULL, &f->d), ENGINE_E_CONFLICT);
        cr_assert_eq(engine_event(t, A, "request.refused", refused, &before), 0);
        cr_assert_eq(engine_event(t, A, "region.denied", none, NULL), 0);
        cr_assert_eq(engine_event(t, A, "handle.issued", none, NULL), 0);
        cr_assert_eq(engine_event(t, A, "handle.refused", none, NULL), 0);
        if (!keep)
                cr_assert_eq(engine_event(t, A, "region.faulted", none, NULL), 0);
        cr_assert_eq(engine_event(t, A, "region.bound_passed", none, NULL), 0);
        store_fixture_commit(f, t);
        t = store_fixture_begin(f, true);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){A, keep, released, ended}, NULL, NULL, NULL), 0);
        store_fixture_commit(f, t);
}

/* The types of the region's entries in their order, and the counts of its release as text. */
static void recorded(StoreFixture *f, char ret[1000], char ret_counts[1000]) {
        _cleanup_txn_ Txn *t = store_fixture_begin(f, false);
        _cleanup_walk_ LedgerWalk w = {0};
        uint64_t seq;
        Bytes e;

        *ret = *ret_counts = 0;
        cr_assert_eq(ledger_walk(t, 0, &w), 0);
        while (ledger_next(&w, &seq, &e) == 0) {
                _cleanup_json_ json_t *o = NULL;
                _cleanup_free_ char *counts = NULL;

                cr_assert_eq(json_parse(e.p, e.n, e.n, 32, &o, &f->d), 0);
                if (!json_object_get(o, "region"))
                        continue;
                strcat(strcat(ret, json_string_value(json_object_get(o, "type"))), " ");
                if (!json_object_get(o, "lineage"))
                        continue;
                cr_assert_eq(json_canonical(json_object_get(o, "lineage"), &counts, NULL), 0);
                strcat(ret_counts, counts);
        }
}

static uint64_t version_of(StoreFixture *f, const char *name) {
        _cleanup_txn_ Txn *t = store_fixture_begin(f, false);
        SlotRow row;

        cr_assert_eq(slot_row_get(t, name, &row), 0);
        cr_assert_eq(row.held_version, 0);
        return row.version;
}

// I-36, I-37, I-38: what is recorded differs, what occurs does not.
Test(lineage, levels_record_more_or_less_of_the_same_life) {
        static const struct {
                const char *detail;
                bool keep;
                const char *types, *counts;
        } rows[] = {
                {NULL, true,
                 "region.allocated slot.read slot.read slot.proposed slot.refused slot.refused request.refused region.denied handle.refused region.bound_passed "
                 "slot.written region.released invocation.ended ",
                 "{\"counts\":{\"handle.issued\":1},\"detail\":\"events\"}"},
                {"events", true,
                 "region.allocated slot.read slot.read slot.proposed slot.refused slot.refused request.refused region.denied handle.refused region.bound_passed "
                 "slot.written region.released invocation.ended ",
                 "{\"counts\":{\"handle.issued\":1},\"detail\":\"events\"}"},
                {"handles", true,
                 "region.allocated slot.read slot.read slot.proposed slot.refused slot.refused request.refused region.denied handle.issued handle.refused "
                 "region.bound_passed slot.written region.released invocation.ended ",
                 "{\"detail\":\"handles\"}"},
                {"stats", true, "region.allocated slot.proposed region.bound_passed slot.written region.released invocation.ended ",
                 "{\"counts\":{\"handle.issued\":1,\"handle.refused\":1,\"region.denied\":1,\"request.refused/bad_json\":3,\"slot.read\":2,\"slot.refused/conflict\":1,"
                 "\"slot.refused/schema\":1},\"detail\":\"stats\"}"},
                // I-24 holds at the level that records least
                {"stats", false, "region.allocated slot.proposed region.faulted region.bound_passed slot.discarded region.released invocation.ended ",
                 "{\"counts\":{\"handle.issued\":1,\"handle.refused\":1,\"region.denied\":1,\"request.refused/bad_json\":3,\"slot.read\":2,\"slot.refused/conflict\":1,"
                 "\"slot.refused/schema\":1},\"detail\":\"stats\"}"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                char types[1000], counts[1000];

                live(&f, rows[i].detail, rows[i].keep);
                recorded(&f, types, counts);
                cr_expect_str_eq(types, rows[i].types, "row %zu: %s", i, types);
                cr_expect_str_eq(counts, rows[i].counts, "row %zu: %s", i, counts);
                cr_expect_eq(version_of(&f, "n"), rows[i].keep ? 2 : 1, "row %zu", i);
                cr_expect_eq(version_of(&f, "m"), 1, "row %zu", i);
        }
}

// What was counted survives the supervisor: recovery releases the region with it.
Test(lineage, counts_are_durable) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *none = json_object();
        RegionStart s = {.region = A, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .lineage = "stats"};
        char types[1000], counts[1000];
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f.d), 0);
        cr_assert_eq(engine_event(t, A, "region.logged", none, NULL), 0);
        store_fixture_commit(&f, t);
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_region_recover(t, A, none, &f.d), 0);
        store_fixture_commit(&f, t);
        recorded(&f, types, counts);
        cr_assert_str_eq(types, "region.allocated region.released region.recovered invocation.ended ");
        cr_assert_str_eq(counts, "{\"counts\":{\"region.logged\":1},\"detail\":\"stats\"}");
}
