#include "base/clock.h"
#include "belief/region-events.h"
#include "engine/engine.h"
#include "tests/state/object/wake-fixture.h"
#include "tests/support/store-fixture.h"

#include <errno.h>
#include <string.h>

enum { BESIDE = 40 }; /* regions that live at the same time as those that are asked for */

static void start(StoreFixture *f, const char *id, const json_t *gates, int expected) {
        _cleanup_json_ json_t *grant = json_object(), *evidence = NULL;
        const RegionStart s = {.region = id, .skill_name = "twice", .skill_digest = "sha256:0", .tier = "namespaces", .grant = grant, .gates = gates,
                               .ret_evidence = gates ? &evidence : NULL};
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f->d), expected, "%s", f->d.text);
        store_fixture_commit(f, t);
}

static void event(StoreFixture *f, const char *id, const char *type) {
        /* The id as a value, and as a member of a member: not what the event occurred in. */
        _cleanup_json_ json_t *fields = json_pack("{s:s, s:{s:s}}", "note", "01aaaaaaaaaaaaaaaaaaaaaaaa", "of", "region", "01aaaaaaaaaaaaaaaaaaaaaaaa");
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_event(t, id, type, fields, NULL), 0);
        store_fixture_commit(f, t);
}

static void end(StoreFixture *f, const char *id) {
        _cleanup_json_ json_t *o = json_pack("{s:s}", "outcome", "exited");
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, true, o, o}, NULL, NULL, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

/* What a walk over the whole ledger finds, against what the region's own walk gives. */
static void same_as_all(StoreFixture *f, const char *id, const char *name, unsigned expected) {
        _cleanup_region_events_ RegionEvents e = REGION_EVENTS_NULL;
        _cleanup_walk_ LedgerWalk w = {0};
        Txn *t = store_fixture_begin(f, false);
        uint64_t seq, own_seq;
        Bytes entry, own_entry;
        unsigned n = 0;
        int r;

        cr_assert_eq(region_events(t, id, &e), 0, "%s", name);
        cr_assert_eq(ledger_walk(t, 0, &w), 0);
        while (ledger_next(&w, &seq, &entry) == 0) {
                _cleanup_json_ json_t *o = NULL, *own = NULL;
                const char *of;

                cr_assert_eq(json_parse(entry.p, entry.n, LEDGER_ENTRY_MAX, JSON_DEPTH_DEFAULT, &o, NULL), 0);
                of = json_string_value(json_object_get(o, "region"));
                if (!of || strcmp(of, id) != 0)
                        continue;
                r = region_events_next(&e, &own_seq, &own_entry, &own);
                cr_assert_eq(r, 0, "%s: entry %d is missing", name, (int)seq);
                cr_assert(own_seq == seq && json_equal(o, own) && own_entry.p == entry.p, "%s: entry %d is not %d", name, (int)own_seq, (int)seq);
                n++;
        }
        cr_assert_eq(region_events_next(&e, &seq, &entry, &(json_t *){NULL}), -ENOENT, "%s: there is more", name);
        cr_assert_eq(n, expected, "%s: %u events", name, n);
        store_abort(t);
}

// I-54: exactly one invocation's events, wherever its id's time stands to those of the ledger, and whatever goes on beside it
Test(region_events, exactly_one_invocation) {
        static const struct {
                const char *name;
                int64_t usec; /* of the id, before or after now */
                bool refused, alive;
                bool wakes; /* objects wait for the verdicts on its gates */
        } rows[] = {
                {"its time is right", 0, false, false},
                {"an hour old", -3600000000, false, false},
                {"of before the ledger", -1000000000000000, false, false},
                {"the clock was set back a second", 1000000, false, false},
                {"the clock was set back a year", 31536000000000, false, false},
                {"alive", 0, false, true},
                {"alive, the clock was set back", 60000000, false, true},
                {"refused", 0, true, false},
                {"refused, the clock was set back", 60000000, true, false},
                {"refused, objects wake in between, the clock was set back", 60000000, true, false, true},
        };
        _cleanup_json_ json_t *gates = json_pack("[{s:s, s:{}}, {s:s, s:{}}]", "slot", "g/none", "schema", "slot", "g/none.either", "schema");
        char ids[ARRAY_SIZE(rows)][REGION_ID_MAX], beside[BESIDE][REGION_ID_MAX];
        _cleanup_region_events_ RegionEvents e = REGION_EVENTS_NULL;
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        for (size_t i = 0; i < BESIDE; i++) {
                cr_assert_eq(region_id_new(clock_real_usec(), beside[i]), 0);
                start(&f, beside[i], NULL, 0);
        }
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                usleep(2000);
                cr_assert_eq(region_id_new(clock_real_usec() + (uint64_t)rows[i].usec, ids[i]), 0);
                if (rows[i].wakes) {
                        t = store_fixture_begin(&f, true);
                        wake_sleeper(t, "01000000000000000000000001", UINT64_MAX, "[[\"event/gate.evaluated\",{\"slot\":\"g/none\"}]]");
                        wake_sleeper(t, "01000000000000000000000002", UINT64_MAX, "[[\"event/gate.evaluated\",{\"slot\":\"g/none.either\"}]]");
                        store_fixture_commit(&f, t);
                }
                start(&f, ids[i], rows[i].refused ? gates : NULL, rows[i].refused ? ENGINE_E_GATE : 0);
                event(&f, beside[i], "region.noted");
        }
        for (size_t i = 0; i < BESIDE; i++)
                event(&f, beside[i], "region.noted");
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                if (!rows[i].refused)
                        event(&f, ids[i], "region.noted");
                event(&f, beside[i], "region.noted");
        }
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                if (!rows[i].refused && !rows[i].alive)
                        end(&f, ids[i]);
        for (size_t i = 0; i < BESIDE; i++)
                end(&f, beside[i]);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                same_as_all(&f, ids[i], rows[i].name, rows[i].refused ? 3 : rows[i].alive ? 2 : 4);
        for (size_t i = 0; i < BESIDE; i++)
                same_as_all(&f, beside[i], "one beside", i < ARRAY_SIZE(rows) ? 6 : 4);
        t = store_fixture_begin(&f, false);
        cr_assert_eq(region_events(t, "01aaaaaaaaaaaaaaaaaaaaaaaa", &e), REGION_EVENTS_E_NONE);
        store_abort(t);
}

// the time that is in an id is the one that it was made of
Test(region_events, time_of_an_id) {
        static const uint64_t times[] = {0, 1000, 1792295999999000, (UINT64_C(1) << 48) * 1000 - 1000};

        for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
                char id[REGION_ID_MAX];

                cr_assert_eq(region_id_new(times[i] + 999, id), 0);
                cr_assert_eq(region_id_usec(id), times[i], "%s", id);
        }
}
