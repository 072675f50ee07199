/* Runs: benchmarks, as a program and in a region. What giving memory back costs: 64 KiB are mapped, touched and unmapped, 10,000 times, beside as many
 * threads that wait as argv[1] says. Prints the time of one round. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#define ROUNDS 10000
#define SIZE (64UL << 10)

static void *waits(void *arg) {
        pause();
        return arg;
}

int main(int argc, char **argv) {
        struct timespec from, to;

        for (int i = argc > 1 ? atoi(argv[1]) : 0; i > 0; i--) {
                pthread_t t;

                if (pthread_create(&t, NULL, waits, NULL) != 0)
                        return 1;
        }
        clock_gettime(CLOCK_MONOTONIC, &from);
        for (int i = 0; i < ROUNDS; i++) {
                char *p = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        return 1;
                for (size_t at = 0; at < SIZE; at += 4096)
                        p[at] = 1;
                if (munmap(p, SIZE) < 0)
                        return 1;
        }
        clock_gettime(CLOCK_MONOTONIC, &to);
        printf("{\"usec\": %.3f}\n", ((double)(to.tv_sec - from.tv_sec) * 1e6 + (double)(to.tv_nsec - from.tv_nsec) / 1e3) / ROUNDS);
        return 0;
}
