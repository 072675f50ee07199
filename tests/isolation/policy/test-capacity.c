/* Runs: tests. I-25: the worst case of memory from policy alone. */
#include "policy/capacity.h"

#include <criterion/criterion.h>
#include <string.h>

#define MIB (UINT64_C(1) << 20)

static Policy *parse(const char *text) {
        Policy *p = NULL;
        Diag d = {0};

        cr_assert_eq(policy_parse(text, strlen(text), "p", &p, &d), 0, "%s", d.text);
        return p;
}

Test(capacity, sum_of_budget_times_concurrency) { // I-25
        _cleanup_policy_ Policy *p = parse("{\"version\":1,\"max\":{\"memory\":\"64m\"},\"max_regions\":10,\"concurrency\":{\"*\":2,\"big\":3},"
                                           "\"skills\":{\"big\":{\"digest\":\"sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef\","
                                           "\"max\":{\"memory\":\"512m\"}}}}");
        CapacityRow rows[] = {{.name = "big"}, {.name = "a"}, {.name = "b", .count = 20}};
        Capacity c;

        cr_assert_eq(capacity_of(p, rows, 3, &c), 0);
        cr_expect_eq(rows[0].total, 3 * 512 * MIB);
        cr_expect_eq(rows[1].total, 2 * 64 * MIB);
        cr_expect_eq(rows[2].total, 20 * 64 * MIB);
        cr_expect_eq(c.sum, (3 * 512 + 22 * 64) * MIB);
        cr_expect_eq(c.regions, 25);
        cr_expect_eq(c.worst, (3 * 512 + 7 * 64) * MIB, "ten regions, the largest first");
        cr_expect(!rows[0].memory_unbounded && !rows[1].count_unbounded);
}

Test(capacity, without_a_policy_the_built_in_maxima_hold) {
        _cleanup_policy_ Policy *p = parse("{\"version\":1}");
        CapacityRow rows[] = {{.name = "a"}, {.name = "b"}};
        Capacity c;

        cr_assert_eq(capacity_of(p, rows, 2, &c), 0);
        cr_expect(rows[0].memory_unbounded && rows[0].count_unbounded);
        cr_expect_eq(c.regions, 2000);
        cr_expect_eq(c.worst, 1000 * budget_most().memory_bytes);
}

Test(capacity, sums_do_not_wrap) {
        _cleanup_policy_ Policy *p = parse("{\"version\":1,\"max_regions\":100000}");
        CapacityRow rows[] = {{.name = "a", .count = UINT64_MAX}, {.name = "b", .count = UINT64_MAX}};
        Capacity c;

        cr_assert_eq(capacity_of(p, rows, 2, &c), 0);
        cr_expect_eq(c.sum, UINT64_MAX);
        cr_expect_eq(c.regions, UINT64_MAX);
        cr_expect_eq(c.worst, 100000 * budget_most().memory_bytes);
}
