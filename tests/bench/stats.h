/* Runs: benchmarks. Samples, their quantiles, and one JSON object for each measured thing; threads that work for a window of time. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static inline uint64_t bench_nsec(void) {
        struct timespec t;
        clock_gettime(CLOCK_MONOTONIC, &t);
        return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static inline int bench_compare(const void *a, const void *b) {
        uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
        return x < y ? -1 : x > y;
}

/* Sorts the samples (nanoseconds) and prints {"name":…,"n":…,"median_usec":…}. `per_sample`: operations in one sample; `per_second`: operations
 * a second, 0: what the samples say of one that does nothing else. */
static inline void bench_print_rate(const char *name, uint64_t *nsec, size_t n, size_t per_sample, double per_second) {
        double sum = 0;

        for (size_t i = 0; i < n; i++)
                sum += (double)nsec[i];
        qsort(nsec, n, sizeof *nsec, bench_compare);
        printf("{\"name\":\"%s\",\"n\":%zu,\"median_usec\":%.2f,\"p90_usec\":%.2f,\"p99_usec\":%.2f,\"per_second\":%.0f}\n", name, n,
               (double)nsec[n / 2] / 1e3 / (double)per_sample, (double)nsec[n * 9 / 10] / 1e3 / (double)per_sample,
               (double)nsec[n * 99 / 100] / 1e3 / (double)per_sample, per_second > 0 ? per_second : (double)(n * per_sample) / (sum / 1e9));
        fflush(stdout);
}

static inline void bench_print(const char *name, uint64_t *nsec, size_t n, size_t per_sample) {
        bench_print_rate(name, nsec, n, per_sample, 0);
}

/* A thread that works in windows of time, and the nanoseconds of each of its steps, of all windows. */
typedef struct BenchThread {
        pthread_t thread;
        void (*step)(void *arg);
        void *arg;
        uint64_t until; /* of the present window */
        uint64_t *nsec;
        size_t n, room;
} BenchThread;
#define BENCH_WINDOW_NSEC 250000000U

static inline void *bench_steps(void *arg) {
        BenchThread *b = arg;

        for (uint64_t begun; (begun = bench_nsec()) < b->until; b->nsec[b->n++] = bench_nsec() - begun) {
                if (b->n == b->room && !(b->nsec = reallocarray(b->nsec, b->room = b->room ? b->room * 2 : 1024, sizeof *b->nsec)))
                        abort();
                b->step(b->arg);
        }
        return NULL;
}

/* Returns the nanoseconds until the last thread was done. */
static inline uint64_t bench_window(BenchThread *b, size_t n) {
        uint64_t begun = bench_nsec();

        for (size_t i = 0; i < n; i++) {
                b[i].until = begun + BENCH_WINDOW_NSEC;
                if (pthread_create(&b[i].thread, NULL, bench_steps, &b[i]) != 0)
                        abort();
        }
        for (size_t i = 0; i < n; i++)
                pthread_join(b[i].thread, NULL);
        return bench_nsec() - begun;
}

/* Prints all steps of n threads, called `noun` ("client"), as one line; took: the nanoseconds of all windows. Frees the samples. */
static inline void bench_print_threads(const char *name, const char *noun, BenchThread *b, size_t n, uint64_t took) {
        char text[96];
        size_t total = 0;
        uint64_t *all;

        for (size_t i = 0; i < n; i++)
                total += b[i].n;
        all = calloc(total + 1, sizeof *all);
        if (!all)
                abort();
        total = 0;
        for (size_t i = 0; i < n; i++) {
                memcpy(all + total, b[i].nsec, b[i].n * sizeof *all);
                total += b[i].n;
                free(b[i].nsec);
        }
        snprintf(text, sizeof text, "%s, %zu %s%s", name, n, noun, n > 1 ? "s" : "");
        bench_print_rate(text, all, total, 1, (double)total / ((double)took / 1e9));
        free(all);
}
