/* Runs: tests. Whether a teardown fits its bound: the numbers (I-72). */
#include "policy/admit.h"

#include <criterion/criterion.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)
#define GIB (UINT64_C(1) << 30)

static const WipeRate quick = {.page = 600, .page_large = 350, .pass = 180, .pass_large = 90, .gone = 100, .process = 60000, .process_gone = 20000,
                               .processors = 2, .measured = true};

static Grant grant(uint64_t bytes, uint64_t processes, Discipline d, unsigned passes, uint64_t declared) {
        return (Grant){.budget = {.memory_bytes = bytes, .processes = processes}, .discipline = d, .passes = passes, .min_tier = TIER_NAMESPACES,
                       .cancel_declared = declared > 0, .cancel_bound_usec = declared ? declared : CANCEL_BOUND_STANDARD_USEC};
}

Test(admit, the_prediction_grows_with_all_of_it) {
        uint64_t small = admit_predict(&quick, MIB, DISCIPLINE_ZERO, 1, 1), last = 0, last_many = 0;

        cr_expect_lt(small, 10000);
        for (uint64_t b = MIB; b <= 2 * GIB; b *= 2) {
                uint64_t one = admit_predict(&quick, b, DISCIPLINE_ZERO, 1, 1), three = admit_predict(&quick, b, DISCIPLINE_MULTIPASS, 3, 1);
                uint64_t many = admit_predict(&quick, b, DISCIPLINE_ZERO, 1, 1000);

                cr_expect_geq(one, last);
                cr_expect_geq(many, last_many);
                cr_expect_gt(three, one);
                cr_expect_gt(many, one);
                cr_expect_eq(admit_predict(&quick, b, DISCIPLINE_NONE, 0, 1), admit_predict(&quick, 0, DISCIPLINE_ZERO, 1, 1), "nothing is overwritten");
                cr_expect_leq(one, admit_predict(&wipe_rate_unknown, b, DISCIPLINE_ZERO, 1, 1), "who is not measured is slow");
                last = one;
                last_many = many;
        }
}

/* A region that may divide its memory so that none of its processes is overwritten by more than one thread takes as long as one thread needs. */
Test(admit, more_threads_are_not_counted_on) {
        static const WipeRate eight = {.page = 1400, .page_large = 200, .pass = 800, .pass_large = 100, .gone = 80, .process = 100000, .process_gone = 40000,
                                       .processors = 8, .measured = true};

        for (uint64_t n = 1; n <= 64; n *= 2) {
                uint64_t apart = admit_predict(&eight, 15 * MIB * n, DISCIPLINE_ZERO, 1, n), whole = admit_predict(&eight, 64 * MIB * n, DISCIPLINE_ZERO, 1, n);

                cr_expect_geq(apart, 15 * MIB * n / 4096 * eight.page / 1000, "%lu processes", (unsigned long)n);
                cr_expect_geq(whole, apart, "%lu processes: more memory takes no less", (unsigned long)n);
                cr_expect_lt(whole, 4 * apart, "%lu processes: what is more than that is one process's", (unsigned long)n);
        }
}

/* Rates in, microseconds out: each part of the formula by itself. */
Test(admit, what_a_teardown_is_made_of) {
        static const WipeRate two = {.page = 1000, .page_large = 600, .pass = 200, .pass_large = 100, .gone = 400, .process = 100000, .process_gone = 40000,
                                     .processors = 2};
        static const struct {
                const char *what;
                uint64_t bytes;
                Discipline d;
                unsigned passes;
                uint64_t processes, usec;
        } rows[] = {
                {"a region that holds nothing: 24 ends, and one by another processor", 0, DISCIPLINE_ZERO, 1, 1, 1920 + 80},
                {"none: no page is overwritten", 100 * MIB, DISCIPLINE_NONE, 0, 10, 1920 + 10 * 80},
                {"a thousand processes", 0, DISCIPLINE_ZERO, 1, 1000, 1920 + 1000 * 80},
                {"one small process: a page by one thread, or given back behind many", 4 * MIB, DISCIPLINE_ZERO, 1, 1, 1920 + 80 + 1024 * 1200 / 1000},
                {"one large process: 16 MiB by one thread", 64 * MIB, DISCIPLINE_ZERO, 1, 1, 1920 + 80 + (4096 * 1200 + 12288 * 1000) / 1000},
                {"as many small ones", 64 * MIB, DISCIPLINE_ZERO, 1, 4, 1920 + 4 * 80 + 16384 * 1200 / 1000},
                {"two further passes, and 2,048 pages and a quarter on the other processor", 4 * MIB, DISCIPLINE_MULTIPASS, 3, 1,
                 1920 + 80 + 1024 * 1600 / 1000 + 2560 * 1400 / 1000},
        };
        static const WipeRate slow_end = {.page = 600, .page_large = 500, .gone = 800, .process = 100000, .process_gone = 40000, .processors = 4};

        WipeRate hidden = two;

        hidden.one_by_one = true;
        cr_expect_eq(admit_predict(&hidden, 0, DISCIPLINE_ZERO, 1, 1), 1920 + 80, "one process waits for no other");
        cr_expect_eq(admit_predict(&hidden, 0, DISCIPLINE_ZERO, 1, 1000), 1920 + 1000 * 150, "frames are not shown");
        for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++) {
                uint64_t usec = admit_predict(&two, rows[i].bytes, rows[i].d, rows[i].passes, rows[i].processes);

                cr_expect(usec + 1 >= rows[i].usec && usec <= rows[i].usec + 1, "%s: %lu, not %lu", rows[i].what, (unsigned long)usec, (unsigned long)rows[i].usec);
        }
        cr_expect_eq(admit_predict(&slow_end, 4 * MIB, DISCIPLINE_ZERO, 1, 1), (25 * 70000 + 1024 * 1300) / 1000,
                     "one process gives all of it back by itself, and nobody else is overwritten meanwhile");
}

/* A machine that does all of it in half the time is predicted half the time: nothing in the formula is a time. */
Test(admit, a_machine_twice_as_fast) {
        static const WipeRate slow = {.page = 1000, .page_large = 600, .pass = 200, .pass_large = 100, .gone = 400, .process = 100000,
                                      .process_gone = 40000, .processors = 2};
        static const WipeRate fast = {.page = 500, .page_large = 300, .pass = 100, .pass_large = 50, .gone = 200, .process = 50000,
                                      .process_gone = 20000, .processors = 2};

        for (uint64_t b = MIB; b <= 2 * GIB; b *= 8)
                for (uint64_t n = 1; n <= 1000; n *= 10)
                        for (int multipass = 0; multipass < 2; multipass++) {
                                const Discipline d = multipass ? DISCIPLINE_MULTIPASS : DISCIPLINE_ZERO;
                                uint64_t whole = admit_predict(&slow, b, d, multipass ? 3 : 1, n), half = admit_predict(&fast, b, d, multipass ? 3 : 1, n);

                                cr_expect(2 * half <= whole && whole <= 2 * half + 1, "%lu bytes, %lu processes: %lu and %lu", (unsigned long)b, (unsigned long)n,
                                          (unsigned long)whole, (unsigned long)half);
                        }
}

Test(admit, a_declared_bound_is_held_to) {
        const uint64_t need = 2 * admit_predict(&quick, 64 * MIB, DISCIPLINE_ZERO, 1, 64);
        Grant fits = grant(64 * MIB, 64, DISCIPLINE_ZERO, 1, need), late = grant(64 * MIB, 64, DISCIPLINE_ZERO, 1, need - 1);
        Diag d = {0};

        cr_expect_eq(admit(&fits, &quick, 0, &d), 0, "%s", d.text);
        cr_expect_eq(fits.cancel_bound_usec, need);
        cr_expect_eq(fits.teardown_usec, need / 2);
        cr_expect_eq(admit(&late, &quick, 0, &d), GRANT_E_BOUNDS);
        cr_expect(strstr(d.text, "64 MiB (zero) of up to 64 processes") && strstr(d.text, "declare a larger"), "%s", d.text);
        fits.n_releases = 1; /* a quarter is theirs */
        cr_expect_eq(admit(&fits, &quick, 0, &d), GRANT_E_BOUNDS);
        fits.cancel_bound_usec = need * 4 / 3 + 1;
        cr_expect_eq(admit(&fits, &quick, 0, &d), 0, "%s", d.text);
        cr_expect_leq(admit_callbacks_usec(&fits), fits.cancel_bound_usec - need);
}

Test(admit, what_nobody_declared_is_as_long_as_it_takes) {
        Grant late, usual = grant(128 * MIB, 64, DISCIPLINE_ZERO, 1, 0), large = grant(GIB, 64, DISCIPLINE_MULTIPASS, 16, 0);
        Diag d = {0};
        uint64_t steps = CANCEL_BOUND_STANDARD_USEC;

        cr_expect_eq(admit(&usual, &wipe_rate_unknown, 0, &d), 0, "%s", d.text);
        cr_expect_eq(usual.cancel_bound_usec, CANCEL_BOUND_STANDARD_USEC, "the default budgets, on a machine that nobody measured");
        cr_expect_eq(admit(&large, &wipe_rate_unknown, 0, &d), 0, "%s", d.text);
        while (steps < large.cancel_bound_usec)
                steps *= 2;
        cr_expect(steps == large.cancel_bound_usec && steps > CANCEL_BOUND_STANDARD_USEC && steps >= 2 * large.teardown_usec);
        large = grant(GIB, 64, DISCIPLINE_MULTIPASS, 16, 0);
        large.cancel_ceiling_usec = steps / 2;
        cr_expect_eq(admit(&large, &wipe_rate_unknown, 0, &d), GRANT_E_BOUNDS);
        cr_expect(strstr(d.text, "the policy's ceiling"), "%s", d.text);
        large = grant(GIB, 64, DISCIPLINE_MULTIPASS, 16, 0);
        cr_expect_eq(admit(&large, &wipe_rate_unknown, steps / 2, &d), GRANT_E_BOUNDS);
        cr_expect(strstr(d.text, "the region above"), "%s", d.text);
        late = grant(GIB, 64, DISCIPLINE_MULTIPASS, 16, CANCEL_BOUND_LEAST_USEC);
        cr_expect_eq(admit(&late, &wipe_rate_unknown, steps / 2, &d), GRANT_E_BOUNDS);
        cr_expect(strstr(d.text, "cancel bound 10 ms: "), "its own word, and shorter than that of the region above: %s", d.text);
        usual.n_releases = 1;
        cr_expect_eq(admit(&usual, &wipe_rate_unknown, 0, &d), 0);
        cr_expect_geq(admit_callbacks_usec(&usual) * 2, usual.cancel_bound_usec, "callbacks have half of it at least");
}

/* A region of 64 MiB, and below it regions of a part of that. */
Test(admit, what_lives_below_a_region_is_a_part_of_its_end) {
        Grant above = grant(64 * MIB, 64, DISCIPLINE_ZERO, 1, 0), same = grant(32 * MIB, 32, DISCIPLINE_ZERO, 1, 0);
        Grant often = grant(32 * MIB, 32, DISCIPLINE_MULTIPASS, 16, 0);
        uint64_t beyond;
        Diag d = {0};

        cr_assert_eq(admit(&above, &quick, 0, &d) | admit(&same, &quick, 0, &d) | admit(&often, &quick, 0, &d), 0, "%s", d.text);
        cr_expect_eq(admit_beyond(&quick, &same, &above), 0, "it is in the prediction of the one above");
        cr_expect_eq(admit_beyond(&quick, &same, &often), 0, "nor is less");
        beyond = admit_beyond(&quick, &often, &above);
        cr_expect(beyond > 0 && beyond < often.teardown_usec);
        above.cancel_bound_usec = 2 * (above.teardown_usec + 2 * beyond);
        cr_expect_eq(admit_together(&above, 0, &d), 0, "%s", d.text);
        cr_expect_eq(admit_together(&above, 2 * beyond, &d), 0, "%s", d.text);
        cr_expect_eq(admit_together(&above, 2 * beyond + 1, &d), GRANT_E_BOUNDS);
        cr_expect(strstr(d.text, "of the region above"), "%s", d.text);
}

Test(admit, callbacks_of_a_region_that_nobody_predicted) {
        Grant g = grant(MIB, 1, DISCIPLINE_ZERO, 1, 1000000);

        cr_expect_eq(admit_callbacks_usec(&g), 750000);
}

/* The budgets do not tell how often fork(2) maps a page: the mappings are counted while the region runs. */
Test(admit, mappings_fit_the_bound) {
        WipeRate rate = quick;
        Grant declared = grant(64 * MIB, 64, DISCIPLINE_ZERO, 1, 1000000), usual = grant(64 * MIB, 64, DISCIPLINE_ZERO, 1, 0);
        Grant none = grant(64 * MIB, 64, DISCIPLINE_NONE, 0, 1000000), not_predicted = declared;
        uint64_t most, bound;
        Diag d = {0};

        rate.mapped = 100;
        cr_assert_eq(admit(&declared, &rate, 0, &d) | admit(&usual, &rate, 0, &d) | admit(&none, &rate, 0, &d), 0, "%s", d.text);
        most = admit_mappings(&declared, 1000000);
        cr_expect_eq(most, 64 * MIB / 4096 + (1000000 - declared.teardown_usec) * 1000 / 300, "three times the measured time of each");
        bound = 1000000;
        cr_expect(admit_mapped(&declared, most, &bound) && bound == 1000000);
        cr_expect(!admit_mapped(&declared, most + 1, &bound) && bound == 1000000, "a declared bound is not made longer");

        bound = usual.cancel_bound_usec;
        cr_expect(admit_mapped(&usual, most, &bound));
        cr_expect_eq(bound, 4 * CANCEL_BOUND_STANDARD_USEC, "doubled until they fit");
        usual.cancel_most_usec = 400000;
        bound = usual.cancel_bound_usec;
        cr_expect(!admit_mapped(&usual, most, &bound) && bound == 400000, "up to the policy's ceiling");

        declared.n_releases = 1;
        cr_expect_lt(admit_mappings(&declared, 1000000), most, "callbacks have their part of the bound");
        cr_expect_eq(admit_mappings(&none, 1000000), UINT64_MAX, "none: no page is looked at");
        cr_expect_eq(admit_mappings(&not_predicted, 1000000), UINT64_MAX);
}
