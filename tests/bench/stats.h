/* Runs: benchmarks. Samples, their quantiles, and one JSON object for each measured thing. */
#pragma once

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
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
