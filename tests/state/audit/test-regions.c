#include "audit/regions.h"
#include "base/clock.h"
#include "engine/engine.h"
#include "store/hooks.h"
#include "tests/support/store-fixture.h"

#include <string.h>

/* A ledger of one region a row, written through the engine (or, where the engine would refuse, straight), and what each of the questions
 * answers about it. */

#define NUMBERS(n) ",\"bytes_overwritten\":" n ",\"bytes_verified\":" n ",\"usec\":100"

static const struct {
        const char *name, *grant, *teardown, *ended;
        const char *applies; /* words of the questions, with spaces; "" none */
} rows[] = {
        // I-60: what is cleared and in order is in no answer
        {"cleared", "{\"discipline\":\"zero\",\"cancel_bound_usec\":1000}", "{\"grade\":\"cleared\"" NUMBERS("4096") "}", "exited", ""},
        {"cleared_early", "{\"discipline\":\"multipass\"}", "{\"grade\":\"cleared_early\"" NUMBERS("1") "}", "exited", ""},
        {"cleared_kernel", "{\"discipline\":\"multipass\"}", "{\"grade\":\"cleared_kernel\"" NUMBERS("0") "}", "signaled", ""},
        {"partial", "{\"discipline\":\"zero\"}", "{\"grade\":\"partial\"" NUMBERS("1") "}", "exited", "unproved"},
        {"unscrubbed", "{\"discipline\":\"zero\"}", "{\"grade\":\"unscrubbed\"" NUMBERS("0") "}", "exited", "unproved"},
        {"a grade that nobody knows", "{\"discipline\":\"zero\"}", "{\"grade\":\"pristine\"" NUMBERS("1") "}", "exited", "unproved"},
        {"no grade", "{\"discipline\":\"zero\"}", "{}", "exited", "unproved"},
        {"no record", "{\"discipline\":\"zero\"}", NULL, "exited", "unproved"},
        // the record is never better than its own numbers
        {"less verified than overwritten", "{}", "{\"grade\":\"cleared\",\"bytes_overwritten\":2,\"bytes_verified\":1}", "exited", "unproved"},
        {"less verified than held", "{}", "{\"grade\":\"cleared\",\"bytes_held\":2,\"bytes_overwritten\":1,\"bytes_verified\":1}", "exited", "unproved"},
        {"bytes missed", "{}", "{\"grade\":\"cleared\",\"bytes_missed\":1}", "exited", "unproved"},
        {"bytes missed by reason", "{}", "{\"grade\":\"cleared\",\"bytes_missed\":{\"shared\":0,\"gone\":4096}}", "exited", "unproved"},
        {"none missed, by reason", "{}", "{\"grade\":\"cleared\",\"bytes_missed\":{\"shared\":0,\"gone\":0}}", "exited", ""},
        {"a process missed", "{}", "{\"grade\":\"cleared\",\"counts\":{\"processes\":2,\"processes_missed\":1}}", "exited", "unproved"},
        {"registers missed", "{}", "{\"grade\":\"cleared\",\"counts\":{\"registers_missed\":1}}", "exited", "unproved"},
        {"nothing missed", "{}", "{\"grade\":\"cleared\",\"counts\":{\"processes\":2,\"processes_missed\":0,\"registers_missed\":0}}", "exited", ""},
        // what never ran held nothing, as long as nothing says that it ran
        {"nothing held", "{}", "{\"grade\":\"nothing_held\",\"counts\":{\"processes\":0}}", "failed_to_start", ""},
        {"nothing held by one process", "{}", "{\"grade\":\"nothing_held\",\"counts\":{\"processes\":1}}", "exited", "unproved"},
        {"nothing held, some of it missed", "{}", "{\"grade\":\"nothing_held\",\"bytes_missed\":{\"sections\":1}}", "exited", "unproved"},
        // I-31: discipline none is listed as such
        {"none", "{\"discipline\":\"none\"}", "{\"grade\":\"unscrubbed\"" NUMBERS("0") "}", "exited", "unproved weaker"},
        // I-28: relaxations are listable
        {"tree", "{\"discipline\":\"zero\",\"key_scope\":\"invocation-tree\"}", "{\"grade\":\"cleared\"" NUMBERS("1") "}", "exited", "relaxed"},
        // I-33: a bound that was passed
        {"late", "{\"cancel_bound_usec\":99}", "{\"grade\":\"cleared\"" NUMBERS("1") "}", "cancelled", "late"},
        {"as long, but not cancelled", "{\"cancel_bound_usec\":99}", "{\"grade\":\"cleared\"" NUMBERS("1") "}", "exited", ""},
        {"on the bound", "{\"cancel_bound_usec\":100}", "{\"grade\":\"cleared\"" NUMBERS("1") "}", "cancelled", ""},
};

static json_t *parsed(const char *text) {
        json_t *o = NULL;
        Diag d;

        cr_assert_eq(json_parse(text, strlen(text), 4096, 8, &o, &d), 0, "%s: %s", text, d.text);
        return o;
}

static void id_of(size_t i, char ret[REGION_ID_MAX]) {
        snprintf(ret, REGION_ID_MAX, "%026zu", i);
}

static void start(StoreFixture *f, Txn *t, const char *id, const char *skill, const char *grant_text) {
        _cleanup_json_ json_t *grant = parsed(grant_text);
        RegionStart s = {.region = id, .skill_name = skill, .skill_digest = "sha256:0", .tier = "namespaces", .grant = grant};

        cr_assert_eq(engine_region_start(t, &s, NULL, NULL, &f->d), 0, "%s", f->d.text);
}

static void whole_life(StoreFixture *f, Txn *t, size_t i) {
        _cleanup_json_ json_t *teardown = rows[i].teardown ? parsed(rows[i].teardown) : NULL;
        _cleanup_json_ json_t *released = json_object(), *ended = json_pack("{s:s}", "outcome", rows[i].ended);
        char id[REGION_ID_MAX];

        id_of(i, id);
        start(f, t, id, rows[i].name, rows[i].grant);
        if (teardown)
                json_object_set(released, "teardown", teardown);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, true, released, ended}, NULL, NULL, NULL), 0);
}

static void history(StoreFixture *f, const HistoryQuery *q, History *ret) {
        _cleanup_txn_ Txn *t = store_fixture_begin(f, false);

        cr_assert_eq(history_read(t, q, ret, &f->d), 0, "%s", f->d.text);
}

static void answers(const RegionFacts *r, char ret[200]) {
        *ret = 0;
        for (RegionQuestion q = 0; q < REGION_QUESTIONS_N; q++)
                if (region_question_is(q, r)) {
                        strcat(ret, *ret ? " " : "");
                        strcat(ret, region_questions[q].word);
                }
}

Test(regions, each_question_finds_what_it_asks_for) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_history_ History h = {0};
        char got[200];
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++)
                whole_life(&f, t, i);
        store_fixture_commit(&f, t);
        history(&f, &(HistoryQuery){0}, &h);
        cr_assert_eq(h.n, ARRAY_SIZE(rows));
        for (size_t i = 0; i < h.n; i++) {
                answers(h.regions[i], got);
                cr_assert_str_eq(got, rows[i].applies, "%s: answers \"%s\", not \"%s\"", rows[i].name, got, rows[i].applies);
                cr_assert_str_eq(h.regions[i]->skill, rows[i].name);
        }
}

// I-15, I-60: orders that the engine would never write, as somebody with the key could.
static void say(Txn *t, const char *type, const char *id) {
        cr_assert_eq(engine_event(t, id, type, NULL, NULL), 0);
}

Test(regions, every_allocation_has_one_release_before_its_end) {
        static const struct {
                const char *name, *says[4];
                bool in_order;
        } orders[] = {
                {"alive", {NULL}, true},
                {"right", {"region.released", "invocation.ended"}, true},
                {"recovered", {"region.released", "region.recovered", "invocation.ended"}, true},
                {"ended without release", {"invocation.ended"}, false},
                {"released after the end", {"invocation.ended", "region.released"}, false},
                {"released twice", {"region.released", "region.released", "invocation.ended"}, false},
        };
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_history_ History h = {0};
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
                char id[REGION_ID_MAX];

                id_of(i, id);
                start(&f, t, id, "s", "{}");
                for (size_t k = 0; k < ARRAY_SIZE(orders[i].says) && orders[i].says[k]; k++)
                        say(t, orders[i].says[k], id);
        }
        store_fixture_commit(&f, t);
        history(&f, &(HistoryQuery){0}, &h);
        for (size_t i = 0; i < h.n; i++)
                cr_assert_eq(facts_in_order(h.regions[i]), orders[i].in_order, "%s", orders[i].name);
        cr_assert(h.regions[2]->recovered > 0);
        cr_assert(region_question_is(REGION_RECOVERED, h.regions[2]));
        history_deinit(&h);

        /* The supervisor goes: what it left alive is an allocation without release. */
        store_fixture_close(&f);
        store_fixture_open(&f, STORE_READ);
        history(&f, &(HistoryQuery){0}, &h);
        cr_assert(region_question_is(REGION_UNRELEASED, h.regions[0]));
        cr_assert_eq(h.regions[0]->orphan, true);
}

Test(regions, only_what_was_asked_for) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t between;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        start(&f, t, "00000000000000000000000001", "a", "{\"key_scope\":\"invocation-tree\"}");
        store_fixture_commit(&f, t);
        between = clock_real_usec() + 1;
        while (clock_real_usec() <= between)
                usleep(1);
        t = store_fixture_begin(&f, true);
        start(&f, t, "00000000000000000000000002", "b", "{}");
        store_fixture_commit(&f, t);
        const struct {
                HistoryQuery q;
                const char *skills;
        } queries[] = {{{0}, "ab"},
                       {{.since_usec = between}, "b"},
                       {{.until_usec = between}, "a"},
                       {{.since_usec = between, .until_usec = between}, ""},
                       {{.skill = "b"}, "b"},
                       {{.skill = "c"}, ""},
                       {{.scope = "invocation"}, "b"},
                       {{.scope = "invocation-tree"}, "a"},
                       {{.region = "00000000000000000000000002"}, "b"}};
        for (size_t i = 0; i < ARRAY_SIZE(queries); i++) {
                _cleanup_history_ History h = {0};

                history(&f, &queries[i].q, &h);
                cr_assert_eq(h.n, strlen(queries[i].skills), "query %zu: %zu regions", i, h.n);
                for (size_t k = 0; k < h.n; k++)
                        cr_assert_eq(*h.regions[k]->skill, queries[i].skills[k], "query %zu", i);
        }
}

// No answer about entries that the checkpoint was not signed for.
Test(regions, changed_entries_are_not_spoken_of) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_history_ History h = {0};
        _cleanup_txn_ Txn *read = NULL;
        char entry[4096];
        uint8_t key[8];
        Bytes e;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        whole_life(&f, t, 4);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, true);
        be64_put(key, 2);
        cr_assert_eq(table_get(t, TABLE_EVENT, BYTES(key, 8), &e), 0);
        cr_assert(e.n < sizeof(entry));
        memcpy(entry, e.p, e.n);
        memcpy(memmem(entry, e.n, "unscrubbed", 10), "cleared\",\"x", 10);
        cr_assert_eq(table_put(t, TABLE_EVENT, BYTES(key, 8), BYTES(entry, e.n)), 0);
        store_fixture_commit(&f, t);
        read = store_fixture_begin(&f, false);
        cr_assert_eq(history_read(read, &(HistoryQuery){0}, &h, &f.d), HISTORY_E_BROKEN, "%s", f.d.text);
        cr_assert(strstr(f.d.text, "lethe audit"), "%s", f.d.text);
}

/* An entry that was too large has its fields in its payload, outside of the tree: only the commitment speaks for them. */
Test(regions, a_changed_payload_is_not_spoken_of) {
        static char many[LEDGER_ENTRY_MAX + 100], row[LEDGER_ENTRY_MAX + 4096];
        _cleanup_json_ json_t *teardown = parsed("{\"grade\":\"unscrubbed\"}"), *released = json_object(), *ended = json_pack("{s:s}", "outcome", "exited");
        _cleanup_store_fixture_ StoreFixture f;
        uint8_t key[8];
        size_t n;
        Bytes v;
        Txn *t;

        memset(many, 'x', sizeof(many) - 1);
        json_object_set_new(teardown, "many", json_string(many));
        json_object_set(released, "teardown", teardown);
        store_fixture_init(&f, STORE_SUPERVISE);
        t = store_fixture_begin(&f, true);
        start(&f, t, "00000000000000000000000001", "s", "{}");
        cr_assert_eq(engine_region_end(t, &(RegionEnd){"00000000000000000000000001", true, released, ended}, NULL, NULL, NULL), 0);
        store_fixture_commit(&f, t);
        for (unsigned i = 0; i < 3; i++) { /* as written, changed, erased */
                _cleanup_history_ History h = {0};
                _cleanup_txn_ Txn *read = NULL;
                int r;

                t = store_fixture_begin(&f, true);
                be64_put(key, 2);
                cr_assert_eq(table_get(t, TABLE_BODY, BYTES(key, 8), &v), 0);
                n = v.n;
                cr_assert(n > LEDGER_ENTRY_MAX && n < sizeof(row));
                memcpy(row, v.p, n);
                if (i == 1)
                        memcpy(memmem(row, n, "\"unscrubbed\"", 12), "\"cleared\"   ", 12);
                cr_assert_eq(i < 2 ? table_put(t, TABLE_BODY, BYTES(key, 8), BYTES(row, n)) : table_del(t, TABLE_BODY, BYTES(key, 8)), 0);
                store_fixture_commit(&f, t);
                read = store_fixture_begin(&f, false);
                r = history_read(read, &(HistoryQuery){0}, &h, &f.d);
                cr_assert_eq(r, i == 1 ? HISTORY_E_BROKEN : 0, "%u: %d %s", i, r, f.d.text);
                cr_assert(i == 1 || (h.n == 1 && region_question_is(REGION_UNPROVED, h.regions[0])), "%u", i);
        }
}
