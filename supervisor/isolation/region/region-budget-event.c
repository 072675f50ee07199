/* Runs: supervisor. Breaches reported by the kernel, with the numbers measurable then. */
#include "region/region-budget-private.h"

#define OOM_BYTES_MOST (UINT64_C(4096) << 3) /* the kernel refuses at most 8 pages at once (PAGE_ALLOC_COSTLY_ORDER) */
#define FULL_ROOM (4 << 20) /* more than the copies of pages still shared in the kernel's lists */
#define IDLE_CPU_USEC 20000 /* CPU time of an idle program's timers stays below */

/* A group never holds more than its limit: the refusal of more is the breach. */
Breach region_budget_memory_event(RegionBudget *b) {
        uint64_t n = region_cgroup_oom_count(b->cgroup), used;
        Breach r = budget_breach_of_memory(b, BREACH_UNMEASURED);

        if (n == 0)
                return budget_no_breach;
        if (region_cgroup_memory_peak(b->cgroup, &used) == 0 || region_cgroup_memory_now(b->cgroup, &used) == 0) {
                /* a limit above, with an event for this group alone */
                if (!b->cgroup->v2 && used + OOM_BYTES_MOST < budget_own_memory(b))
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
        /* waits for a region below */
        if (b->moved != b->idle_moved || cpu >= b->idle_cpu_usec + IDLE_CPU_USEC || b->lent.processes > 0) {
                b->idle_moved = b->moved;
                b->idle_cpu_usec = cpu;
                b->idle_since = now;
        }
        return now - b->idle_since > max ? budget_breach(OUTCOME_TIMED_OUT, "idle", max, now - b->idle_since)
                                         : budget_no_breach;
}

Breach region_budget_file_signal(RegionBudget *b) {
        const uint64_t max = b->grant->budget.file_bytes;
        ScratchLook l = {};

        if (b->scratch >= 0)
                budget_look_files(b, &l);
        /* The file may be on a volume or without a name; after a seek, no file has the size. */
        return budget_breach(OUTCOME_FILE_SIZE_EXCEEDED, "file_size", max,
                             l.largest > max ? l.largest : BREACH_UNMEASURED);
}

Breach region_budget_cpu_signal(RegionBudget *b, uint64_t told_usec) {
        uint64_t now;

        if (!b->cgroup->cpu || region_cgroup_cpu_usec(b->cgroup, &now) < 0)
                now = told_usec;
        b->cpu_usec = MAX(b->cpu_usec, now);
        return budget_look_cpu(b); /* no breach: the signal came from a process, not from a limit */
}

bool region_budget_is_full(const RegionBudget *b) {
        uint64_t now;

        return b->cgroup->made && region_cgroup_memory_now(b->cgroup, &now) == 0 &&
               now + FULL_ROOM > budget_own_memory(b);
}

Breach region_budget_refused(const RegionBudget *b, BudgetEnd end) {
        uint64_t peak;

        if (!b->full || end == BUDGET_END_WELL || (b->full_of_files && end != BUDGET_END_CRASHED))
                return budget_no_breach;
        return budget_breach_of_memory(b, region_cgroup_memory_peak(b->cgroup, &peak) == 0 ? peak + b->reserved
                                                                                           : BREACH_UNMEASURED);
}
