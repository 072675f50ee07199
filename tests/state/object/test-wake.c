#include "base/clock.h"
#include "ledger/ledger.h"
#include "tests/state/object/wake-fixture.h"

#include <errno.h>

static unsigned woken_events(Txn *t, unsigned *ret_ids) {
        _cleanup_walk_ LedgerWalk w = {0};
        unsigned n = 0;
        uint64_t seq;
        Bytes entry;

        *ret_ids = 0;
        cr_assert_eq(ledger_walk(t, 0, &w), 0);
        while (ledger_next(&w, &seq, &entry) == 0) {
                _cleanup_json_ json_t *o = json_loadb(entry.p, entry.n, 0, NULL);

                if (!json_text_is(json_object_get(o, "type"), "object.woken"))
                        continue;
                n++;
                *ret_ids += json_array_size(json_object_get(o, "objects"));
        }
        return n;
}

/* O-30, O-31: which event wakes an object with this row of `wake`. */
static const struct {
        const char *name, *wake, *type, *fields;
        bool wakes;
        const char *left; /* keys of the object afterwards */
        unsigned seen;    /* event conditions that came true */
} rows[] = {
        {"a slot is written", "[[\"slot/a\",null]]", NULL, "a", true, "", 0},
        {"another slot is written", "[[\"slot/a\",null]]", NULL, "b", false, "slot/a", 0},
        {"a longer name", "[[\"slot/a\",null]]", NULL, "aa", false, "slot/a", 0},
        {"one of two slots", "[[\"slot/a\",null],[\"slot/b\",null]]", NULL, "b", true, "", 0},
        {"an event", "[[\"event/log\",null]]", "log", "{}", true, "", 1},
        {"another event", "[[\"event/log\",null]]", "logs", "{}", false, "event/log", 0},
        {"an event that matches", "[[\"event/log\",{\"a\":1,\"b\":\"x\"}]]", "log", "{\"a\":1,\"b\":\"x\",\"c\":2}", true, "", 1},
        {"one member differs", "[[\"event/log\",{\"a\":1,\"b\":\"x\"}]]", "log", "{\"a\":1,\"b\":\"y\"}", false, "event/log", 0},
        {"one member is missing", "[[\"event/log\",{\"a\":null}]]", "log", "{}", false, "event/log", 0},
        {"null is a value", "[[\"event/log\",{\"a\":null}]]", "log", "{\"a\":null}", true, "", 1},
        {"a number is no text", "[[\"event/log\",{\"a\":1}]]", "log", "{\"a\":\"1\"}", false, "event/log", 0},
        {"two conditions on one type, one holds", "[[\"event/log\",{\"a\":1}],[\"event/log\",{\"a\":2}]]", "log", "{\"a\":2}", true,
         "event/log", 1},
        {"two conditions on one type, both hold", "[[\"event/log\",{\"a\":2}],[\"event/log\",null]]", "log", "{\"a\":2}", true, "", 2},
        {"another event stays to be seen", "[[\"event/log\",null],[\"event/other\",null],[\"slot/a\",null]]", "log", "{}", true,
         "event/other", 1},
        {"an event stays to be seen beside a slot", "[[\"event/log\",null],[\"slot/a\",null]]", NULL, "a", true, "event/log", 0},
        {"slot.written as an event", "[[\"event/slot.written\",{\"slot\":\"a\"}]]", NULL, "a", true, "", 1},
        {"slot and event at once", "[[\"event/slot.written\",null],[\"slot/a\",null]]", NULL, "a", true, "", 1},
        {"another object ends", "[[\"object/01000000000000000000000009\",null]]", "end", NULL, true, "", 0},
        {"a child ends", "[[\"child/01000000000000000000000001\",null]]", "end", NULL, true, "", 0},
        {"a child of another ends", "[[\"child/01000000000000000000000002\",null]]", "end", NULL, false,
         "child/01000000000000000000000002", 0},
        {"events of objects are no events", "[[\"event/object.entry\",null],[\"event/object.woken\",null]]", "end", NULL, false,
         "event/object.entry event/object.woken", 0},
        {"a late note on an ended object is no end", "[[\"object/01000000000000000000000009\",null]]", "note", NULL, false,
         "object/01000000000000000000000009", 0},
};

static void happen(Txn *t, size_t i) {
        char id[REGION_ID_MAX], by[REGION_ID_MAX];

        wake_id(9, id);
        if (!rows[i].type)
                wake_slot(t, rows[i].fields, 1);
        else if (rows[i].fields)
                cr_assert_eq(fold_slot_append(t, &(Event){.type = rows[i].type, .who = "uid:0", .fields = json_loads(rows[i].fields, 0, NULL)}, NULL), 0);
        else {
                wake_entry(t, id, 0, "instantiated", "instantiated", 0, NULL);
                if (strcmp(rows[i].type, "end") == 0)
                        cr_assert_eq(wake_entry_with(t, id, 1, "terminated", "terminated", UINT64_MAX, NULL,
                                                     json_pack("{s:s}", "parent", wake_id(1, by))), 0);
                else
                        cr_assert_eq(wake_entry_with(t, id, 1, "child", "terminated", UINT64_MAX, NULL,
                                                     json_pack("{s:b}", "note", 1)), 0);
        }
}

// O-30, O-31: an object is due at once when what it waits for happens, and by nothing else
Test(wake, by_what_it_waits_for) {
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *row = NULL;
                char id[REGION_ID_MAX], left[256];
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                wake_sleeper(t, wake_id(1, id), UINT64_MAX, rows[i].wake);
                cr_expect_eq(wake_due_of(t, id), UINT64_MAX, "%s", rows[i].name);
                happen(t, i);
                cr_expect_eq(wake_due_of(t, id), rows[i].wakes ? 0 : UINT64_MAX, "%s", rows[i].name);
                cr_expect_str_eq(wake_keys_of(t, id, left, sizeof(left)), rows[i].left, "%s: %s", rows[i].name, left);
                cr_assert_eq(object_row_get(t, id, &row), 0);
                cr_expect_eq(json_array_size(json_object_get(row, "woken")), rows[i].seen, "%s", rows[i].name);
                wake_same(t, rows[i].name);
                store_fixture_commit(&f, t);
        }
}

// O-30: what came true is kept for the cycle that looks, until the next move; a note leaves it
Test(wake, evidence_stays_until_the_next_move) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *row = NULL, *noted = NULL, *moved = NULL, *evidence;
        char id[REGION_ID_MAX];
        uint64_t seq;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        wake_sleeper(t, wake_id(1, id), UINT64_MAX, "[[\"event/log\",{\"a\":1}]]");
        cr_assert_eq(fold_slot_append(t, &(Event){.type = "log", .who = "uid:0", .fields = json_pack("{s:i}", "a", 1)}, &seq), 0);
        cr_assert_eq(object_row_get(t, id, &row), 0);
        evidence = json_pack("[{s:s, s:o, s:{s:i}}]", "type", "log", "seq", json_u64(seq), "match", "a", 1);
        cr_expect(json_equal(json_object_get(row, "woken"), evidence));
        cr_assert_eq(wake_entry_with(t, id, 3, "input", "dormant", 0, NULL, json_pack("{s:b}", "note", 1)), 0);
        cr_assert_eq(object_row_get(t, id, &noted), 0);
        cr_expect(json_equal(json_object_get(noted, "woken"), evidence));
        wake_entry(t, id, 4, "reentry", "reentry", 0, NULL);
        cr_assert_eq(object_row_get(t, id, &moved), 0);
        cr_expect_null(json_object_get(moved, "woken"));
        wake_same(t, "after");
        store_abort(t);
        json_decref(TAKE_PTR(evidence));
}

// O-31: a policy is no event: whoever reads another one says so
Test(wake, by_a_policy) {
        _cleanup_store_fixture_ StoreFixture f;
        char a[REGION_ID_MAX], b[REGION_ID_MAX];
        size_t n;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        wake_sleeper(t, wake_id(1, a), UINT64_MAX, "[[\"policy\",null]]");
        wake_sleeper(t, wake_id(2, b), UINT64_MAX, "[[\"slot/policy\",null]]");
        cr_assert_eq(wake_on_key(t, "policy", &n), 0);
        cr_expect_eq(n, 1);
        cr_expect_eq(wake_due_of(t, a), 0);
        cr_expect_eq(wake_due_of(t, b), UINT64_MAX);
        cr_assert_eq(wake_on_key(t, "policy", &n), 0);
        cr_expect_eq(n, 0);
        wake_same(t, "after");
        store_fixture_commit(&f, t);
}

#define CROWD 1000

// O-31: a slot write that 1,000 objects wait for makes all of them due in its own commit
Test(wake, a_thousand_in_the_commit_of_the_write) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t began, usec, next = 0;
        WakeDue due[CROWD + 1];
        unsigned ids;
        size_t n;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        for (unsigned i = 0; i < CROWD; i++) {
                char id[REGION_ID_MAX];

                wake_sleeper(t, wake_id(i, id), UINT64_MAX, "[[\"slot/go\",null]]");
        }
        wake_slot(t, "other", 1);
        store_fixture_commit(&f, t);

        t = store_fixture_begin(&f, true);
        cr_assert_eq(wake_next(t, &next), 0);
        cr_expect_eq(next, UINT64_MAX);
        began = clock_mono_usec();
        wake_slot(t, "go", 1);
        store_fixture_commit(&f, t);
        usec = clock_mono_usec() - began;
        store_fixture_close(&f);

        store_fixture_open(&f, STORE_READ);
        t = store_fixture_begin(&f, false);
        cr_assert_eq(wake_due(t, 0, NULL, CROWD + 1, due, &n), 0);
        cr_expect_eq(n, CROWD);
        for (size_t i = 0; i < n; i++) {
                char id[REGION_ID_MAX];

                cr_assert_str_eq(due[i].object, wake_id((unsigned)i, id));
                cr_assert_eq(due[i].usec, 0);
        }
        cr_assert_eq(table_rows(t, TABLE_WAKE, &next), 0);
        cr_expect_eq(next, 0);
        cr_expect_eq(woken_events(t, &ids), 1);
        cr_expect_eq(ids, CROWD);
        wake_same(t, "after");
        store_abort(t);
        wake_say("a slot write that wakes %d objects, with its commit: %.1f ms", CROWD, (double)usec / 1000);
}

// O-30: more than fit into one entry are woken in pieces, each once
Test(wake, in_pieces) {
        enum { MANY = 3000 };
        _cleanup_store_fixture_ StoreFixture f;
        char match[600], wake[700];
        uint64_t left;
        unsigned ids, events;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        memset(match, 'x', sizeof(match));
        snprintf(wake, sizeof(wake), "[[\"event/log\",{\"a\":\"%.400s\"}]]", match);
        for (unsigned i = 0; i < MANY; i++) {
                char id[REGION_ID_MAX];

                wake_sleeper(t, wake_id(i, id), UINT64_MAX, i % 10 ? "[[\"event/log\",null]]" : wake);
        }
        match[400] = '\0';
        cr_assert_eq(fold_slot_append(t, &(Event){.type = "log", .who = "uid:0", .fields = json_pack("{s:s}", "a", match)}, NULL), 0);
        cr_assert_eq(table_rows(t, TABLE_WAKE, &left), 0);
        cr_expect_eq(left, 0);
        events = woken_events(t, &ids);
        cr_expect_gt(events, 2);
        cr_expect_eq(ids, MANY);
        wake_same(t, "after");
        store_fixture_commit(&f, t);
}

// O-30, O-31: an aborted write wakes nobody, a later write does
Test(wake, an_aborted_write_wakes_nobody) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], left[64];
        unsigned ids;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        wake_sleeper(t, wake_id(1, id), 5000, "[[\"slot/go\",null]]");
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, true);
        wake_slot(t, "go", 1);
        cr_expect_eq(wake_due_of(t, id), 0);
        store_abort(t);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(wake_due_of(t, id), 5000);
        cr_expect_str_eq(wake_keys_of(t, id, left, sizeof(left)), "slot/go");
        cr_expect_eq(woken_events(t, &ids), 0);
        store_abort(t);
}

/* One broken row is one object's: the write goes on, others wake, and verify names the row. */
Test(wake, a_broken_row_stops_nobody) {
        _cleanup_store_fixture_ StoreFixture f;
        char a[REGION_ID_MAX], b[REGION_ID_MAX];
        FoldResult fold;
        Diag d;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        wake_sleeper(t, wake_id(1, a), UINT64_MAX, "[[\"slot/go\",null]]");
        wake_sleeper(t, wake_id(2, b), UINT64_MAX, "[[\"slot/go\",null]]");
        cr_assert_eq(table_put(t, TABLE_OBJECT, BYTES("01000000000000000000000001\0row", 30), BYTES_STR("{")), 0);
        wake_slot(t, "go", 1);
        cr_expect_eq(wake_due_of(t, a), UINT64_MAX);
        cr_expect_eq(wake_due_of(t, b), 0);
        cr_assert_eq(engine_fold_compare(t, &fold, &d), 0, "%s", d.text);
        cr_assert(fold.how && fold.table == TABLE_OBJECT);
        cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0, "%s", d.text);
        cr_expect_eq(wake_due_of(t, a), 0);
        wake_same(t, "mended");
        store_fixture_commit(&f, t);
}

/* Keys and matches of rows have bounds, whatever an event says. */
Test(wake, beyond_the_bounds) {
        char match[700] = "", key[300] = "";
        const struct {
                const char *name;
                json_t *wake;
        } bad[] = {
                {"a long key", json_pack("[[s, n]]", (memset(key, 'k', 201), key))},
                {"an empty key", json_pack("[[s, n]]", "")},
                {"no key", json_pack("[[n, n]]")},
                {"a large match", json_pack("[[s, {s:s}]]", "event/log", "a", (memset(match, 'm', 600), match))},
                {"a match that is no object", json_pack("[[s, i]]", "event/log", 1)},
                {"many keys", json_array()},
        };

        for (int i = 0; i < 65; i++)
                json_array_append_new(bad[5].wake, json_pack("[s+, n]", "slot/a", i % 2 ? "b" : "c"));
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX];
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                cr_expect_eq(wake_entry_with(t, wake_id(1, id), 0, "dormant", "dormant", 0, NULL, json_pack("{s:o}", "wake", bad[i].wake)), -EUCLEAN, "%s", bad[i].name);
                store_abort(t);
        }
}

// O-53: two that drain one list see each object once, in the order of time
Test(wake, in_the_order_of_time) {
        _cleanup_store_fixture_ StoreFixture f;
        WakeDue due[4], after;
        char id[REGION_ID_MAX];
        uint64_t next;
        size_t n;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(wake_due(t, UINT64_MAX - 1, NULL, 4, due, &n), 0);
        cr_expect_eq(n, 0);
        for (unsigned i = 0; i < 6; i++)
                wake_sleeper(t, wake_id(i, id), 100 * (6 - i / 2), NULL); /* 600 600 500 500 400 400 */
        cr_assert_eq(wake_next(t, &next), 0);
        cr_expect_eq(next, 400);
        cr_assert_eq(wake_due(t, 399, NULL, 4, due, &n), 0);
        cr_expect_eq(n, 0);
        cr_assert_eq(wake_due(t, 500, NULL, 3, due, &n), 0);
        cr_assert_eq(n, 3);
        cr_expect_str_eq(due[0].object, wake_id(4, id));
        cr_expect_str_eq(due[1].object, wake_id(5, id));
        cr_expect_str_eq(due[2].object, wake_id(2, id));
        after = due[2];
        wake_entry(t, after.object, 3, "reentry", "reentry", 900, NULL); /* its row is gone, and still names its place */
        cr_assert_eq(wake_due(t, 500, &after, 4, due, &n), 0);
        cr_assert_eq(n, 1);
        cr_expect_str_eq(due[0].object, wake_id(3, id));
        store_abort(t);
}

/* O-31: objects that wait for other values of a member are not looked at. */
Test(wake, of_many_that_wait_for_other_values) {
        enum { MANY = 20000, WRITES = 200 };
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];
        uint64_t began, alone, among;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        began = clock_mono_usec();
        for (int i = 0; i < WRITES; i++)
                wake_slot(t, "a", i);
        alone = clock_mono_usec() - began;
        for (unsigned i = 0; i < MANY; i++) {
                char wake[128];

                snprintf(wake, sizeof(wake), "[[\"event/slot.written\",{\"slot\":\"s%u\"}]]", i);
                wake_sleeper(t, wake_id(i, id), UINT64_MAX, wake);
        }
        began = clock_mono_usec();
        for (int i = 0; i < WRITES; i++)
                wake_slot(t, "a", i);
        among = clock_mono_usec() - began;
        wake_slot(t, "s77", 1);
        cr_expect_eq(wake_due_of(t, wake_id(77, id)), 0);
        cr_expect_eq(wake_due_of(t, wake_id(78, id)), UINT64_MAX);
        store_abort(t);
        wake_say("a slot write without its commit: %.1f us; with %d objects that wait for other slots: %.1f us", (double)alone / WRITES, MANY, (double)among / WRITES);
}

/* The look at a table without rows, per event. */
Test(wake, costs_nothing_without_objects) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *entry = json_object();
        enum { LOOKS = 100000 };
        uint64_t began;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        began = clock_mono_usec();
        for (int i = 0; i < LOOKS; i++)
                cr_assert_eq(wake_on_event(t, 1, "slot.written", entry), 0);
        wake_say("the look of an event without waiting objects: %.0f ns", (double)(clock_mono_usec() - began) * 1000 / LOOKS);
        store_abort(t);
}

/* A random history of events about objects; the same for the same seed. */
typedef struct Random {
        uint64_t state;
        uint64_t n[8]; /* entries of object i; 0: none */
        bool ended[8];
} Random;

static unsigned roll(Random *h, unsigned sides) {
        h->state ^= h->state << 13; /* xorshift64 */
        h->state ^= h->state >> 7;
        h->state ^= h->state << 17;
        return (unsigned)((h->state >> 11) % sides);
}

static void random_entry(Txn *t, Random *h, unsigned i, const char *id) {
        static const char *const wakes[] = {NULL, "[[\"slot/a\",null]]", "[[\"slot/a\",null],[\"event/log\",{\"a\":1}]]",
                                            "[[\"event/log\",null],[\"event/log\",{\"a\":1}],[\"policy\",null]]",
                                            "[[\"child/01000000000000000000000001\",null],[\"object/01000000000000000000000002\",null]]"};
        unsigned kind = h->n[i] == 0 ? 0 : 1 + roll(h, 5);

        if (kind == 0)
                cr_assert_eq(wake_entry_with(t, id, h->n[i]++, "instantiated", "instantiated", 0, NULL,
                                             json_pack("{s:{s:s}, s:s}", "do", "skill", "x", "parent", "01000000000000000000000001")), 0);
        else if (kind <= 2)
                wake_entry(t, id, h->n[i]++, "dormant", "dormant", roll(h, 2) ? UINT64_MAX : roll(h, 900), wakes[roll(h, 5)]);
        else if (kind == 3)
                cr_assert_eq(wake_entry_with(t, id, h->n[i]++, "input", "dormant", roll(h, 100), NULL, json_pack("{s:b}", "note", 1)), 0);
        else if (kind == 4)
                cr_assert_eq(wake_entry_with(t, id, h->n[i]++, "started", "execution", UINT64_MAX, NULL, json_pack("{s:i, s:s}", "lock", 7, "keyid", "00c0ffef")), 0);
        else
                cr_assert_eq(wake_entry_with(t, id, h->n[i]++, "checkpoint", "dormant", 3, wakes[roll(h, 5)], json_pack("{s:b, s:b}", "note", 1, "checkpoint", 1)), 0);
}

static void random_step(Txn *t, Random *h) {
        unsigned i = roll(h, 8);
        char id[REGION_ID_MAX];
        json_t *n;
        size_t woken;

        wake_id(i, id);
        n = json_u64(h->n[i]);
        switch (h->n[i] > 0 ? roll(h, 12) : 0) {
        case 0: case 1: case 2: case 3:
                random_entry(t, h, i, id);
                break;
        case 4:
                wake_slot(t, roll(h, 2) ? "a" : "b", (int)roll(h, 100));
                break;
        case 5:
                cr_assert_eq(fold_slot_append(t, &(Event){.type = "log", .who = "uid:0", .fields = json_pack("{s:i}", "a", (int)roll(h, 2))}, NULL), 0);
                break;
        case 6:
                cr_assert_eq(wake_event(t, "object.armed", json_pack("{s:s, s:O, s:i, s:[[s,n]]}", "object", id, "n", n, "due", 77, "wake", "slot/b")), 0);
                break;
        case 7:
                cr_assert_eq(wake_event(t, "object.moved", json_pack("{s:s, s:O}", "object", id, "n", n)), 0);
                break;
        case 8: {
                static const char *const hows[] = {"new", "ahead", "equal", "behind"};

                cr_assert_eq(wake_event(t, "object.imported", json_pack("{s:s, s:s, s:o*}", "object", id, "how", hows[roll(h, 4)], "unknown", roll(h, 5) ? NULL : json_true())), 0);
                break;
        }
        case 9: {
                char head[65];

                memset(head, 'a', 64);
                head[64] = '\0';
                cr_assert_eq(wake_event(t, "object.branch", json_pack("{s:s, s:i, s:i, s:s}", "object", id, "from", 1, "n", 9, "head", head)), 0);
                if (roll(h, 3) == 0)
                        break;
                if (roll(h, 2))
                        h->n[i] = 1 + roll(h, (unsigned)h->n[i]);
                cr_assert_eq(wake_event(t, "object.adopted", json_pack("{s:s, s:o, s:s, s:s, s:i}", "object", id, "n", json_u64(h->n[i]), "head", head, "state", "dormant", "due", 9)), 0);
                break;
        }
        case 10:
                cr_assert_eq(wake_event(t, roll(h, 2) ? "object.trusted" : "object.revoked", json_pack("{s:s, s:s, s:s}", "keyid", "00c0ffef", "node", "lethe/x", "vkey", "v")), 0);
                break;
        default:
                cr_assert_eq(wake_on_key(t, "policy", &woken), 0);
                if (roll(h, 4) == 0)
                        cr_assert_eq(wake_entry_with(t, id, h->n[i]++, "terminated", "terminated", UINT64_MAX, NULL, json_pack("{s:s}", "parent", "01000000000000000000000001")), 0);
        }
        json_decref(n);
}

// O-17: rows are a fold of the events alone: whatever happened, a rebuild has the same bytes
Test(wake, of_a_random_history_is_the_fold) {
        static const Table tables[] = {TABLE_OBJECT, TABLE_DUE, TABLE_WAKE};

        for (unsigned seed = 1; seed <= 8; seed++) {
                _cleanup_store_fixture_ StoreFixture f;
                Random h = {.state = seed * UINT64_C(0x9e3779b97f4a7c15)}, before = h;
                FoldResult fold;
                Diag d;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                for (unsigned i = 0; i < 400; i++) {
                        random_step(t, &h);
                        if (roll(&h, 30) > 0)
                                continue;
                        if (roll(&h, 3) == 0) {
                                uint64_t state = h.state;

                                store_abort(t);
                                h = before; /* what was rolled since then did not happen */
                                h.state = state;
                        } else
                                store_fixture_commit(&f, t);
                        before = h;
                        t = store_fixture_begin(&f, true);
                }
                wake_same(t, "at the end");
                for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                        cr_assert_eq(table_del_prefix(t, tables[i], BYTES(NULL, 0)), 0);
                cr_assert_eq(engine_fold_rebuild(t, &fold, &d), 0, "%s", d.text);
                cr_expect_gt(fold.differ, 20);
                wake_same(t, "made anew");
                store_fixture_commit(&f, t);
        }
}

/* Of the last row. */
static void last_key(Txn *t, Table table, uint8_t key[static 512], size_t *ret_n) {
        _cleanup_cursor_ Cursor *c = NULL;
        Bytes k, v;

        *ret_n = 0;
        cr_assert_eq(cursor_open(t, table, (Bytes){0}, &c), 0);
        while (cursor_next(c, &k, &v) == 0)
                memcpy(key, k.p, *ret_n = k.n);
        cr_assert_gt(*ret_n, 0, "%s is empty", table_name(table));
}

// O-17: each sort of damage of each table is found by the comparison with the ledger, and mended
Test(wake, each_damage_is_found) {
        static const Table tables[] = {TABLE_OBJECT, TABLE_DUE, TABLE_WAKE};
        static const char *const how[] = {"missing", "extra", "differs"};
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        wake_sleeper(t, wake_id(1, id), 7, "[[\"slot/a\",null]]");
        store_fixture_commit(&f, t);
        for (size_t i = 0; i < ARRAY_SIZE(tables); i++)
                for (int damage = 0; damage < 3; damage++) {
                        FoldResult fold;
                        uint8_t key[512];
                        size_t n;
                        int r;

                        t = store_fixture_begin(&f, true);
                        last_key(t, tables[i], key, &n);
                        key[n] = 'x';
                        r = damage == 0   ? table_del(t, tables[i], BYTES(key, n))
                            : damage == 1 ? table_put(t, tables[i], BYTES(key, n + 1), BYTES_STR("x"))
                                          : table_put(t, tables[i], BYTES(key, n), BYTES_STR("x"));
                        cr_assert_eq(r, 0);
                        cr_assert_eq(engine_fold_compare(t, &fold, &f.d), 0, "%s", f.d.text);
                        cr_assert(fold.how && strcmp(fold.how, how[damage]) == 0 && fold.table == tables[i] && fold.differ == 1, "%s %s: %s %lu",
                                  table_name(tables[i]), how[damage], fold.how ? fold.how : "none", fold.differ);
                        cr_assert_eq(engine_fold_rebuild(t, &fold, &f.d), 0, "%s", f.d.text);
                        wake_same(t, "mended");
                        store_abort(t);
                }
}

/* Events that contradict the rows are refused, and leave nothing after the abort. */
Test(wake, events_that_contradict_the_rows) {
        static const struct {
                const char *name, *type, *fields;
        } bad[] = {
                {"a number again", "object.entry", "{\"n\":2}"},
                {"a number too far", "object.entry", "{\"n\":4}"},
                {"no head", "object.entry", "{\"n\":3,\"head\":\"\"}"},
                {"no state", "object.entry", "{\"n\":3,\"state\":\"\"}"},
                {"no signer", "object.entry", "{\"n\":3,\"keyid\":\"\"}"},
                {"armed as it was", "object.armed", "{\"n\":2}"},
                {"moved as it was", "object.moved", "{\"n\":2}"},
                {"imported somehow", "object.imported", "{\"how\":\"else\"}"},
                {"a branch from nowhere", "object.branch", "{\"n\":2}"},
                {"adopted beyond the end", "object.adopted", "{\"n\":4}"},
                {"adopted from nothing", "object.adopted", "{\"n\":0}"},
                {"no object", "object.armed", "{\"object\":\"x\",\"n\":3}"},
                {"an object that is not here", "object.armed", "{\"object\":\"01000000000000000000000002\",\"n\":3}"},
                {"woken: no list", "object.woken", "{}"},
                {"a key without a name", "object.trusted", "{\"keyid\":\"00c0ffee\"}"},
        };
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], head[65];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        wake_sleeper(t, wake_id(1, id), 7, NULL);
        store_fixture_commit(&f, t);
        memset(head, 'b', 64);
        head[64] = '\0';
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_json_ json_t *o = json_pack("{s:s, s:s, s:s, s:s, s:s, s:i}", "object", id, "kind", "dormant", "state", "dormant",
                                                     "head", head, "keyid", "00c0ffee", "time_usec", 1),
                                      *over = json_loads(bad[i].fields, 0, NULL);

                json_object_update(o, over);
                t = store_fixture_begin(&f, true);
                cr_expect_eq(wake_event(t, bad[i].type, json_incref(o)), -EUCLEAN, "%s", bad[i].name);
                store_abort(t);
        }
        t = store_fixture_begin(&f, false);
        cr_expect_eq(wake_due_of(t, id), 7);
        wake_same(t, "after");
        store_abort(t);
}
