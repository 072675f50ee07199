#include "object/select.h"

#include <criterion/criterion.h>

static json_t *pace(uint64_t base, uint64_t min, uint64_t max, uint64_t target) {
        return json_pack("{s:o, s:o, s:o, s:o}", "base_usec", json_u64(base), "min_usec", json_u64(min), "max_usec",
                         json_u64(max), "target_usec", json_u64(target));
}

/* Delays by exact fractions, computed outside of this program, rounded down. */
static const struct {
        const char *name;
        uint64_t base, min, max, target, weight10, latency, delay;
} backoff_rows[] = {
        {"no failure", 1000000, 1000000, 3600000000ULL, 10000000, 0, 0, 1000000},
        {"one failure", 1000000, 1000000, 3600000000ULL, 10000000, 7, 0, 1624504},
        {"one timeout", 1000000, 1000000, 3600000000ULL, 10000000, 10, 0, 2000000},
        {"one partial", 1000000, 1000000, 3600000000ULL, 10000000, 3, 0, 1231144},
        {"failure, slow", 1000000, 1000000, 3600000000ULL, 10000000, 7, 10000000, 3249008},
        {"failure, very slow", 1000000, 1000000, 3600000000ULL, 10000000, 7, 25000000, 5685764},
        {"timeout, failure, partial", 1000000, 1000000, 3600000000ULL, 10000000, 20, 500000, 4200000},
        {"at most", 1000000, 1000000, 3600000000ULL, 10000000, 200, 0, 3600000000ULL},
        {"at least", 1000, 1000000, 3600000000ULL, 10000000, 13, 0, 1000000},
        {"beyond each number", 1000000, 0, UINT64_MAX, 1, 10000, UINT64_MAX, UINT64_MAX},
        {"no base", 0, 5, UINT64_MAX, 10000000, 40, 1, 5},
        {"most below least", 1000000, 5000000, 2000000, 10000000, 0, 0, 2000000},
        {"no target", 1000000, 0, 3600000000ULL, 0, 10, 99999999, 2000000},
        {"odd numbers", 1234567, 0, UINT64_MAX, 7654321, 39, 3333333, 26456345},
};

// O-51: clamp(min, base * 2^w * (1 + L/T), max), the same integer on each node
Test(backoff, rows) {
        for (size_t i = 0; i < ARRAY_SIZE(backoff_rows); i++) {
                _cleanup_json_ json_t *p = pace(backoff_rows[i].base, backoff_rows[i].min, backoff_rows[i].max,
                                                backoff_rows[i].target);

                cr_expect_eq(backoff_delay_usec(p, backoff_rows[i].weight10, backoff_rows[i].latency),
                             backoff_rows[i].delay, "%s", backoff_rows[i].name);
        }
}

// O-51: a longer run of non-successes, or a slower one, never gives a shorter delay; ten tenths double it
Test(backoff, laws) {
        _cleanup_json_ json_t *p = pace(3000001, 1000000, UINT64_MAX, 10000000);
        uint64_t before = 0;

        for (uint64_t w = 0; w < 700; w++) {
                uint64_t delay = backoff_delay_usec(p, w, 0), slow = backoff_delay_usec(p, w, 5000000);

                cr_expect(delay >= before, "weight %u", (unsigned)w);
                cr_expect(slow >= delay, "weight %u", (unsigned)w);
                if (delay < UINT64_MAX / 2) {
                        uint64_t twice = backoff_delay_usec(p, w + 10, 0);

                        cr_expect(twice >= 2 * delay && twice <= 2 * delay + 1, "weight %u", (unsigned)w);
                }
                before = delay;
        }
}

// O-51: weights; negative capability has no timed retry, so it adds nothing (O-49)
Test(backoff, weights) {
        static const unsigned weights[OUTCOME_KIND_COUNT_] = {
                [OUTCOME_KIND_SUCCESS] = 0,       [OUTCOME_KIND_FAILURE] = 7,   [OUTCOME_KIND_TIMEOUT] = 10,
                [OUTCOME_KIND_PARTIAL] = 3,       [OUTCOME_KIND_NON_RESPONSE] = 10, [OUTCOME_KIND_NEGATIVE] = 0,
                [OUTCOME_KIND_DENIED] = 10,       [OUTCOME_KIND_INTERRUPTED] = 3, [OUTCOME_KIND_FAULT] = 7,
        };

        for (OutcomeKind k = 0; k < OUTCOME_KIND_COUNT_; k++)
                cr_expect_eq(backoff_weight10(k), weights[k], "%s", outcome_kind_name(k));
}

static const char *const outcome_names[] = {"success", "failure", "timeout", "partial", "non_response",
                                            "negative", "denied",  "interrupted", "fault"};

// O-48: the kinds of outcomes
Test(backoff, kinds) {
        cr_assert_eq(ARRAY_SIZE(outcome_names), OUTCOME_KIND_COUNT_);
        for (size_t i = 0; i < ARRAY_SIZE(outcome_names); i++) {
                cr_expect_str_eq(outcome_kind_name(i), outcome_names[i]);
                cr_expect_eq(outcome_kind_of(outcome_names[i]), i, "%s", outcome_names[i]);
        }
        cr_expect_eq(outcome_kind_of("Success"), OUTCOME_KIND_COUNT_);
        cr_expect_eq(outcome_kind_of(""), OUTCOME_KIND_COUNT_);
        cr_expect_eq(outcome_kind_of(NULL), OUTCOME_KIND_COUNT_);
}
