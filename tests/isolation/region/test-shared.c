/* Runs: tests. How much of a shared object nobody maps any more is known from the calls that made it. */
#include "region/region-shared.h"

#include "base/util.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct Row {
        const char *name;
        SharedObject v[3];
        size_t n;
        SharedAsked asked[3];
        size_t n_asked;
        uint64_t largest;
        SharedEnded ended[3];
        size_t n_ended;
        uint64_t others, others_bytes, want;
} Row;

#define KB 1024ULL
static const Row rows[] = {
        {.name = "nothing was mapped at the end", .v = {{1, 7, 64 * KB, 0, 0}}, .n = 1, .asked = {{8 * KB, 0}}, .n_asked = 1, .largest = 64 * KB},
        {.name = "all of it was mapped", .v = {{1, 7, 64 * KB, 0, 0}}, .n = 1, .ended = {{1, 7, 64 * KB}}, .n_ended = 1, .largest = 64 * KB},
        {.name = "one page of it", .v = {{1, 7, 64 * KB, 0, 0}, {1, 8, 4 * KB, 0, 0}}, .n = 2, .ended = {{1, 7, 4 * KB}}, .n_ended = 1, .largest = 64 * KB, .want = 60 * KB},
        {.name = "one that is given back does not count", .v = {{1, 7, 64 * KB, 0, 0}, {1, 8, 4 * KB, 0, 0}}, .n = 2, .ended = {{1, 8, 4 * KB}}, .n_ended = 1, .largest = 64 * KB},
        {.name = "no look found it", .asked = {{4 * KB, 0}, {32 * KB, 0}}, .n_asked = 2, .largest = 32 * KB, .ended = {{1, 9, 4 * KB}}, .n_ended = 1, .want = 28 * KB},
        {.name = "no look found either", .asked = {{4 * KB, 0}, {32 * KB, 0}}, .n_asked = 2, .largest = 32 * KB, .ended = {{1, 9, 32 * KB}, {1, 10, 4 * KB}}, .n_ended = 2},
        {.name = "two that were taken for each other", .v = {{1, 7, 4 * KB, 0, 0}, {1, 8, 64 * KB, 0, 0}}, .n = 2, .largest = 64 * KB, .ended = {{1, 7, 64 * KB}, {1, 8, 4 * KB}},
         .n_ended = 2},
        {.name = "whose call was forgotten", .largest = 16 * KB, .ended = {{1, 9, 4 * KB}}, .n_ended = 1, .want = 12 * KB},
        {.name = "of another device", .v = {{1, 7, 4 * KB, 0, 0}}, .n = 1, .largest = 16 * KB, .ended = {{2, 7, 4 * KB}}, .n_ended = 1, .want = 12 * KB},
        {.name = "others, all mapped", .v = {{1, 7, 8 * KB, 0, 0}, {1, 8, 8 * KB, 0, 0}, {1, 9, 4 * KB, 0, 0}}, .n = 3, .largest = 8 * KB, .ended = {{1, 7, 8 * KB}}, .n_ended = 1,
         .others = 2, .others_bytes = 12 * KB},
        {.name = "others, a page missing", .v = {{1, 7, 8 * KB, 0, 0}, {1, 8, 8 * KB, 0, 0}, {1, 9, 4 * KB, 0, 0}}, .n = 3, .largest = 8 * KB, .ended = {{1, 7, 8 * KB}}, .n_ended = 1,
         .others = 2, .others_bytes = 8 * KB, .want = 4 * KB},
};

Test(shared, what_nobody_maps_any_more_is_known) { // I-69
        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                Row r = rows[i];
                const RegionShared s = {.v = r.v, .n = r.n, .asked = r.asked, .n_asked = r.n_asked, .largest = r.largest};
                uint64_t got = region_shared_beyond(&s, r.ended, r.n_ended, r.others, r.others_bytes);

                cr_expect_eq(got, r.want, "%s: %llu", r.name, (unsigned long long)got);
        }
}

static void *map(size_t bytes) {
        void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

        cr_assert(p != MAP_FAILED);
        return p;
}

static void step(int ask, int answer) {
        char c = 0;

        cr_assert(write(ask, &c, 1) == 1 && read(answer, &c, 1) == 1);
}

static void look(RegionShared *s) {
        for (unsigned i = 0; i < SHARED_LOOKS; i++)
                cr_assert_eq(region_shared_look(s, getpid(), false), 0);
}

/* The program maps a small object and a large one before the first look, and gives the small one back first. */
Test(shared, a_small_object_takes_no_large_charge_along) { // I-66
        RegionShared s = {0};
        int ask[2], answer[2];
        pid_t child;
        char c;

        cr_assert(pipe(ask) == 0 && pipe(answer) == 0);
        child = fork();
        if (child == 0) {
                void *small = map(4 * KB), *large = map(1024 * KB);

                for (int i = 0; write(answer[1], &c, 1) == 1 && read(ask[0], &c, 1) == 1; i++)
                        munmap(i == 0 ? small : large, i == 0 ? 4 * KB : 1020 * KB); /* one page of the large one stays */
                _exit(0);
        }
        cr_assert(child > 0 && read(answer[0], &c, 1) == 1);
        region_shared_ask(&s, 1, 4 * KB);
        region_shared_ask(&s, 1, 1024 * KB);
        look(&s);
        cr_expect(s.n == 2 && s.held_bytes == 1028 * KB, "%zu objects, %llu bytes", s.n, (unsigned long long)s.held_bytes);
        step(ask[1], answer[0]);
        look(&s);
        cr_expect(s.n == 1 && s.held_bytes == 1024 * KB, "%zu objects, %llu bytes", s.n, (unsigned long long)s.held_bytes);
        step(ask[1], answer[0]);
        look(&s);
        cr_expect(s.n == 1 && s.held_bytes == 1024 * KB, "%zu objects, %llu bytes", s.n, (unsigned long long)s.held_bytes);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);
        look(&s);
        cr_expect(s.n == 0 && s.held_bytes == 0);
        region_shared_deinit(&s);
}

Test(shared, the_list_of_calls_has_a_bound) { // I-66
        RegionShared s = {0};

        for (unsigned i = 0; i < SHARED_ASKED_MAX + 5; i++)
                region_shared_ask(&s, 1, 4 * KB);
        cr_expect(s.n_asked == SHARED_ASKED_MAX && s.held_bytes == (SHARED_ASKED_MAX + 5) * 4 * KB);
        look(&s);
        cr_expect(s.n_asked == 0 && s.held_bytes == 5 * 4 * KB, "what found no room stays charged: %llu", (unsigned long long)s.held_bytes);
        region_shared_deinit(&s);
}

/* A look at once after another one gives back what a task asked for that has called again since, and nothing of a call that may still go on. */
Test(shared, a_call_that_may_go_on_stays_charged) { // I-66
        RegionShared s = {0};

        region_shared_ask(&s, 1, 4 * KB);
        region_shared_ask(&s, 2, 8 * KB);
        region_shared_called(&s, 1);
        region_shared_ask(&s, 1, 16 * KB);
        for (unsigned i = 0; i < 3 * SHARED_LOOKS; i++)
                cr_assert_eq(region_shared_look(&s, getpid(), true), 0);
        cr_expect(s.n_asked == 2 && s.held_bytes == 24 * KB, "%zu calls, %llu bytes", s.n_asked, (unsigned long long)s.held_bytes);
        look(&s);
        cr_expect(s.n_asked == 0 && s.held_bytes == 0);
        region_shared_deinit(&s);
}
