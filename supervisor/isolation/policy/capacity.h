/* Runs: CLI. The worst case of memory for a mix of skills, from policy alone: no skill is read or run (I-25). */
#pragma once

#include "policy/policy.h"

typedef struct CapacityRow {
        char name[65];
        uint64_t count;       /* how many at once; the caller sets it, 0: what the policy allows */
        uint64_t memory;      /* each at most; set by capacity_of() */
        bool memory_unbounded; /* no policy says a bound: memory is the built-in maximum */
        bool count_unbounded; /* no policy says a bound: count is max_regions */
        uint64_t total;       /* count x memory */
} CapacityRow;

typedef struct Capacity {
        uint64_t sum;         /* of all rows: budget x concurrency */
        uint64_t regions;     /* all counts */
        uint64_t max_regions;
        uint64_t worst;       /* the same when no more than max_regions live at once: the largest ones */
} Capacity;

/* Fills the rows (borrowed, changed in place) and sums up. Sums stop at UINT64_MAX. Returns 0 or -ENOMEM. */
int capacity_of(const Policy *p, CapacityRow *rows, size_t n, Capacity *ret);
