/* Runs: tests. */
#include "scrub/evidence.h"

#include <criterion/criterion.h>

Test(evidence, says_no_more_than_was_done) { // I-16
        FileGrant file = {"/srv", "/srv", true};
        Grant g = {.cancel_bound_usec = 250000};
        Region r = {.grant = &g, .budget = {.peak_memory_bytes = 5000000}};
        Evidence e;
        json_t *o;

        evidence_collect(&r, &e);
        o = evidence_to_json(&e);
        cr_assert_str_eq(json_string_value(json_object_get(o, "discipline")), "none");
        cr_assert_str_eq(json_string_value(json_object_get(o, "grade")), "unscrubbed");
        cr_assert_eq(json_integer_value(json_object_get(o, "bytes_held")), 5000000);
        cr_assert_eq(json_integer_value(json_object_get(o, "bytes_overwritten")), 0);
        cr_assert_eq(json_integer_value(json_object_get(o, "bytes_verified")), 0);
        cr_assert_eq(json_integer_value(json_object_get(o, "passes")), 0);
        size_t n = json_array_size(json_object_get(o, "not_covered"));
        cr_assert_eq(n, 8, "every class is named");
        json_decref(o);
        g.files = &file;
        g.n_files = 1;
        evidence_collect(&r, &e);
        o = evidence_to_json(&e);
        cr_assert_eq(json_array_size(json_object_get(o, "not_covered")), n + 1);
        json_decref(o);
        evidence_unwatched(&e);
        cr_assert_eq(e.bytes_held, 0);
}
