/* Runs: supervisor (daemon). Guards between two regions: a guard enters after its last region's record, and leaves
 * after the answer AS_NEW: no data of the region is left (schema/guard.h). */
#pragma once

#include "spawn/guard.h"

#include <pthread.h>

#define GUARD_POOL_MAX 32

typedef struct GuardPool {
        pthread_mutex_t lock;
        Guard guards[GUARD_POOL_MAX]; /* the last guard was used last */
        uint64_t since[GUARD_POOL_MAX];
        size_t n;
        bool closed; /* no further guard is kept */
} GuardPool;

void guard_pool_init(GuardPool *i);
/* Takes a guard as new. False: no guard is as new. */
bool guard_pool_take(GuardPool *i, Guard *ret);
/* False: the pool is full or closed. */
bool guard_pool_keep(GuardPool *i, const Guard *g);
/* How many guards are as new. */
size_t guard_pool_count_ready(GuardPool *i);
/* Ends and reaps guards kept since before that time (CLOCK_MONOTONIC), and guards that exited. */
void guard_pool_end(GuardPool *i, uint64_t before);
/* Ends all guards; later guards are not kept. */
void guard_pool_close(GuardPool *i);
void guard_pool_deinit(GuardPool *i);
