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
#define NEVER UINT64_MAX
#define TICK_LEAST_USEC 1000

uint64_t budget_held(const RegionBudget *b);
bool budget_has_grown(RegionBudget *b);
/* All processes stand until budget_hold_end(). */
void budget_hold(RegionBudget *b);
void budget_hold_end(RegionBudget *b, const Breach *r);
/* proc_tree_walk() with TASKS and `look`. The region may be held after it. */
int budget_walk(RegionBudget *b, unsigned look);
/* The processors of this machine that are online. */
uint64_t budget_processors(void);
/* Sets watch_usec. */
void budget_watch(RegionBudget *b);
/* tasks_bound has grown by one. A program that forks sixty children does so between two looks. */
void budget_forks(RegionBudget *b);
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
typedef enum FilesLook { FILES_NO, FILES_WHEN_CHANGED, FILES_AT_THE_END } FilesLook;
/* Use of the scratch, and the largest file in it. At the end it is looked at whenever anything is there: a sparse file that grew after it
 * was seen changes neither blocks nor inodes. */
Breach budget_look_scratch(RegionBudget *b, FilesLook files);
/* Changes with every byte and every file: a sparse file takes no block but an inode. */
uint64_t budget_scratch_mark(const RegionBudget *b);
/* How long it has done nothing, against the budget. */
Breach budget_look_idle(RegionBudget *b, uint64_t now);
/* b->cpu_usec, with that of regions below, against the budget. */
Breach budget_look_cpu(RegionBudget *b);
