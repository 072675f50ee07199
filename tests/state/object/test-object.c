#include "audit/audit.h"
#include "object/append.h"
#include "object/trigger.h"
#include "store/hooks.h"
#include "tests/state/engine/gather-fixture.h"
#include "tests/state/object/wake-fixture.h"

#include <errno.h>
#include <sys/stat.h>

#define SKILL "{\"do\":{\"skill\":\"x\"}}"
#define NOW UINT64_C(1700000000000000)

static int create(Txn *t, const char *intent, char id[static REGION_ID_MAX], Diag *d) {
        _cleanup_json_ json_t *o = json_loads(intent, 0, NULL);
        uint64_t seq;

        cr_assert(o, "%s", intent);
        return object_create(t, &(ObjectNew){.who = "uid:0", .intent = o, .policy = "p1", .now_usec = NOW}, id, &seq, d);
}

static void created(Txn *t, char id[static REGION_ID_MAX]) {
        Diag d = {0};

        cr_assert_eq(create(t, SKILL, id, &d), 0, "%s", d.text);
}

static void opened(Txn *t, const char *id, Appending *a) {
        Diag d = {0};

        *a = APPENDING_NULL;
        cr_assert_eq(append_open(t, id, a, &d), 0, "%s", d.text);
        a->who = "uid:0";
        a->trace = "01000000000000000000000000";
        a->now_usec = NOW + 1000 * a->memory.n;
}

static void appended(Appending *a, EntryKind kind, json_t *data) {
        Diag d = {0};
        int r = append_entry(a, kind, NULL, data, NULL, &d);

        cr_assert_eq(r, 0, "%s: %d %s", entry_kind_name(kind), r, d.text);
        json_decref(data);
}

static json_t *sleep_data(const char *trigger, uint64_t not_before, const char *self) {
        _cleanup_json_ json_t *o = json_loads(trigger, 0, NULL);
        json_t *complete = NULL;
        Diag d = {0};

        cr_assert_eq(trigger_complete(o, self, &complete, &d), 0, "%s: %s", trigger, d.text);
        return json_pack("{s:o, s:s, s:o}", "trigger", complete, "reason", "test", "not_before", json_u64(not_before));
}

/* The object falls asleep at NOW. */
static void asleep(Txn *t, const char *id, const char *trigger, uint64_t not_before) {
        _cleanup_appending_ Appending a;

        opened(t, id, &a);
        if (a.memory.state == OBJECT_INSTANTIATED)
                appended(&a, ENTRY_EVALUATION, NULL);
        a.now_usec = NOW;
        appended(&a, ENTRY_DORMANT, sleep_data(trigger, not_before, id));
}

// O-1, O-2, O-3, O-25: a creation that is refused leaves nothing
Test(object, refused_creations) {
        static const struct {
                const char *name, *intent, *scope, *meta, *outer, *id;
                uint64_t max;
                int code;
        } bad[] = {
                {"no do", "{}", NULL, NULL, NULL, NULL, 0, ENGINE_E_BAD_INTENT},
                {"no object", "[]", NULL, NULL, NULL, NULL, 0, ENGINE_E_BAD_INTENT},
                {"an unknown member", "{\"do\":{\"skill\":\"x\"},\"or\":1}", NULL, NULL, NULL, NULL, 0, ENGINE_E_BAD_INTENT},
                {"an empty trigger", "{\"do\":{\"wait\":{\"any\":[]}}}", NULL, NULL, NULL, NULL, 0, ENGINE_E_BAD_INTENT},
                {"a skill that the scope lacks", SKILL, "{\"skills\":[\"y\"]}", NULL, NULL, NULL, 0, ENGINE_E_BEYOND_SCOPE},
                {"a scope wider than the parent's", SKILL, "{\"skills\":[\"x\"],\"writes\":[\"a\"]}", NULL,
                 "{\"skills\":\"*\",\"reads\":[],\"writes\":[],\"depth\":1,\"fanout\":64}", NULL, 0, ENGINE_E_BEYOND_SCOPE},
                {"meta that is no object", SKILL, NULL, "1", NULL, NULL, 0, ENGINE_E_BAD_INTENT},
                {"no id", SKILL, NULL, NULL, NULL, "abc", 0, ENGINE_E_BAD_NAME},
                {"an id that is used", SKILL, NULL, NULL, NULL, "01000000000000000000000001", 0, ENGINE_E_EXISTS},
                {"too many", SKILL, NULL, NULL, NULL, NULL, 1, ENGINE_E_TOO_MANY},
        };
        _cleanup_store_fixture_ StoreFixture f;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        {
                _cleanup_json_ json_t *intent = json_loads(SKILL, 0, NULL);
                char id[REGION_ID_MAX];

                cr_assert_eq(object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "p", .now_usec = NOW, .id = "01000000000000000000000001"}, id, NULL, &f.d), 0, "%s", f.d.text);
        }
        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_json_ json_t *intent = json_loads(bad[i].intent, 0, NULL), *scope = bad[i].scope ? json_loads(bad[i].scope, 0, NULL) : NULL,
                                      *meta = bad[i].meta ? json_loads(bad[i].meta, JSON_DECODE_ANY, NULL) : NULL,
                                      *outer = bad[i].outer ? json_loads(bad[i].outer, 0, NULL) : NULL, *list = NULL;
                char id[REGION_ID_MAX] = "";
                Diag d = {0};
                int r = object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .scope = scope, .meta = meta, .outer = outer, .id = bad[i].id,
                                                      .max_objects = bad[i].max, .policy = "p", .now_usec = NOW}, id, NULL, &d);

                cr_expect_eq(r, bad[i].code, "%s: %d %s", bad[i].name, r, d.text);
                cr_expect(*d.text, "%s", bad[i].name);
                cr_assert_eq(object_list(t, OBJECT_NONE, &list), 0);
                cr_expect_eq(json_array_size(list), 1, "%s", bad[i].name);
        }
        wake_same(t, "after");
        store_fixture_commit(&f, t);
}

/* O-30, O-31: the rows of `due` and `wake` of an object that fell asleep on this trigger at NOW. {self}: its id. */
static const struct {
        const char *name, *trigger;
        uint64_t not_before, due;
        const char *keys;
} sleeps[] = {
        {"a time for which", "{\"elapsed\":{\"for\":\"1s\"}}", 0, NOW + 1000000, ""},
        {"a time at which", "{\"elapsed\":{\"at\":1700000005000000}}", 0, NOW + 5000000, ""},
        {"a slot", "{\"prerequisite\":{\"slot\":\"a\"}}", 0, UINT64_MAX, "slot/a"},
        {"a slot that is there already", "{\"prerequisite\":{\"slot\":\"a\"}}", NOW + 7, NOW + 7, "slot/a"},
        {"an object", "{\"prerequisite\":{\"object\":\"01000000000000000000000009\"}}", 0, UINT64_MAX, "object/01000000000000000000000009"},
        {"an event", "{\"event\":{\"type\":\"slot.written\",\"match\":{\"slot\":\"b\"}}}", 0, UINT64_MAX, "event/slot.written"},
        {"a policy", "{\"policy\":{\"not\":\"p1\"}}", 0, UINT64_MAX, "policy"},
        {"the earliest of any", "{\"any\":[{\"elapsed\":{\"for\":\"9s\"}},{\"elapsed\":{\"for\":\"2s\"}},{\"prerequisite\":{\"slot\":\"a\"}}]}", 0, NOW + 2000000, "slot/a"},
        {"all: the slot may be there by then", "{\"all\":[{\"elapsed\":{\"for\":\"2s\"}},{\"prerequisite\":{\"slot\":\"a\"}}]}", 0, NOW + 2000000, "slot/a"},
        {"outcomes without children", "{\"outcomes\":{\"kind\":\"input\",\"n\":1}}", 0, UINT64_MAX, ""},
};

// O-30: a wake trigger is stored with dormancy, as rows of due and wake
Test(object, rows_of_a_sleeper) {
        for (size_t i = 0; i < ARRAY_SIZE(sleeps); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_object_row_ ObjectRow row = {0};
                char id[REGION_ID_MAX], keys[256];
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                cr_expect_eq(wake_due_of(t, id), 0);
                asleep(t, id, sleeps[i].trigger, sleeps[i].not_before);
                cr_expect_eq(wake_due_of(t, id), sleeps[i].due, "%s: %" PRIu64, sleeps[i].name, wake_due_of(t, id));
                cr_expect_str_eq(wake_keys_of(t, id, keys, sizeof(keys)), sleeps[i].keys, "%s: %s", sleeps[i].name, keys);
                cr_assert_eq(object_get(t, id, &row, &f.d), 0);
                cr_expect_eq(row.due_usec, sleeps[i].due, "%s", sleeps[i].name);
                cr_expect_eq(row.state, OBJECT_DORMANT);
                wake_same(t, sleeps[i].name);
                store_fixture_commit(&f, t);
        }
}

static uint64_t events(Txn *t) {
        uint64_t n;

        cr_assert_eq(table_rows(t, TABLE_EVENT, &n), 0);
        return n;
}

// O-33: an encounter whose conditions do not hold appends nothing, however often; a wake that was none is armed anew, once
Test(object, polling_grows_nothing) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], keys[256];
        uint64_t before;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        created(t, id);
        asleep(t, id, "{\"all\":[{\"prerequisite\":{\"slot\":\"a\",\"above\":5}},{\"elapsed\":{\"for\":\"9s\"}},{\"event\":{\"type\":\"slot.written\",\"match\":{\"slot\":\"b\"}}}]}", 0);
        before = events(t);
        for (int poll = 0; poll < 3; poll++) {
                _cleanup_appending_ Appending a;

                opened(t, id, &a);
                cr_assert_eq(append_armed(&a), 0);
        }
        cr_expect_eq(events(t), before);

        wake_slot(t, "a", 1); /* defined, written, woken */
        cr_expect_eq(events(t), before + 3);
        cr_expect_eq(wake_due_of(t, id), 0);
        cr_expect_str_eq(wake_keys_of(t, id, keys, sizeof(keys)), "event/slot.written");
        wake_slot(t, "b", 1);
        cr_expect_str_eq(wake_keys_of(t, id, keys, sizeof(keys)), "", "%s", keys);
        before = events(t);
        for (int poll = 0; poll < 3; poll++) {
                _cleanup_appending_ Appending a;

                opened(t, id, &a);
                a.now_usec = NOW + 5;
                cr_assert_eq(append_armed(&a), 0);
                cr_expect_eq(a.row.due_usec, NOW + 9000000, "%" PRIu64, a.row.due_usec);
                cr_expect_eq(a.memory.n, 3);
        }
        cr_expect_eq(events(t), before + 1);
        cr_expect_eq(wake_due_of(t, id), NOW + 9000000);
        cr_expect_str_eq(wake_keys_of(t, id, keys, sizeof(keys)), "slot/a", "%s", keys);
        wake_same(t, "after");
        store_fixture_commit(&f, t);
}

// O-33, O-48: an input counts for a trigger of outcomes: the object is looked at, and stays asleep
Test(object, a_note_on_a_sleeper) {
        static const struct {
                const char *name, *trigger;
                uint64_t due;
        } notes[] = {
                {"its trigger counts inputs", "{\"outcomes\":{\"kind\":\"input\",\"n\":2}}", 0},
                {"its trigger does not", "{\"elapsed\":{\"for\":\"1s\"}}", NOW + 1000000},
        };

        for (size_t i = 0; i < ARRAY_SIZE(notes); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *answer = NULL, *input = json_string("hello");
                char id[REGION_ID_MAX];
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                asleep(t, id, notes[i].trigger, 0);
                cr_assert_eq(object_input(t, id, "uid:0", "test", input, &answer, &f.d), 0, "%s", f.d.text);
                cr_expect_str_eq(json_str(answer, "state"), "dormant");
                cr_expect_eq(wake_due_of(t, id), notes[i].due, "%s: %" PRIu64, notes[i].name, wake_due_of(t, id));
                wake_same(t, notes[i].name);
                store_fixture_commit(&f, t);
        }
}

// O-20, O-35: the end is final, and the object stays readable
Test(object, the_end) {
        static const ObjectState from[] = {OBJECT_INSTANTIATED, OBJECT_EVALUATION, OBJECT_DORMANT, OBJECT_REENTRY};

        for (size_t i = 0; i < ARRAY_SIZE(from); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *answer = NULL, *again = NULL, *history = NULL, *list = NULL, *input = json_true();
                _cleanup_object_row_ ObjectRow row = {0};
                char id[REGION_ID_MAX];
                uint64_t before;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                if (from[i] != OBJECT_INSTANTIATED) {
                        _cleanup_appending_ Appending a;

                        opened(t, id, &a);
                        appended(&a, ENTRY_EVALUATION, NULL);
                        if (from[i] >= OBJECT_DORMANT)
                                appended(&a, ENTRY_DORMANT, sleep_data("{\"elapsed\":{\"for\":\"1s\"}}", 0, id));
                        if (from[i] == OBJECT_REENTRY)
                                appended(&a, ENTRY_REENTRY, json_pack("{s:{s:{s:i}}, s:{}}", "trigger", "elapsed", "for_usec", 1000000, "evidence"));
                }
                cr_assert_eq(object_end(t, id, "uid:0", "requested", &answer, &f.d), 0, "%s: %s", object_state_name(from[i]), f.d.text);
                cr_expect_str_eq(json_str(answer, "state"), "terminated");
                cr_expect_eq(wake_due_of(t, id), UINT64_MAX);
                before = events(t);
                cr_expect_eq(object_end(t, id, "uid:0", "requested", &again, &f.d), ENGINE_E_TERMINATED);
                cr_expect_eq(object_input(t, id, "uid:0", "test", input, &again, &f.d), ENGINE_E_TERMINATED);
                cr_expect_eq(events(t), before);
                cr_assert_eq(object_get(t, id, &row, &f.d), 0);
                cr_assert_eq(object_history(t, &row, 0, &history, &f.d), 0);
                cr_expect_eq(json_array_size(history), row.n);
                cr_assert_eq(object_list(t, OBJECT_TERMINATED, &list), 0);
                cr_expect_str_eq(json_str(json_array_get(list, 0), "reason"), "requested");
                wake_same(t, object_state_name(from[i]));
                store_fixture_commit(&f, t);
        }
}

// O-30: objects that wait for a verdict wake between the verdict and its write, and the audit knows
Test(object, woken_by_a_verdict) {
        _cleanup_store_fixture_ StoreFixture f;
        char id[REGION_ID_MAX], region[REGION_ID_MAX];
        uint64_t version;
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        gather_define(&f, "a", "first/2");
        gather_define(&f, "b", NULL);
        gather_define(&f, "plain", NULL);
        t = store_fixture_begin(&f, true);
        created(t, id);
        asleep(t, id, "{\"event\":{\"type\":\"slot.arbitrated\",\"match\":{\"slot\":\"a\"}}}", 0);
        store_fixture_commit(&f, t);
        gather_one(&f, "s", "a", "one", -1, region);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(wake_due_of(t, id), UINT64_MAX);
        store_abort(t);
        gather_one(&f, "s", "a", "one", -1, region);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(wake_due_of(t, id), 0);
        wake_same(t, "after");
        store_abort(t);
        cr_expect_str_eq(gather_value(&f, "a", &version), "one");
        gather_audit(&f);
}

/* Words and inputs of others have bounds, and are UTF-8; a refusal appends nothing. */
Test(object, refused_words) {
        static char word[OBJECT_WORD_MAX + 2], large[300 * 1024];
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *small = json_true(), *big = NULL, *number = json_integer(INT64_C(1) << 60), *answer = NULL;
        char id[REGION_ID_MAX];
        uint64_t before;
        Txn *t;

        memset(word, 'w', sizeof(word) - 1);
        memset(large, 'l', sizeof(large) - 1);
        big = json_string(large);
        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        created(t, id);
        before = events(t);
        cr_expect_eq(object_input(t, id, "uid:0", word, small, &answer, &f.d), ENGINE_E_TOO_LARGE);
        cr_expect_eq(object_input(t, id, "uid:0", "\xff", small, &answer, &f.d), ENGINE_E_BAD_UTF8);
        cr_expect_eq(object_input(t, id, "uid:0", "test", big, &answer, &f.d), ENGINE_E_TOO_LARGE, "%s", f.d.text);
        cr_expect_gt(object_input(t, id, "uid:0", "test", number, &answer, &f.d), 0, "%s", f.d.text);
        cr_expect_eq(object_end(t, id, "uid:0", word, &answer, &f.d), ENGINE_E_TOO_LARGE);
        cr_expect_eq(object_end(t, id, "uid:0", "\xc3", &answer, &f.d), ENGINE_E_BAD_UTF8);
        cr_expect_eq(object_end(t, "01000000000000000000000001", "uid:0", "x", &answer, &f.d), ENGINE_E_NO_OBJECT);
        cr_expect_eq(object_end(t, "../x", "uid:0", "x", &answer, &f.d), ENGINE_E_NO_OBJECT);
        cr_expect_eq(events(t), before);
        cr_expect_null(answer);
        word[OBJECT_WORD_MAX] = '\0';
        cr_expect_eq(object_end(t, id, "uid:0", word, &answer, &f.d), 0, "%s", f.d.text);
        wake_same(t, "after");
        store_fixture_commit(&f, t);
}

/* A random history of one object, by the way that all verbs take; the same for the same seed. */
static void random_step(Appending *a, uint64_t *state) {
        ObjectState s = a->memory.state;
        unsigned roll;

        *state ^= *state << 13;
        *state ^= *state >> 7;
        *state ^= *state << 17;
        roll = (unsigned)(*state >> 11);
        a->now_usec += roll % 5000;
        if (roll % 3 == 0)
                appended(a, ENTRY_INPUT, json_pack("{s:s, s:i}", "from", "test", "input", (int)(roll % 1000)));
        else if (s == OBJECT_INSTANTIATED || s == OBJECT_REENTRY)
                appended(a, ENTRY_EVALUATION, NULL);
        else if (s == OBJECT_EVALUATION && roll % 2)
                appended(a, ENTRY_DORMANT, sleep_data(roll % 5 ? "{\"elapsed\":{\"for\":\"1s\"}}" : "{\"prerequisite\":{\"slot\":\"a\"}}", 0, a->memory.object));
        else if (s == OBJECT_EVALUATION)
                appended(a, ENTRY_STARTED, json_pack("{s:s, s:[], s:i, s:i, s:i}", "skill", "x", "args", "deadline_usec", 1000, "step", 0, "attempt", 1));
        else if (s == OBJECT_EXECUTION) {
                _cleanup_json_ json_t *outcome = json_pack("{s:s, s:i}", "kind", roll % 4 ? "failure" : "success", "latency_usec", 5);
                Diag d = {0};

                cr_assert_eq(append_entry(a, ENTRY_OUTCOME, outcome, NULL, NULL, &d), 0, "%s", d.text);
        } else if (s == OBJECT_DORMANT)
                appended(a, ENTRY_REENTRY, json_pack("{s:{s:{s:i}}, s:{}}", "trigger", "elapsed", "for_usec", 1000000, "evidence"));
}

static json_t *lines_of(Txn *t, const ObjectRow *row) {
        json_t *lines = json_array();

        for (uint64_t n = 0; n < row->n; n++) {
                uint64_t seq;
                Bytes line;

                cr_assert_eq(object_entry_seq(t, row->object, n, &seq), 0);
                cr_assert_eq(body_get(t, seq, NULL, &line), 0);
                json_array_append_new(lines, json_stringn(line.p, line.n));
        }
        return lines;
}

// O-6: no prior entry is ever overwritten, whatever is done; O-7: each is signed, and its chain holds
// O-17, O-54: the fold from the newest checkpoint is the fold from the first entry, and a rebuild has the same bytes
Test(object, random_histories) {
        for (unsigned seed = 1; seed <= 4; seed++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_json_ json_t *before = json_array(), *answer = NULL;
                uint64_t state = seed * UINT64_C(0x9e3779b97f4a7c15);
                char id[REGION_ID_MAX];
                AuditReport report;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                store_fixture_commit(&f, t);
                for (unsigned round = 0; round < 30; round++) {
                        _cleanup_json_ json_t *now = NULL, *whole = NULL, *part = NULL;
                        _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                        _cleanup_appending_ Appending a;

                        t = store_fixture_begin(&f, true);
                        wake_forget();
                        opened(t, id, &a);
                        for (unsigned i = 0; i < 8; i++)
                                random_step(&a, &state);
                        cr_assert_eq(object_memory(t, &a.row, true, &m, &f.d), 0, "%s", f.d.text);
                        cr_assert(memory_to_json(&m, &whole) == 0 && memory_to_json(&a.memory, &part) == 0);
                        cr_assert(json_equal(whole, part), "seed %u, round %u: %s\n%s", seed, round, json_dumps(whole, 0), json_dumps(part, 0));
                        now = lines_of(t, &a.row);
                        for (size_t i = 0; i < json_array_size(before); i++)
                                cr_assert(json_equal(json_array_get(before, i), json_array_get(now, i)), "seed %u: entry %zu is another one", seed, i);
                        json_decref(before);
                        before = json_incref(now);
                        wake_same(t, "in between");
                        store_fixture_commit(&f, t);
                }
                t = store_fixture_begin(&f, true);
                {
                        _cleanup_object_row_ ObjectRow row = {0};
                        _cleanup_json_ json_t *now = NULL;

                        cr_assert_eq(object_end(t, id, "uid:0", "requested", &answer, &f.d), 0, "%s", f.d.text);
                        cr_assert_eq(object_get(t, id, &row, &f.d), 0);
                        cr_assert_gt(row.checkpoint, 128);
                        now = lines_of(t, &row);
                        for (size_t i = 0; i < json_array_size(now); i++) {
                                _cleanup_entry_ Entry e = ENTRY_NULL;

                                cr_assert_eq(entry_parse(json_text(json_array_get(now, i)), json_string_length(json_array_get(now, i)), &e, &f.d), 0, "%s", f.d.text);
                                cr_assert_eq(entry_verify(&e, store_public_key(f.store), &f.d), 0, "%s", f.d.text);
                        }
                }
                store_fixture_commit(&f, t);
                cr_assert_eq(audit_run(f.store, &report), 0, "%s; expected %s; found %s", report.what, report.expected, report.found);
                cr_assert_eq(audit_fold(f.store, &report, &f.d), 0, "%s; expected %s; found %s", report.what, report.expected, report.found);
        }
}

// O-8, O-43: the head in the row is compared with the entries at each reading
Test(object, the_head_is_kept) {
        static const struct {
                const char *name, *member;
        } bad[] = {{"another head", "head"}, {"fewer entries", "n"}, {"another state", "state"}};

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                _cleanup_object_row_ ObjectRow row = {0};
                _cleanup_memory_ ObjectMemory m = OBJECT_MEMORY_NULL;
                _cleanup_appending_ Appending a;
                _cleanup_json_ json_t *o = NULL;
                _cleanup_free_ char *text = NULL;
                char id[REGION_ID_MAX], key[REGION_ID_MAX + 3], head[65];
                size_t n;
                int r;
                Txn *t;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                opened(t, id, &a);
                appended(&a, ENTRY_EVALUATION, NULL);
                cr_assert_eq(object_row_get(t, id, &o), 0);
                memset(head, '0', 64);
                head[64] = '\0';
                json_object_set_new(o, bad[i].member, i == 0 ? json_string(head) : i == 1 ? json_u64(1) : json_string("dormant"));
                cr_assert_eq(json_canonical(o, &text, &n), 0);
                memcpy(key, id, REGION_ID_MAX);
                memcpy(key + REGION_ID_MAX, "row", 3);
                cr_assert_eq(table_put(t, TABLE_OBJECT, BYTES(key, sizeof(key)), BYTES(text, n)), 0);
                cr_assert_eq(object_get(t, id, &row, &f.d), 0);
                r = object_memory(t, &row, false, &m, &f.d);
                cr_expect_eq(r, ENGINE_E_BAD_CHAIN, "%s: %d", bad[i].name, r);
                store_abort(t);
        }
}

// O-43: of two that read one head only one appends
Test(object, two_evaluators_of_one_head) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_appending_ Appending a, b;
        char id[REGION_ID_MAX];
        uint64_t before;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        created(t, id);
        before = events(t);
        store_fixture_commit(&f, t);
        t = store_fixture_begin(&f, true);
        opened(t, id, &a);
        opened(t, id, &b);
        appended(&a, ENTRY_EVALUATION, NULL);
        cr_expect_eq(append_entry(&b, ENTRY_EVALUATION, NULL, NULL, NULL, &f.d), -EUCLEAN);
        store_abort(t);
        t = store_fixture_begin(&f, false);
        cr_expect_eq(events(t), before);
        wake_same(t, "after");
        store_abort(t);
}

// O-24: a child and its parent name each other
Test(object, of_a_parent) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *intent = json_loads(SKILL, 0, NULL), *list = NULL, *answer = NULL;
        char parent[REGION_ID_MAX], child[REGION_ID_MAX];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        created(t, parent);
        cr_assert_eq(object_create(t, &(ObjectNew){.who = "uid:0", .intent = intent, .policy = "p", .now_usec = NOW, .id = "01000000000000000000000001",
                                                   .parent = parent, .serial = 1}, child, NULL, &f.d), 0, "%s", f.d.text);
        cr_expect_str_eq(child, "01000000000000000000000001");
        cr_assert_eq(object_list(t, OBJECT_NONE, &list), 0);
        cr_expect_str_eq(json_str(json_array_get(list, 0), "parent"), parent);
        wake_entry(t, "01000000000000000000000002", 0, "dormant", "dormant", UINT64_MAX, NULL);
        cr_assert_eq(wake_event(t, "object.armed", json_pack("{s:s, s:i, s:[[s+, n]]}", "object", "01000000000000000000000002", "n", 1, "wake", "child/", parent)), 0);
        cr_assert_eq(object_end(t, child, "uid:0", "requested", &answer, &f.d), 0, "%s", f.d.text);
        cr_expect_eq(wake_due_of(t, "01000000000000000000000002"), 0);
        wake_same(t, "after");
        store_abort(t);
}

static int sign_with_store(void *userdata, const void *msg, size_t n, uint8_t ret[static ENTRY_SIG_BYTES]) {
        return store_sign(userdata, msg, n, ret);
}

/* A second entry of the object, wrong in one way, recorded as if it were right. */
static void record_wrong(StoreFixture *f, Txn *t, const char *id, const char *how) {
        _cleanup_object_row_ ObjectRow row = {0};
        _cleanup_entry_ Entry e = ENTRY_NULL;
        _cleanup_buf_ Buf line = {0};
        char keyid[ENTRY_KEYID_LEN + 1], head[HASH_HEX_MAX];
        uint8_t prev[32] = {1};
        bool moves = strcmp(how, "moves") == 0, cut = strcmp(how, "prev") == 0;

        cr_assert_eq(object_get(t, id, &row, &f->d), 0);
        append_keyid(f->store, keyid);
        cr_assert_eq(entry_make(&(EntryNew){.object = strcmp(how, "object") == 0 ? "01000000000000000000000005" : id, .n = strcmp(how, "n") == 0 ? 2 : 1,
                                            .time_usec = NOW, .prev = cut ? prev : row.head, .node = store_origin(f->store), .trace = id,
                                            .kind = moves ? ENTRY_REENTRY : ENTRY_EVALUATION, .state = moves ? OBJECT_REENTRY : OBJECT_EVALUATION},
                                keyid, sign_with_store, f->store, &e, &f->d), 0, "%s", f->d.text);
        if (strcmp(how, "signature") == 0)
                e.sig[7] ^= 1;
        cr_assert_eq(entry_print(&e, &line), 0);
        hex_encode(strcmp(how, "hash") == 0 ? prev : e.hash, 32, head);
        cr_assert_eq(fold_slot_append(t, &(Event){.type = "object.entry", .who = "uid:0", .payload = line.data, .n_payload = line.n,
                                                  .fields = json_pack("{s:s, s:i, s:s, s:s, s:s, s:s, s:s}", "object", id, "n", 1, "kind",
                                                                      strcmp(how, "kind") == 0 ? "mutation" : entry_kind_name(e.kind), "state",
                                                                      strcmp(how, "state") == 0 ? "dormant" : object_state_name(e.state), "head", head,
                                                                      "keyid", keyid, "trace", id)}, NULL), 0);
}

// O-7, O-8, O-18: the audit folds the lines of entries a second time: a wrong line, and a wrong row, is found
Test(object, the_audit_of_entries) {
        static const struct {
                const char *how, *what;
        } bad[] = {
                {"right", NULL},
                {"prev", "does not follow the previous entry"},
                {"n", "another number"},
                {"object", "another object"},
                {"hash", "another hash"},
                {"kind", "another kind, state or key"},
                {"state", "another kind, state or key"},
                {"moves", "forbidden move"},
                {"signature", "does not verify"},
                {"row", "table object differs"},
                {"no row", "table object"},
        };

        for (size_t i = 0; i < ARRAY_SIZE(bad); i++) {
                _cleanup_store_fixture_ StoreFixture f;
                char id[REGION_ID_MAX], key[REGION_ID_MAX + 3];
                AuditReport report;
                Bytes v;
                Txn *t;
                int r;

                store_fixture_init(&f, STORE_WRITE);
                t = store_fixture_begin(&f, true);
                created(t, id);
                memcpy(key, id, REGION_ID_MAX);
                memcpy(key + REGION_ID_MAX, "row", 3);
                if (strcmp(bad[i].how, "row") == 0) {
                        _cleanup_free_ char *text = NULL;

                        cr_assert_eq(table_get(t, TABLE_OBJECT, BYTES(key, sizeof(key)), &v), 0);
                        text = strndup(v.p, v.n);
                        memset(strstr(text, "\"head\":\"") + 8, '0', 64);
                        cr_assert_eq(table_put(t, TABLE_OBJECT, BYTES(key, sizeof(key)), BYTES(text, strlen(text))), 0);
                } else if (strcmp(bad[i].how, "no row") == 0)
                        cr_assert_eq(table_del_prefix(t, TABLE_OBJECT, BYTES(id, REGION_ID_LEN)), 0);
                else
                        record_wrong(&f, t, id, bad[i].how);
                store_fixture_commit(&f, t);
                r = audit_run(f.store, &report);
                cr_expect_eq(r, bad[i].what ? AUDIT_E_BROKEN : 0, "%s: %d %s %s", bad[i].how, r, report.what, report.found);
                cr_expect(!bad[i].what || strstr(report.what, bad[i].what), "%s: %s", bad[i].how, report.what);
        }
}

// O-54: what a dormant object costs on the disk
Test(object, growth) {
        enum { MANY = 10000 };
        _cleanup_store_fixture_ StoreFixture f;
        struct stat before, after;
        char file[PATH_MAX];
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
        store_fixture_compact(&f);
        cr_assert_eq(stat(file, &before), 0);
        for (unsigned i = 0; i < MANY / 500; i++) {
                t = store_fixture_begin(&f, true);
                for (unsigned k = 0; k < 500; k++) {
                        char id[REGION_ID_MAX];

                        created(t, id);
                        asleep(t, id, "{\"elapsed\":{\"for\":\"1s\"}}", 0);
                }
                store_fixture_commit(&f, t);
        }
        store_fixture_compact(&f);
        cr_assert_eq(stat(file, &after), 0);
        wake_say("%d dormant objects of 3 entries: %.0f bytes of data.mdb each", MANY, (double)(after.st_size - before.st_size) / MANY);
        t = store_fixture_begin(&f, false);
        {
                uint64_t alive = 0;

                cr_assert_eq(object_row_alive(t, &alive), 0);
                cr_expect_eq(alive, MANY);
        }
        store_abort(t);
}
