#include "audit/audit.h"
#include "base/clock.h"
#include "base/id.h"
#include "engine/engine.h"
#include "tests/state/store/write-log.h"
#include "tests/support/store-fixture.h"

#include <errno.h>

/* One commit of each kind; true when it was acknowledged. */
static bool one(StoreFixture *f, int i) {
        _cleanup_json_ json_t *schema = json_object(), *v = json_integer(i);
        uint64_t seq, version;
        Txn *t;
        int r;

        if (store_begin(f->store, true, &t, &f->d) != 0)
                return false;
        r = engine_slot_define(t, "uid:0", NULL, "n", schema, &seq, &f->d);
        if (r == 0)
                r = engine_slot_put(t, "uid:0", "n", v, -1, &seq, &version, &f->d);
        if (r != 0) {
                store_abort(t);
                return false;
        }
        return store_commit(t, &f->d) == 0;
}

static uint64_t versions(StoreFixture *f, unsigned point, int error) {
        AuditReport a;

        cr_assert_eq(audit_run(f->store, &a), 0, "point %u, error %d: %s; expected %s; found %s", point, error, a.what,
                     a.expected, a.found);
        return a.versions;
}

// Each system call of a commit fails in turn, with each error, whole or half done: what was acknowledged stands, what
// was not may not half stand, and after opening the store anew it takes writes again.
Test(faults, every_failure_point_of_commit) {
        static const int errors[] = {ENOSPC, EIO, EDQUOT};
        unsigned points = 0;

        for (size_t e = 0; e < ARRAY_SIZE(errors); e++)
                for (int half = 0; half < 2; half++)
                        for (unsigned point = 1;; point++) {
                                _cleanup_store_fixture_ StoreFixture f;
                                uint64_t acknowledged = 0;
                                char file[PATH_MAX];
                                bool happened;

                                store_fixture_init(&f, STORE_SUPERVISE);
                                snprintf(file, sizeof(file), "%.4000s/data.mdb", f.dir);
                                lengthen(file);
                                for (int i = 0; i < 3; i++)
                                        acknowledged += one(&f, i);
                                cr_assert_eq(acknowledged, 3);
                                fail_after(file, point, errors[e], half);
                                acknowledged += one(&f, 3);
                                happened = fail_happened();
                                fail_after(file, 0, 0, false);
                                cr_assert_eq(acknowledged, happened ? 3 : 4,
                                             "point %u: a failed commit was acknowledged", point);
                                acknowledged += one(&f, 4); /* refused, where the meta page may be half written */
                                store_fixture_close(&f);
                                store_fixture_open(&f, STORE_SUPERVISE);
                                cr_assert_geq(versions(&f, point, errors[e]), acknowledged,
                                              "point %u: an acknowledged write is lost", point);
                                cr_assert(one(&f, 5),
                                          "point %u: the store takes no writes after it was opened anew: %s", point,
                                          f.d.text);
                                versions(&f, point, errors[e]);
                                if (!happened)
                                        break;
                                points++;
                        }
        cr_assert_geq(points, 12, "only %u failure points were met", points);
}
