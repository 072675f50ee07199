/* Runs: supervisor. For the parts of region-budget. */
#pragma once

#include "region/region-budget.h"

static const Breach budget_no_breach = {.outcome = OUTCOME_NONE};

static inline uint64_t budget_left_of(uint64_t max, uint64_t used) {
        return max > used ? max - used : 0;
}

/* used: measured, or BREACH_UNMEASURED. The other two say what regions below hold as well. */
Breach budget_breach(Outcome o, const char *resource, uint64_t limit, uint64_t used);
Breach budget_breach_of_memory(const RegionBudget *b, uint64_t used);
Breach budget_breach_of_tasks(const RegionBudget *b, uint64_t used);
/* The memory that is left to the program. */
uint64_t budget_own_memory(const RegionBudget *b);

/* Walks over the scratch once: bytes in use and the largest file. */
typedef struct ScratchLook {
        uint64_t bytes, largest;
        unsigned files;
        bool many, deep; /* there is more than one walk looks at */
} ScratchLook;

/* Walks over the scratch; a file that is too large is a breach. */
Breach budget_look_files(RegionBudget *b, ScratchLook *ret);
/* b->cpu_usec, with that of regions below, against the budget. */
Breach budget_look_cpu(RegionBudget *b);
