#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "record/event.h"
#include "record/rows.h"
#include "ledger/ledger.h"
#include "tests/state/audit/say.h"
#include "tests/support/store-fixture.h"

#include <string.h>

/* A store with a slot in two versions, one region that ended (A) and one that lives and holds the slot (B). Each row
 * breaks one thing, as somebody who can write the store and even has the signing key would; the audit must name it. */

#define A "00000000000000000000000000"
#define B "11111111111111111111111111"
#define NEVER "22222222222222222222222222"

static void region_start(StoreFixture *f, Txn *t, const char *id) {
        RegionStart s = {.region = id,
                         .skill_name = "s",
                         .skill_digest = "sha256:0",
                         .tier = "namespaces",
                         .reads = (const char *[]){"n", NULL},
                         .writes = (const char *[]){"n", NULL}};

        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f->d), 0, "%s", f->d.text);
}

static void fill(StoreFixture *f) {
        _cleanup_json_ json_t *schema = json_pack("{s:s}", "type", "integer"), *v = json_integer(1),
                              *none = json_object(), *ended = json_pack("{s:s}", "outcome", "exited");
        uint64_t seq, version;
        Txn *t;

        store_fixture_init(f, STORE_SUPERVISE);
        t = store_fixture_begin(f, true);
        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, "n", schema, &seq, &f->d), 0);             /* 1 */
        cr_assert_eq(engine_slot_put(t, "uid:0", "n", v, -1, &seq, &version, &f->d), 0);             /* 2 */
        region_start(f, t, A);                                                                       /* 3, 4 read */
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = A, .name = "n", .value = v, .expect = -1}, &seq, &version, NULL, &f->d), 0);                    /* 5 */
        cr_assert_eq(engine_region_end(t, &(RegionEnd){A, true, none, ended}, NULL, NULL, NULL), 0); /* 6, 7, 8 */
        region_start(f, t, B);                                                                       /* 9, 10 read */
        cr_assert_eq(engine_slot_propose(t, &(SlotProposal){.region = B, .name = "n", .value = v, .expect = -1}, &seq, &version, NULL, &f->d), 0);                    /* 11 */
        store_fixture_commit(f, t);
}

SAYS(ended_without_release, "invocation.ended", B, "")
SAYS(released_with_open_proposal, "region.released", B, "")
SAYS(event_after_end, "request.refused", A, "")
SAYS(ended_twice, "invocation.ended", A, "")
SAYS(allocated_twice, "region.allocated", A, "")
SAYS(never_allocated, "request.refused", NEVER, "")
SAYS(written_by_nobody, "slot.written", NULL, ",\"slot\":\"n\",\"version\":3")
SAYS(written_over_a_hold, "slot.written", NULL, ",\"slot\":\"n\",\"version\":3,\"who\":\"uid:0\"")
SAYS(written_without_proposal, "slot.written", B, ",\"slot\":\"n\",\"version\":3,\"proposed\":5")
SAYS(other_value_than_proposed, "slot.written", B,
     ",\"slot\":\"n\",\"version\":3,\"proposed\":11,\"body\":{\"sha256\":\"00\",\"bytes\":1}")
SAYS(undefined_slot, "slot.read", B, ",\"slot\":\"m\",\"version\":1,\"written\":2")
SAYS(read_of_an_old_version, "slot.read", B, ",\"slot\":\"n\",\"version\":1,\"written\":2")
SAYS(begins_again, "ledger.created", NULL, "")
SAYS(no_payload, "slot.defined", NULL, ",\"slot\":\"m\",\"who\":\"uid:0\",\"body\":{\"sha256\":\"00\",\"bytes\":1}")
SAYS(defined_twice, "slot.defined", NULL, ",\"slot\":\"n\",\"who\":\"uid:0\"")
SAYS(no_region, "region.released", NULL, "")
SAYS(below_nothing, "region.allocated", NEVER, ",\"parent\":\"01hzy3v5q8r6x2m9d4k7c0w1zz\"")
SAYS(below_one_that_ended, "region.allocated", NEVER, ",\"parent\":\"" A "\"")

/* Children end before their parents. */
static void released_before_a_child(Txn *t) {
        say(t, "region.allocated", NEVER, "");
        say(t, "region.allocated", "01hzy3v5q8r6x2m9d4k7c0w1zy", ",\"parent\":\"" NEVER "\"");
        say(t, "region.released", NEVER, "");
}

static void kept_after_breach(Txn *t) {
        say(t, "region.faulted", B, "");
        say(t, "slot.written", B, ",\"slot\":\"n\",\"version\":3,\"proposed\":11");
}

static void remembered_after_breach(Txn *t) {
        say(t, "region.faulted", B, "");
        say(t, "memory.save", B, ",\"scope\":1,\"kind\":\"memory_substrate\",\"id\":\"a\",\"version\":1,\"state\":\"active\"");
}

static void not_canonical(Txn *t) {
        char text[100], time[CLOCK_TEXT_MAX];

        snprintf(text, sizeof(text), "{\"type\":\"x\",\"time\":\"%s\"}", clock_format(clock_real_usec(), time));
        ledger_append(t, text, strlen(text), 0, NULL);
}

static void time_goes_back(Txn *t) {
        static const char text[] = "{\"time\":\"2001-01-01T00:00:00.000000Z\",\"type\":\"x\"}";

        ledger_append(t, text, strlen(text), 0, NULL);
}

static void entry_changed(Txn *t) {
        char entry[1000];
        uint8_t key[8];
        Bytes e;

        be64_put(key, 2);
        cr_assert_eq(table_get(t, TABLE_EVENT, BYTES(key, 8), &e), 0);
        memcpy(entry, e.p, e.n);
        memcpy(memmem(entry, e.n, "uid:", 4), "UID:", 4);
        cr_assert_eq(table_put(t, TABLE_EVENT, BYTES(key, 8), BYTES(entry, e.n)), 0);
}

static void entry_removed(Txn *t) {
        uint8_t key[8];

        be64_put(key, 4);
        cr_assert_eq(table_del(t, TABLE_EVENT, BYTES(key, 8)), 0);
}

static void last_entry_removed(Txn *t) {
        uint8_t key[8];

        be64_put(key, 11);
        cr_assert_eq(table_del(t, TABLE_EVENT, BYTES(key, 8)), 0);
}

static void payload_changed(Txn *t) {
        uint8_t key[8], v[17] = {0};

        be64_put(key, 2);
        cr_assert_eq(table_put(t, TABLE_BODY, BYTES(key, 8), BYTES(v, sizeof(v))), 0);
}

static void payload_added(Txn *t) {
        uint8_t key[8], v[17] = {0};

        be64_put(key, 500);
        cr_assert_eq(table_put(t, TABLE_BODY, BYTES(key, 8), BYTES(v, sizeof(v))), 0);
}

static void hash_added(Txn *t) {
        uint8_t key[HASH_KEY_BYTES], v[32] = {0};

        ledger_hash_key(8, 77, key);
        cr_assert_eq(table_put(t, TABLE_HASH, BYTES(key, sizeof(key)), BYTES(v, sizeof(v))), 0);
}

static void slot_row_changed(Txn *t) {
        SlotRow row;

        cr_assert_eq(slot_row_get(t, "n", &row), 0);
        row.version = 7;
        cr_assert_eq(slot_row_put(t, "n", &row), 0);
}

static void slot_row_points_elsewhere(Txn *t) {
        SlotRow row;

        cr_assert_eq(slot_row_get(t, "n", &row), 0);
        row.body = 1;
        cr_assert_eq(slot_row_put(t, "n", &row), 0);
}

static void slot_row_added(Txn *t) {
        cr_assert_eq(slot_row_put(t, "z", &(SlotRow){.defined = 1}), 0);
}

static void slot_row_removed(Txn *t) {
        cr_assert_eq(table_del(t, TABLE_SLOT, BYTES_STR("n")), 0);
}

static void hold_removed(Txn *t) {
        uint8_t key[HELD_KEY_BYTES];

        held_key(B, 11, key);
        cr_assert_eq(table_del(t, TABLE_HELD, BYTES(key, sizeof(key))), 0);
}

static void hist_row_added(Txn *t) {
        cr_assert_eq(hist_row_put(t, "n", 9, 2, 2), 0);
}

static void hist_row_changed(Txn *t) {
        uint8_t key[HIST_KEY_MAX];
        size_t n = slot_seq_key("n", 1, key);

        cr_assert_eq(table_del(t, TABLE_HIST, BYTES(key, n)), 0);
        cr_assert_eq(hist_row_put(t, "n", 1, 3, 2), 0);
}

static void region_row_removed(Txn *t) {
        cr_assert_eq(table_del(t, TABLE_REGION, BYTES_STR(B)), 0);
}

static void region_row_kept(Txn *t) {
        Bytes row;
        char copy[2000];

        cr_assert_eq(table_get(t, TABLE_REGION, BYTES_STR(B), &row), 0);
        memcpy(copy, row.p, row.n);
        cr_assert_eq(table_put(t, TABLE_REGION, BYTES_STR(A), BYTES(copy, row.n)), 0);
}

static void checkpoint_changed(Txn *t) {
        char note[NOTE_MAX];
        Bytes v;

        cr_assert_eq(ledger_checkpoint(t, &v), 0);
        memcpy(note, v.p, v.n);
        note[v.n - 20] ^= 1;
        cr_assert_eq(table_put(t, TABLE_META, BYTES_STR("checkpoint"), BYTES(note, v.n)), 0);
}

static const struct {
        const char *name;
        void (*breaks)(Txn *t);
        const char *what;
} rows[] = {
        {"ended without release", ended_without_release, "I-15"},
        {"released with an open proposal", released_with_open_proposal, "before its proposals are settled"},
        {"event after the end", event_after_end, "after its end"},
        {"ended twice", ended_twice, "after its end"},
        {"allocated twice", allocated_twice, "allocated twice"},
        {"never allocated", never_allocated, "never allocated"},
        {"no region", no_region, "lacks a field"},
        {"below nothing", below_nothing, "the parent of a region is not there"},
        {"below one that ended", below_one_that_ended, "the parent of a region is not there"},
        {"released before a child", released_before_a_child, "before the end of a region below"},
        {"written by nobody", written_by_nobody, "without a region or an operator"},
        {"written over a hold", written_over_a_hold, "that a region holds"},
        {"written without proposal", written_without_proposal, "out of its turn"},
        {"other value than proposed", other_value_than_proposed, "differs from the proposed value"},
        {"kept after a breach", kept_after_breach, "I-24"},
        {"remembered after a breach", remembered_after_breach, "must be discarded was kept (I-24, I-78)"},
        {"undefined slot", undefined_slot, "an undefined slot"},
        {"read of an old version", read_of_an_old_version, "I-20"},
        {"defined twice", defined_twice, "lacks a field"},
        {"no payload", no_payload, "a missing payload"},
        {"begins again", begins_again, "begins twice"},
        {"not canonical", not_canonical, "canonical"},
        {"time goes back", time_goes_back, "time goes back"},
        {"entry changed", entry_changed, "tree hash"},
        {"entry removed", entry_removed, "entry is missing"},
        {"last entry removed", last_entry_removed, "number of entries differs"},
        {"payload changed", payload_changed, "payload's hash differs"},
        {"payload added", payload_added, "payload without an entry"},
        {"hash added", hash_added, "table hash"},
        {"slot row changed", slot_row_changed, "table slot differs"},
        {"slot row points elsewhere", slot_row_points_elsewhere, "table slot differs"},
        {"slot row added", slot_row_added, "does not define"},
        {"slot row removed", slot_row_removed, "number of rows"},
        {"hold removed", hold_removed, "number of rows"},
        {"history added", hist_row_added, "number of rows"},
        {"history changed", hist_row_changed, "table hist"},
        {"region row removed", region_row_removed, "number of rows"},
        {"region row kept", region_row_kept, "not alive in the ledger"},
        {"checkpoint changed", checkpoint_changed, "checkpoint does not verify"},
};

Test(audit, names_what_does_not_hold) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                AuditReport a;
                Txn *t;
                int r;

                fill(&f);
                r = audit_run(f.store, &a);
                cr_assert_eq(r, 0, "before: entry %lu: %s; %s; %s", (unsigned long)a.seq, a.what, a.expected, a.found);
                cr_assert_eq(a.entries, 12);
                cr_assert_eq(a.alive, 1);
                t = store_fixture_begin(&f, true);
                rows[i].breaks(t);
                store_fixture_commit(&f, t);
                r = audit_run(f.store, &a);
                cr_assert_eq(r, AUDIT_E_BROKEN, "%s: audit ends %d", rows[i].name, r);
                cr_assert(strstr(a.what, rows[i].what), "%s: \"%s\" (expected %s, found %s)", rows[i].name, a.what,
                          a.expected, a.found);
                cr_assert(*a.expected && *a.found, "%s", rows[i].name);
        }
}

// A vkey that is not this ledger's would make others verify against a stranger.
Test(audit, checks_the_vkey_file) {
        _cleanup_store_fixture_ StoreFixture f;
        AuditReport a;
        char path[PATH_MAX];

        fill(&f);
        snprintf(path, sizeof(path), "%.4000s/vkey", f.dir);
        cr_assert_eq(unlink(path), 0);
        cr_assert_eq(audit_run(f.store, &a), AUDIT_E_BROKEN);
        cr_assert(strstr(a.what, "vkey"), "%s", a.what);
}
