/* Runs: supervisor. Breaches that the kernel tells of, with the numbers that can be measured then. */
#include "region/region-budget-private.h"

#define OOM_BYTES_MOST (UINT64_C(4096) << 3) /* the kernel gives up on no more than eight pages at once (PAGE_ALLOC_COSTLY_ORDER) */
#define FULL_ROOM (4 << 20) /* copies of pages that the kernel's own lists still count as shared are fewer */
#define IDLE_CPU_USEC 20000 /* less since it last did something is the processor time of a timer which finds nothing to do */

Breach budget_breach(Outcome o, const char *resource, uint64_t limit, uint64_t used) {
        return (Breach){.outcome = o, .resource = resource, .limit = limit, .used = used};
}

Breach budget_breach_of_memory(const RegionBudget *b, uint64_t used) {
        Breach r = budget_breach(OUTCOME_OUT_OF_REGION, "memory", b->grant->budget.memory_bytes, used);

        r.lent = b->lent.memory_bytes;
        return r;
}

Breach budget_breach_of_tasks(const RegionBudget *b, uint64_t used) {
        Breach r = budget_breach(OUTCOME_PIDS_EXCEEDED, "processes", b->grant->budget.processes, used);

        r.lent = b->lent.processes;
        return r;
}

uint64_t budget_own_memory(const RegionBudget *b) {
        return budget_left_of(b->grant->budget.memory_bytes, b->reserved + b->lent.memory_bytes);
}

/* A group never holds more than its limit: the breach is that more was refused. */
Breach region_budget_memory_event(RegionBudget *b) {
        uint64_t n = region_cgroup_oom_count(b->cgroup), used;
        Breach r = budget_breach_of_memory(b, BREACH_UNMEASURED);

        if (n == 0)
                return budget_no_breach;
        if (region_cgroup_memory_peak(b->cgroup, &used) == 0 || region_cgroup_memory_now(b->cgroup, &used) == 0) {
                if (!b->cgroup->v2 && used + OOM_BYTES_MOST < budget_own_memory(b)) /* one above, of which the kernel told only us */
                        return budget_no_breach;
                r.used = used + b->reserved;
        }
        r.refused = n;
        return r;
}

Breach region_budget_tasks_event(RegionBudget *b) {
        uint64_t n = region_cgroup_pids_max_count(b->cgroup), used;
        Breach r = budget_breach_of_tasks(b, BREACH_UNMEASURED);

        if (n == 0)
                return budget_no_breach;
        if (region_cgroup_pids_outside(b->cgroup, budget_left_of(b->grant->budget.processes, b->lent.processes))) {
                b->tasks_outside = n;
                return budget_no_breach;
        }
        if (region_cgroup_tasks_seen(b->cgroup, &used) == 0)
                r.used = used;
        r.refused = n;
        return r;
}

Breach budget_look_idle(RegionBudget *b, uint64_t now) {
        const uint64_t max = b->grant->budget.idle_usec, cpu = b->cpu_usec + b->below_cpu_usec;

        if (max == BUDGET_NONE)
                return budget_no_breach;
        if (b->moved != b->idle_moved || cpu >= b->idle_cpu_usec + IDLE_CPU_USEC || b->lent.processes > 0) { /* it waits for a region below */
                b->idle_moved = b->moved;
                b->idle_cpu_usec = cpu;
                b->idle_since = now;
        }
        return now - b->idle_since > max ? budget_breach(OUTCOME_TIMED_OUT, "idle", max, now - b->idle_since) : budget_no_breach;
}

Breach region_budget_file_signal(RegionBudget *b) {
        const uint64_t max = b->grant->budget.file_bytes;
        ScratchLook l = {};

        if (b->scratch >= 0)
                budget_look_files(b, &l);
        /* The file may be one of a volume, or have no name, and who seeks before it writes has none of that size. */
        return budget_breach(OUTCOME_FILE_SIZE_EXCEEDED, "file_size", max, l.largest > max ? l.largest : BREACH_UNMEASURED);
}

Breach region_budget_cpu_signal(RegionBudget *b, uint64_t told_usec) {
        uint64_t now;

        if (b->cgroup->cpu && region_cgroup_cpu_usec(b->cgroup, &now) == 0)
                b->cpu_usec = MAX(b->cpu_usec, now);
        else
                b->cpu_usec = MAX(b->cpu_usec, told_usec);
        return budget_look_cpu(b); /* none: whoever sent the signal, no limit did */
}

bool region_budget_is_full(const RegionBudget *b) {
        uint64_t now;

        return b->cgroup->made && region_cgroup_memory_now(b->cgroup, &now) == 0 && now + FULL_ROOM > budget_own_memory(b);
}

Breach region_budget_refused(const RegionBudget *b, BudgetEnd end) {
        uint64_t peak;

        if (!b->full || end == BUDGET_END_WELL || (b->full_of_files && end != BUDGET_END_CRASHED))
                return budget_no_breach;
        return budget_breach_of_memory(b, region_cgroup_memory_peak(b->cgroup, &peak) == 0 ? peak + b->reserved : BREACH_UNMEASURED);
}
