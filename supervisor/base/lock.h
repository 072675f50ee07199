/* Runs: supervisor, CLI. A lock that is given back at the end of a block:
 * `_cleanup_unlock_ pthread_mutex_t *held = lock_take(&lock);` */
#pragma once

#include "base/util.h"

#include <pthread.h>

static inline pthread_mutex_t *lock_take(pthread_mutex_t *m) {
        pthread_mutex_lock(m);
        return m;
}
static inline void unlockp(pthread_mutex_t **m) {
        pthread_mutex_unlock(*m);
}
#define _cleanup_unlock_ __attribute__((unused)) _cleanup_(unlockp)
