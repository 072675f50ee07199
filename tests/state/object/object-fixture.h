/* Runs: tests. Objects that are made, and fall asleep, without a cycle. */
#pragma once

#include "object/append.h"
#include "object/trigger.h"
#include "store/hooks.h"
#include "tests/state/object/wake-fixture.h"

#define SKILL "{\"do\":{\"skill\":\"x\"}}"
#define NOW UINT64_C(1700000000000000)

static inline int create(Txn *t, const char *intent, char id[static REGION_ID_MAX], Diag *d) {
        _cleanup_json_ json_t *o = json_loads(intent, 0, NULL);
        uint64_t seq;

        cr_assert(o, "%s", intent);
        return object_create(t, &(ObjectNew){.who = "uid:0", .intent = o, .policy = "p1", .now_usec = NOW}, id, &seq, d);
}

static inline void created(Txn *t, char id[static REGION_ID_MAX]) {
        Diag d = {0};

        cr_assert_eq(create(t, SKILL, id, &d), 0, "%s", d.text);
}

static inline void opened(Txn *t, const char *id, Appending *a) {
        Diag d = {0};

        *a = APPENDING_NULL;
        cr_assert_eq(append_open(t, id, a, &d), 0, "%s", d.text);
        a->who = "uid:0";
        a->trace = "01000000000000000000000000";
        a->now_usec = NOW + 1000 * a->memory.n;
}

static inline void appended(Appending *a, EntryKind kind, json_t *data) {
        Diag d = {0};
        int r = append_entry(a, kind, NULL, data, NULL, &d);

        cr_assert_eq(r, 0, "%s: %d %s", entry_kind_name(kind), r, d.text);
        json_decref(data);
}

static inline json_t *sleep_data(const char *trigger, uint64_t not_before, const char *self) {
        _cleanup_json_ json_t *o = json_loads(trigger, 0, NULL);
        json_t *complete = NULL;
        Diag d = {0};

        cr_assert_eq(trigger_complete(o, self, &complete, &d), 0, "%s: %s", trigger, d.text);
        return json_pack("{s:o, s:s, s:o}", "trigger", complete, "reason", "test", "not_before", json_u64(not_before));
}

/* The object falls asleep at NOW. */
static inline void asleep(Txn *t, const char *id, const char *trigger, uint64_t not_before) {
        _cleanup_appending_ Appending a;

        opened(t, id, &a);
        if (a.memory.state == OBJECT_INSTANTIATED)
                appended(&a, ENTRY_EVALUATION, NULL);
        a.now_usec = NOW;
        appended(&a, ENTRY_DORMANT, sleep_data(trigger, not_before, id));
}

static inline uint64_t events(Txn *t) {
        uint64_t n;

        cr_assert_eq(table_rows(t, TABLE_EVENT, &n), 0);
        return n;
}
