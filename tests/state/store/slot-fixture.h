/* Runs: tests. What the tests of commits share: slots that take any number, and the store opened anew. */
#pragma once

#include "audit/audit.h"
#include "base/json.h"
#include "engine/engine.h"
#include "record/rows.h"
#include "tests/support/store-fixture.h"

static inline int slot_put(Txn *t, const char *slot, int number, uint64_t *ret_version, Diag *reterr) {
        _cleanup_json_ json_t *v = json_integer(number);
        uint64_t seq;

        return engine_slot_put(t, "uid:0", slot, v, -1, &seq, ret_version, reterr);
}

static inline void slot_define(StoreFixture *f, const char *slot) {
        _cleanup_json_ json_t *schema = json_object();
        Txn *t = store_fixture_begin(f, true);

        cr_assert_eq(engine_slot_define(t, "uid:0", NULL, slot, schema, NULL, &f->d), 0, "%s", f->d.text);
        store_fixture_commit(f, t);
}

static inline uint64_t slot_version(StoreFixture *f, const char *slot) {
        SlotRow row;
        Txn *t = store_fixture_begin(f, false);

        cr_assert_eq(slot_row_get(t, slot, &row), 0);
        store_abort(t);
        return row.version;
}

static inline void reopened_is_whole(StoreFixture *f) {
        AuditReport a;

        store_fixture_close(f);
        store_fixture_open(f, STORE_SUPERVISE);
        cr_assert_eq(audit_run(f->store, &a), 0, "%s; expected %s; found %s", a.what, a.expected, a.found);
}
