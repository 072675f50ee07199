/* Runs: supervisor. A thread with a stack of a given size. */
#pragma once

#include "base/util.h"

#include <pthread.h>

/* Returns 0 or -errno. */
static inline int thread_start(pthread_t *ret, size_t stack_bytes, void *(*fn)(void *arg), void *arg) {
        pthread_attr_t attr;
        int e = pthread_attr_init(&attr);

        if (e != 0)
                return -e;
        e = pthread_attr_setstacksize(&attr, stack_bytes) ?: pthread_create(ret, &attr, fn, arg);
        pthread_attr_destroy(&attr);
        return -e;
}
