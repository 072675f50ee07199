/* Runs: benchmarks. A tree of processes that hold memory until they are killed, each the same part of it.
 *
 *   hold PROCESSES BYTES [apart|shared]
 *
 * Each process touches every page of its part, and the first process writes a byte when all of the memory is there.
 * Pages are small ones, because that takes the longest.
 * apart: each process executes this program again, so that it has no page in common with the others.
 * shared: the first process touches all of the memory before it forks, so that every page belongs to every process. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define WAITS_SEC 600 /* no tree is left over */

static _Noreturn void wait_to_be_killed(void) {
        alarm(WAITS_SEC);
        for (;;)
                pause();
}

static void take(size_t bytes) {
        char *m = bytes == 0 ? NULL : mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

        if (m == MAP_FAILED)
                _exit(1);
        if (bytes > 0)
                madvise(m, bytes, MADV_NOHUGEPAGE);
        for (size_t i = 0; i < bytes; i += 4096)
                memset(m + i, 0x5a, bytes - i < 4096 ? bytes - i : 4096);
}

static _Noreturn void one(size_t each, int there) {
        take(each);
        if (write(there, "x", 1) != 1)
                _exit(1);
        wait_to_be_killed();
}

int main(int argc, char **argv) {
        const bool apart = argc == 4 && strcmp(argv[3], "apart") == 0;
        const bool shared = argc == 4 && strcmp(argv[3], "shared") == 0;
        const size_t n = argc == 3 || apart || shared ? strtoul(argv[1], NULL, 10) : 0;
        const size_t all = n > 0 ? strtoul(argv[2], NULL, 10) : 0, each = shared ? 0 : n > 0 ? all / n : 0;
        int there[2];
        char bytes[32], c;

        if (argc == 3 && strcmp(argv[1], "one") == 0)
                one(strtoul(argv[2], NULL, 10), 3);
        if (n == 0) {
                fprintf(stderr, "usage: hold PROCESSES BYTES [apart|shared]\n");
                return 2;
        }
        if (pipe(there) < 0)
                return 1;
        if (shared)
                take(all);
        for (size_t i = 1; i < n; i++) {
                pid_t pid = fork();

                if (pid < 0)
                        return 1;
                if (pid == 0 && apart) {
                        snprintf(bytes, sizeof(bytes), "%zu", each);
                        dup2(there[1], 3);
                        execv(argv[0], (char *[]){"hold", "one", bytes, NULL});
                        _exit(1);
                }
                if (pid == 0)
                        one(each, there[1]);
        }
        take(each);
        for (size_t i = 1; i < n; i++)
                if (read(there[0], &c, 1) != 1)
                        return 1;
        if (write(1, "x", 1) != 1)
                return 1;
        wait_to_be_killed();
}
