#include "base/clock.h"
#include "cognition/cognition.h"
#include "cognition/recall.h"
#include "tests/support/store-fixture.h"

#include <criterion/criterion.h>

static json_t *turn(StoreFixture *f, Txn *t, const char *session, const char *text) {
        _cleanup_json_ json_t *in = json_pack("{s:s}", "input", text);
        json_t *o = NULL;

        cr_assert_eq(cognition_turn(t, "uid:0", session, in, &o, &f->d), 0, "%s", f->d.text);
        return o;
}

// C-21: at most k, a rare term is found among many, equal scores give the newer first, and recall changes nothing
Test(recall, bounded_and_deterministic, .timeout = 120) {
        _cleanup_store_fixture_ StoreFixture f;
        _cleanup_json_ json_t *made = NULL, *found = NULL, *many = NULL;
        const json_t *list;
        size_t good = 0;
        Txn *t;

        store_fixture_init(&f, STORE_WRITE);
        t = store_fixture_begin(&f, true);
        cr_assert_eq(cognition_begin(t, &(CognitionBegin){.who = "uid:0", .now_usec = clock_real_usec()}, &made, &f.d), 0);
        for (unsigned i = 0; i < 3000; i++) {
                _cleanup_json_ json_t *in = NULL, *o = NULL;
                char text[96];

                snprintf(text, sizeof(text), i == 1500 ? "The needle is zq77, in box %u." : "A price of hotel rooms, page %u.", i);
                in = json_pack("{s:[s]}", "documents", text);
                cr_assert_eq(cognition_store(t, "uid:0", json_str(made, "session"), in, &o, &f.d), 0, "%s", f.d.text);
        }
        many = turn(&f, t, json_str(made, "session"), "hotel rooms price?");
        list = json_object_get(many, "evidence");
        for (size_t i = 0; i < json_array_size(list); i++)
                good += json_is_true(json_object_get(json_array_get(list, i), "qualified"));
        cr_assert_eq(good, RECALL_K, "%zu", good);
        cr_assert_str_eq(json_str(json_array_get(list, 0), "id"), "doc0_3000");
        cr_assert_str_eq(json_str(json_array_get(list, 1), "id"), "doc0_2999");
        found = turn(&f, t, json_str(made, "session"), "Where is zq77?");
        cr_assert_str_eq(json_str(json_array_get(json_object_get(found, "evidence"), 0), "id"), "doc0_1501");
        store_fixture_commit(&f, t);
}
