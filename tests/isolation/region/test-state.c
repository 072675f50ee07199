/* Runs: tests. The life table: every state can end, and nothing is released before it was torn down. */
#include "region/region-state.h"

#include <criterion/criterion.h>
#include <string.h>

/* A small generator, so that a failing walk can be walked again. */
static uint32_t next(uint32_t *seed) {
        *seed = *seed * 1664525u + 1013904223u;
        return *seed >> 8;
}

Test(region_state, every_state_can_end) {
        for (RegionState from = 0; from < REGION_STATES; from++) {
                bool seen[REGION_STATES] = {};
                bool grown = true, end = region_state_is_end(from);

                seen[from] = true;

                while (grown) {
                        grown = false;
                        for (RegionState a = 0; a < REGION_STATES; a++)
                                for (RegionState b = 0; b < REGION_STATES; b++)
                                        if (seen[a] && !seen[b] && region_state_can_move(a, b)) {
                                                seen[b] = grown = true;
                                                end = end || region_state_is_end(b);
                                        }
                }
                cr_assert(end, "%s leads to no end", region_state_name(from));
        }
}

Test(region_state, ends_are_the_three_that_the_diagram_has) {
        for (RegionState s = 0; s < REGION_STATES; s++) {
                bool want = s == REGION_REFUSED || s == REGION_RECORDED || s == REGION_UNRECORDED;

                cr_assert_eq(region_state_is_end(s), want, "%s", region_state_name(s));
        }
}

/* No path goes back, so that a walk is at most as long as the table. */
Test(region_state, no_state_comes_twice) {
        for (RegionState a = 0; a < REGION_STATES; a++)
                for (RegionState b = 0; b < REGION_STATES; b++)
                        if (region_state_can_move(a, b) && b != REGION_REFUSED)
                                cr_assert_lt(a, b, "%s -> %s", region_state_name(a), region_state_name(b));
}

Test(region_state, random_walks_release_only_after_teardown) { // I-12 I-13 I-15
        uint32_t seed = 20261121;

        for (unsigned walk = 0; walk < 20000; walk++) {
                bool been[REGION_STATES] = {[REGION_DECLARED] = true};
                RegionState s = REGION_DECLARED;

                for (unsigned tries = 0; tries < 400 && !region_state_is_end(s); tries++) {
                        RegionState to = next(&seed) % REGION_STATES;

                        if (!region_state_can_move(s, to))
                                continue;
                        if (to == REGION_RECORDED || to == REGION_RELEASED)
                                cr_assert(been[REGION_ALLOCATED] && been[REGION_ENDED] && been[REGION_STOPPED] && been[REGION_CLEARED],
                                          "walk %u: %s before teardown", walk, region_state_name(to));
                        if (to == REGION_RECORDED)
                                cr_assert(been[REGION_RELEASED], "walk %u", walk);
                        if (to == REGION_REFUSED)
                                cr_assert(!been[REGION_ALLOCATED], "walk %u", walk);
                        been[to] = true;
                        s = to;
                }
                cr_assert(region_state_is_end(s), "walk %u stands at %s", walk, region_state_name(s));
        }
}

Test(region_state, names_differ) {
        for (RegionState a = 0; a < REGION_STATES; a++)
                for (RegionState b = 0; b < a; b++)
                        cr_assert_str_neq(region_state_name(a), region_state_name(b));
}

Test(outcome, the_closed_set_its_breaches_and_exit_codes) { // I-24
        static const struct {
                Outcome o;
                const char *name;
                bool breach;
                int status, code;
        } rows[] = {
                {OUTCOME_EXITED, "exited", false, 0, 0},
                {OUTCOME_EXITED, "exited", false, 7, 7},
                {OUTCOME_SIGNALED, "signaled", false, 11, 139},
                {OUTCOME_TIMED_OUT, "timed_out", true, 0, 124},
                {OUTCOME_OUT_OF_REGION, "out_of_region", true, 0, 137},
                {OUTCOME_CPU_EXCEEDED, "cpu_exceeded", true, 0, 137},
                {OUTCOME_PIDS_EXCEEDED, "pids_exceeded", true, 0, 137},
                {OUTCOME_OUTPUT_EXCEEDED, "output_exceeded", true, 0, 137},
                {OUTCOME_SCRATCH_EXCEEDED, "scratch_exceeded", true, 0, 137},
                {OUTCOME_FILE_SIZE_EXCEEDED, "file_size_exceeded", true, 0, 137},
                {OUTCOME_DENIED, "denied", true, 0, 137},
                {OUTCOME_CANCELLED, "cancelled", false, 15, 143},
                {OUTCOME_CANCELLED, "cancelled", false, 0, 125},
                {OUTCOME_GUARD_LOST, "guard_lost", false, 0, 137},
                {OUTCOME_SETUP_FAILED, "setup_failed", false, 127, 127},
        };

        for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
                cr_assert_str_eq(outcome_name(rows[i].o), rows[i].name);
                cr_assert_eq(outcome_is_breach(rows[i].o), rows[i].breach, "%s", rows[i].name);
                cr_assert_eq(outcome_exit_code(rows[i].o, rows[i].status), rows[i].code, "%s %d", rows[i].name, rows[i].status);
        }
}
