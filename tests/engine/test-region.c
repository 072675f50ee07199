#include "engine/engine.h"

#include "base/clock.h"
#include "base/id.h"
#include "ledger/ledger.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#include "tests/support/store-fixture.h"

// A region's life: what it proposes is held, and holds only after its end.
Test(region, proposals_are_projected_at_the_end) {
        _cleanup_store_fixture_ StoreFixture f;
        uint64_t allocated, seq, version, released, ended;
        char id[REGION_ID_MAX];
        Txn *t;

        store_fixture_init(&f, STORE_SUPERVISE);
        region_id_new(clock_real_usec(), id);
        t = store_fixture_begin(&f, true);
        _cleanup_json_ json_t *slots = json_pack("{s:{s:s}}", "notes/a", "type", "integer"), *copies = NULL,
                              *none = json_object(), *out = json_pack("{s:s}", "outcome", "exited"), *v = json_integer(7);
        RegionStart s = {.region = id, .skill_name = "s", .skill_digest = "sha256:0", .tier = "namespaces", .slots = slots,
                         .reads = (const char *[]){"notes/a", NULL}, .writes = (const char *[]){"notes/a", NULL}};
        cr_assert_eq(engine_region_start(t, &s, &allocated, &copies, &f.d), 0, "%s", f.d.text);
        cr_assert(json_is_null(json_object_get(copies, "notes/a")));
        store_fixture_commit(&f, t);

        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_propose(t, id, "notes/a", v, 0, &seq, &version, &f.d), 0, "%s", f.d.text);
        cr_assert_eq(version, 1);
        store_fixture_commit(&f, t);

        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_slot_put(t, "uid:0", "notes/a", v, -1, &seq, &version, &f.d), ENGINE_E_CONFLICT);
        store_fixture_commit(&f, t);

        t = store_fixture_begin(&f, true);
        cr_assert_eq(engine_region_end(t, &(RegionEnd){id, true, none, out}, &released, &ended, &f.d), 0);
        cr_assert_lt(released, ended); // I-15
        store_fixture_commit(&f, t);
}
