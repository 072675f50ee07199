#include "audit/audit.h"
#include "tests/state/engine/gather-fixture.h"
#include "tests/state/object/object-fixture.h"

#include <errno.h>
#include <sys/stat.h>

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
                list = wake_list(t, OBJECT_NONE);
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
                list = wake_list(t, OBJECT_TERMINATED);
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
        list = wake_list(t, OBJECT_NONE);
        cr_expect_str_eq(json_str(json_array_get(list, 0), "parent"), parent);
        wake_entry(t, "01000000000000000000000002", 0, "dormant", "dormant", UINT64_MAX, NULL);
        cr_assert_eq(wake_event(t, "object.armed", json_pack("{s:s, s:i, s:[[s+, n]]}", "object", "01000000000000000000000002", "n", 1, "wake", "child/", parent)), 0);
        cr_assert_eq(object_end(t, child, "uid:0", "requested", &answer, &f.d), 0, "%s", f.d.text);
        cr_expect_eq(wake_due_of(t, "01000000000000000000000002"), 0);
        wake_same(t, "after");
        store_abort(t);
}

static int told(void *n, const json_t *one) {
        cr_expect_str_eq(json_str(one, "state"), "instantiated");
        return ++*(int *)n == 1 ? 7 : 0;
}

/* Rows are told as they are read, so that a list of a million needs no memory for them: the later row is damaged, and the first was told before. */
Test(object, a_list_reads_a_row_at_a_time) {
        _cleanup_store_fixture_ StoreFixture f;
        char one[REGION_ID_MAX], two[REGION_ID_MAX];
        uint8_t key[64];
        int n = 0;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        created(t, one);
        created(t, two);
        cr_assert_eq(table_put(t, TABLE_OBJECT, object_row_key(strcmp(one, two) < 0 ? two : one, "row", key), BYTES_STR("{}")), 0);
        cr_expect_eq(object_each(t, OBJECT_NONE, told, &n), 7, "each() ends the list");
        cr_expect_eq(object_each(t, OBJECT_NONE, told, &n), -EUCLEAN);
        cr_expect_eq(n, 2, "the first row was told in both");
        store_abort(t);
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
