/* Runs: supervisor that lives long. Guards between two regions: told that their last one is recorded, and taken when they have said that nothing of it is
 * left in them (schema/guard.h). */
#pragma once

#include "spawn/guard.h"

#include <pthread.h>

#define GUARD_POOL_MAX 32

typedef struct GuardPool {
        pthread_mutex_t lock;
        Guard guards[GUARD_POOL_MAX]; /* the last one was used last */
        uint64_t since[GUARD_POOL_MAX];
        size_t n;
        bool closed; /* no other one is taken in */
} GuardPool;

void guard_pool_init(GuardPool *i);
/* One that is as new. False: there is none. */
bool guard_pool_take(GuardPool *i, Guard *ret);
/* False: there are enough. */
bool guard_pool_keep(GuardPool *i, const Guard *g);
/* How many are as new, and can be taken. */
size_t guard_pool_count_ready(GuardPool *i);
/* Ends and reaps those that are here since before that time (CLOCK_MONOTONIC), and those that ended. */
void guard_pool_end(GuardPool *i, uint64_t before);
/* All of them; none comes after this. */
void guard_pool_close(GuardPool *i);
void guard_pool_deinit(GuardPool *i);
