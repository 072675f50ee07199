/* Runs: CLI. The worst case of memory for a mix of skills, from policy alone: no skill is read or run (I-25). */
#pragma once

#include "policy/policy.h"

typedef struct CapacityRow {
        char name[65];
        uint64_t count;       /* regions at once; set by the caller, 0: the policy's number */
        uint64_t memory;      /* most of each region; set by capacity_of() */
        bool memory_unbounded; /* without a bound in the policy: memory is the built-in maximum */
        bool count_unbounded; /* without a bound in the policy: count is max_regions */
        uint64_t total;       /* count x memory */
} CapacityRow;

typedef struct Capacity {
        uint64_t sum;         /* of all rows: budget x concurrency */
        uint64_t regions;     /* all counts */
        uint64_t max_regions;
        uint64_t worst;       /* the largest sum when at most max_regions live at once */
} Capacity;

/* Fills the rows (borrowed, changed in place) and sums up. Sums stop at UINT64_MAX. Returns 0 or -ENOMEM. */
int capacity_of(const Policy *p, CapacityRow *rows, size_t n, Capacity *ret);
