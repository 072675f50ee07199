/* Runs: supervisor. Where no control group bounds memory: when many processes can write more than the budget at once, and how they are looked at then. */
#include "region/region-budget-private.h"

#include "base/machine.h"
#include "base/slice.h"

#include <errno.h>
#include <stdatomic.h>
#include <unistd.h>

#define TICK_TOUCHED 4096 /* bytes of new pages that one processor can touch in a microsecond */
#define GROWN_LEAST 16    /* growth of the machine by less than this part of the budget is no reason for a look */
#define WALKS_MAX 3
#define SPARE_USEC 8000 /* that a look may be late */
#define SPARE_TASKS 2   /* of each processor: fewer leave who looks its turn */

/* If the machine gives out so much memory, it can be the region's, which then holds half of what was left to it. */
static uint64_t budget_growth(const RegionBudget *b) {
        return MAX(b->left_bytes / 2, b->grant->budget.memory_bytes / GROWN_LEAST);
}

bool budget_has_grown(RegionBudget *b) {
        const uint64_t now = machine_given();

        b->machine_bytes = MIN(b->machine_bytes, now);
        return now - b->machine_bytes >= budget_growth(b);
}

void budget_hold(RegionBudget *b) {
        if (b->hold.held)
                return;
        region_hold(&b->hold, b->worker, b->guard);
        b->machine_bytes = b->machine_look = machine_given();
}

void region_budget_stood(RegionBudget *b) {
        if (b->tick_deadline == NEVER || b->cgroup->memory)
                return;
        region_hold_stood(&b->hold, b->guard);
        b->machine_bytes = b->machine_look = machine_given();
        b->tick_deadline = 0;
}

uint64_t budget_processors(void) {
        static atomic_long known;
        long n = atomic_load_explicit(&known, memory_order_relaxed);

        if (n <= 0) {
                n = MAX(sysconf(_SC_NPROCESSORS_ONLN), 1L);
                atomic_store_explicit(&known, n, memory_order_relaxed);
        }
        return (uint64_t)n;
}

/* Many processes that want the processor, and what they can touch until a late look is more than what is left. */
static bool budget_wants_a_processor(const RegionBudget *b) {
        const uint64_t cpus = budget_processors();

        return b->tasks_bound > SPARE_TASKS * cpus && b->left_bytes < SPARE_USEC * cpus * TICK_TOUCHED;
}

static bool budget_hold_grown(void *arg) {
        RegionBudget *b = arg;

        if (b->hold.held || !budget_has_grown(b))
                return false;
        budget_hold(b);
        return true;
}

/* A walk that takes so long that the region can grow meanwhile is made again, with the region held. Who is to stand may do so a little later. */
int budget_walk(RegionBudget *b, unsigned look) {
        int e = 0;

        b->tree.arg = b;
        for (unsigned i = 0; (e == 0 || e == -EAGAIN) && i < WALKS_MAX; i++) {
                const bool held = b->hold.held;

                b->tree.before_each = b->watch_usec != NEVER ? budget_hold_grown : NULL;
                e = proc_tree_walk(&b->tree, b->worker, PROC_LOOK_TASKS | look);
                if (b->hold.held == held && !(held && budget_has_grown(b)))
                        break;
                b->machine_bytes = b->machine_look = machine_given();
        }
        b->tree.before_each = NULL;
        return e;
}

/* It goes on. Who is about to be killed does not: it takes no more memory until then, and nobody in the region will tell that it was stopped. */
void budget_hold_end(RegionBudget *b, const Breach *r) {
        if (r->outcome == OUTCOME_NONE)
                region_hold_end(&b->hold);
        else if (!b->cgroup->memory) {
                budget_hold(b); /* the guard is asked in one call, and the list of processes takes many */
                region_hold_forget(&b->hold);
                region_hold(&b->hold, b->worker, NULL);
                region_hold_forget(&b->hold);
        }
}

/* Memory that several processes mapped and did not touch, stacks that they may have and files of the scratch can become held without a call that anybody
 * sees. Where that is more than the budget, the next tick comes before half of what is left of it can have been touched. */
static uint64_t watch_before_full(const RegionBudget *b) {
        const uint64_t max = b->grant->budget.memory_bytes, files = b->scratch_on_host ? 0 : budget_left_of(b->grant->budget.scratch_bytes, b->scratch_now);
        const uint64_t forked = budget_left_of(b->tasks_bound, b->tree.tasks); /* since the look: each has at most what all had then */

        if (b->cgroup->memory || b->tree.processes + forked < 2 ||
            b->tree.all_data_bytes * (1 + forked) + files + budget_held(b) - b->tree.resident_bytes + b->lent.memory_bytes <= max)
                return NEVER;
        return MAX(b->left_bytes / 2 / (budget_processors() * TICK_TOUCHED), (uint64_t)TICK_LEAST_USEC);
}

void budget_watch(RegionBudget *b) {
        const bool guard_watches = b->guard_watches;

        b->watch_usec = watch_before_full(b);
        b->spares = b->watch_usec != NEVER && budget_wants_a_processor(b);
        b->guard_watches = b->watch_usec != NEVER && b->guard &&
                           guard_watch(b->guard, b->machine_bytes, budget_growth(b), (uint32_t)MIN(b->watch_usec, (uint64_t)UINT32_MAX),
                                       b->spares ? GUARD_SPARE : 0) == 0;
        if (guard_watches && b->watch_usec == NEVER)
                guard_watch(b->guard, 0, 0, 0, 0);
        if (b->watch_usec == NEVER || b->slice_short)
                return;
        slice_shorten();
        b->slice_short = true;
}

void budget_forks(RegionBudget *b) {
        if (!b->cgroup->memory && b->guard && b->tree.all_data_bytes > 0 && !b->hold.held &&
            (b->watch_usec == NEVER ? watch_before_full(b) != NEVER : !b->spares && budget_wants_a_processor(b)))
                budget_watch(b);
}
