/* Runs: supervisor. Holds a region for a look, when many processes can write more than the budget at once. */
#include "region/region-budget-private.h"

#include "base/clock.h"
#include "base/machine.h"
#include "base/slice.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>

#define TICK_TOUCHED 4096 /* bytes of new pages a processor can touch in a microsecond */
#define GROWN_LEAST 16    /* the machine's growth by less than this part of the budget needs no look */
#define WALKS_MAX 3
#define FALSE_ALARMS_MAX 4U
#define SPARE_USEC 8000 /* longest delay of a look */
#define SPARE_TASKS 2   /* for each processor: with fewer tasks the look gets its turn */

/* State T: stopped by a signal; t: by the tracer; Z and X: dead. */
static void hold_one(pid_t pid, void *arg) {
        RegionHold *h = arg;
        uint64_t letter;

        if (!proc_stat(pid, &letter, 1) || strchr("tTZX", (char)letter))
                return;
        if (GROW(h->v, h->n) && kill(pid, SIGSTOP) == 0)
                h->v[h->n++] = pid;
}

static void hold_begin(RegionHold *h, uint64_t since_usec) {
        if (!h->held)
                h->since_usec = since_usec;
        h->held = true;
        h->times++;
}

void region_hold(RegionHold *h, pid_t worker, Guard *guard) {
        hold_begin(h, clock_mono_usec());
        h->guard = guard && guard_stand(guard) == 0 ? guard : NULL;
        if (!h->guard && worker > 0)
                proc_tree_each(worker, hold_one, h);
}

void region_hold_end(RegionHold *h) {
        if (h->guard)
                guard_walk(h->guard);
        while (h->n > 0)
                kill(h->v[--h->n], SIGCONT);
        region_hold_forget(h);
}

void region_hold_forget(RegionHold *h) {
        free(h->v);
        *h = (RegionHold){.times = h->times};
}

/* Growth of the machine that needs a look: all may be the region's, and then half of the memory left is used. */
static uint64_t budget_growth(const RegionBudget *b) {
        return MAX(b->left_bytes / 2, b->grant->budget.memory_bytes / GROWN_LEAST);
}

bool budget_has_grown(RegionBudget *b) {
        const uint64_t now = machine_given();

        b->machine_bytes = MIN(b->machine_bytes, now);
        return now - b->machine_bytes >= budget_growth(b) && clock_mono_usec() >= b->calm_until;
}

static void budget_note_alarm(RegionBudget *b) {
        const uint64_t now = machine_given();

        b->alarm_bytes = now - MIN(b->machine_bytes, now);
        b->machine_bytes = b->machine_look = now;
}

void budget_hold(RegionBudget *b) {
        if (b->hold.held)
                return;
        region_hold(&b->hold, b->worker, b->guard);
        budget_note_alarm(b);
}

void region_budget_stood(RegionBudget *b, uint64_t since_usec) {
        if (b->tick_deadline == NEVER || b->cgroup->memory)
                return;
        if (!b->hold.held) {
                hold_begin(&b->hold, since_usec);
                b->hold.guard = b->guard;
        }
        budget_note_alarm(b);
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

/* True when many processes compete for the processor, and can touch more than the memory left before a late look. */
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

/* Repeats a walk that was too slow, now with the region held. Processes may stop a little later than the call. */
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

/* After growth of others, the region runs at least twice as long as it stood, and longer after successive false alarms.
 * Otherwise other busy programs on the machine cause hold after hold, and a small region never gets on. Looks without a
 * hold go on. */
static void budget_keep_calm(RegionBudget *b) {
        const uint64_t now = clock_mono_usec();

        if (!b->hold.held)
                return;
        if (2 * b->grown_bytes >= b->alarm_bytes) {
                b->false_alarms = 0;
                return;
        }
        b->false_alarms = MIN(b->false_alarms + 1, FALSE_ALARMS_MAX);
        b->calm_until = now + ((now - MIN(b->hold.since_usec, now)) << b->false_alarms);
}

/* Lets the region go on. A region about to be killed stays stopped: no more memory, and no report of the stop. */
void budget_hold_end(RegionBudget *b, const Breach *r) {
        const bool goes_on = r->outcome == OUTCOME_TIMED_OUT && b->grant->grace_usec > 0; /* up to the kill */

        if (r->outcome == OUTCOME_NONE || goes_on) {
                budget_keep_calm(b);
                region_hold_end(&b->hold);
        } else if (!b->cgroup->memory) {
                budget_hold(b); /* the guard needs a single call, the list of processes needs many */
                region_hold_forget(&b->hold);
                region_hold(&b->hold, b->worker, NULL);
                region_hold_forget(&b->hold);
        }
}

/* Memory can become held without a visible call: untouched mappings of several processes, growing stacks, files of the
 * scratch. Beyond the budget, the next tick comes before half of the memory left can be touched. */
static uint64_t budget_watch_before_full(const RegionBudget *b) {
        const uint64_t max = b->grant->budget.memory_bytes,
                       files = b->scratch_on_host ? 0 : budget_left_of(b->grant->budget.scratch_bytes, b->scratch_now);
        /* since the look; each holds at most the sum at the look */
        const uint64_t forked = budget_left_of(b->tasks_bound, b->tree.tasks);
        const uint64_t most = b->tree.all_data_bytes * (1 + forked) + files + budget_held(b) - b->tree.resident_bytes;

        if (b->cgroup->memory || b->tree.processes + forked < 2 || most + b->lent.memory_bytes <= max)
                return NEVER;
        return MAX(b->left_bytes / 2 / (budget_processors() * TICK_TOUCHED), (uint64_t)TICK_LEAST_USEC);
}

void budget_watch(RegionBudget *b) {
        const bool guard_watches = b->guard_watches, calm = clock_mono_usec() < b->calm_until;

        b->watch_usec = budget_watch_before_full(b);
        b->spares = b->watch_usec != NEVER && budget_wants_a_processor(b);
        b->guard_watches = b->watch_usec != NEVER && b->guard &&
                           guard_watch(b->guard, b->machine_bytes, calm ? UINT64_MAX / 2 : budget_growth(b),
                                       (uint32_t)MIN(b->watch_usec, (uint64_t)UINT32_MAX),
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
            (b->watch_usec == NEVER ? budget_watch_before_full(b) != NEVER : !b->spares && budget_wants_a_processor(b)))
                budget_watch(b);
}
