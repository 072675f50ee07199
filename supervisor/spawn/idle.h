/* Runs: supervisor that lives long. Guards between two regions: told that their last one is recorded, and taken when they have said that nothing of it is
 * left in them (schema/guard.h). */
#pragma once

#include "spawn/guard.h"

#include <pthread.h>

#define IDLE_GUARDS_MAX 32

typedef struct Idle {
        pthread_mutex_t lock;
        Guard guards[IDLE_GUARDS_MAX]; /* the last one was used last */
        uint64_t since[IDLE_GUARDS_MAX];
        size_t n;
        bool closed; /* no other one is taken in */
} Idle;

void idle_init(Idle *i);
/* One that is as new. False: there is none. */
bool idle_take(Idle *i, Guard *ret);
/* False: there are enough. */
bool idle_keep(Idle *i, const Guard *g);
/* How many are as new, and can be taken. */
size_t idle_count_ready(Idle *i);
/* Ends and reaps those that are here since before that time (CLOCK_MONOTONIC), and those that ended. */
void idle_end(Idle *i, uint64_t before);
/* All of them; none comes after this. */
void idle_close(Idle *i);
void idle_deinit(Idle *i);
