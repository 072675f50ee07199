/* Runs: supervisor. Shared by the parts of region-budget. */
#pragma once

#include "region/region-budget.h"

static const Breach budget_no_breach = {.outcome = OUTCOME_NONE};

static inline uint64_t budget_left_of(uint64_t max, uint64_t used) {
        return max > used ? max - used : 0;
}

/* used: measured, or BREACH_UNMEASURED. The last two add the share of regions below. */
Breach budget_breach(Outcome o, const char *resource, uint64_t limit, uint64_t used);
Breach budget_breach_of_memory(const RegionBudget *b, uint64_t used);
Breach budget_breach_of_tasks(const RegionBudget *b, uint64_t used);
#define NEVER UINT64_MAX
#define TICK_LEAST_USEC 1000

uint64_t budget_held(const RegionBudget *b);
uint64_t budget_held_surely(const RegionBudget *b);
uint64_t budget_touched(const RegionBudget *b, uint64_t charged);
Breach budget_breach_of_charge(const RegionBudget *b, uint64_t charged);
void budget_charge_above(RegionBudget *b);
void budget_look_queues(RegionBudget *b, bool slow);
void budget_look_waiting(RegionBudget *b);
Breach budget_look_sockets(RegionBudget *b, bool slow);
Breach budget_look_folders(RegionBudget *b);
bool budget_has_grown(RegionBudget *b);
/* Stops all processes until budget_hold_end(). */
void budget_hold(RegionBudget *b);
void budget_hold_end(RegionBudget *b, const Breach *r);
/* proc_tree_walk() with TASKS and `look`. May leave the region held. */
int budget_walk(RegionBudget *b, unsigned look);
uint64_t budget_processors(void); /* The online processors of the machine. */
void budget_watch(RegionBudget *b); /* Sets watch_usec. */
/* Call after tasks_bound grew: a program forks sixty children between two looks. */
void budget_forks(RegionBudget *b);
uint64_t budget_own_memory(const RegionBudget *b); /* The memory left for the program. */

/* Result of a walk over the scratch. */
typedef struct ScratchLook {
        uint64_t bytes, largest;
        unsigned files;
        bool many, deep; /* more files, or deeper folders, than a walk looks at */
} ScratchLook;

/* Walks over the scratch; a file above the size limit is a breach. */
Breach budget_look_files(RegionBudget *b, ScratchLook *ret);
typedef enum FilesLook { FILES_NO, FILES_WHEN_CHANGED, FILES_AT_THE_END } FilesLook;
/* Use of the scratch, and the largest file. The look at the end includes all files: a sparse file grown after the last
 * look changes neither blocks nor inodes. */
Breach budget_look_scratch(RegionBudget *b, FilesLook files);
/* A number that changes with every byte and every file: a sparse file takes no block, but an inode. */
uint64_t budget_scratch_mark(const RegionBudget *b);
Breach budget_look_idle(RegionBudget *b, uint64_t now); /* Compares the idle time with the budget. */
Breach budget_look_cpu(RegionBudget *b); /* Compares b->cpu_usec, with regions below, with the budget. */
