/* Runs: supervisor. Memory held by a region at the last looks, and breaches of its budget with their numbers. */
#include "region/region-budget-private.h"

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

void region_budget_charge(RegionBudget *b, uint64_t cpu_usec) {
        for (RegionBudget *a = b->above; a; a = a->above)
                a->below_cpu_usec += cpu_usec;
}

void budget_charge_above(RegionBudget *b) {
        region_budget_charge(b, b->cpu_usec - b->charged_cpu_usec);
        b->charged_cpu_usec = b->cpu_usec;
}

Breach budget_look_cpu(RegionBudget *b) {
        uint64_t max = b->grant->budget.cpu_usec;

        budget_charge_above(b);
        if (b->cpu_usec + b->below_cpu_usec > max)
                return budget_breach(OUTCOME_CPU_EXCEEDED, "cpu", max, b->cpu_usec + b->below_cpu_usec);
        return budget_no_breach;
}

/* Memory held at the last looks. Shared pages of forked processes count for each, except after a closer look. */
uint64_t budget_held(const RegionBudget *b) {
        uint64_t scratch = b->scratch_on_host ? 0 : b->scratch_now; /* tmpfs pages are memory */

        return b->tree.resident_bytes + b->tree.areas_bytes + scratch + b->scratch_names + b->shared.held_bytes +
               b->queues.bytes + b->waiting_bytes + b->connected_bytes + b->reserved;
}

/* The certain part: each shared page is in at least one process, and page tables are never shared. */
uint64_t budget_held_surely(const RegionBudget *b) {
        return budget_held(b) - b->tree.resident_bytes + b->tree.table_bytes + b->tree.most_anon_bytes;
}

/* The charge has the whole length of shared objects. The record has only the pages that were touched. */
uint64_t budget_touched(const RegionBudget *b, uint64_t charged) {
        return charged - budget_left_of(b->shared.held_bytes, b->tree.shmem_bytes);
}

Breach budget_breach_of_charge(const RegionBudget *b, uint64_t charged) {
        Breach r = budget_breach_of_memory(b, budget_touched(b, charged));

        if (r.used + r.lent <= r.limit)
                r.asked = charged;
        return r;
}
