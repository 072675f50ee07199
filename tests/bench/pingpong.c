/* Runs: benchmarks. The floor under every round trip of the pipe protocol: a line of 100 bytes to another process and one back,
 * over two pipes, with nothing done in between. */
#include "stats.h"

#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define LINE 100
#define ROUNDS 20000
#define PER_SAMPLE 10

static int transfer(int in, int out, char *buf) {
        size_t have = 0;

        while (have < LINE) {
                ssize_t k = read(in, buf + have, LINE - have);
                if (k <= 0)
                        return -1;
                have += (size_t)k;
        }
        return write(out, buf, LINE) == LINE ? 0 : -1;
}

int main(void) {
        static uint64_t nsec[ROUNDS / PER_SAMPLE];
        int there[2], back[2];
        char buf[LINE];
        pid_t pid;

        if (pipe(there) < 0 || pipe(back) < 0)
                return 1;
        pid = fork();
        if (pid < 0)
                return 1;
        if (pid == 0) {
                close(there[1]);
                while (transfer(there[0], back[1], buf) == 0)
                        ;
                _exit(0);
        }
        close(there[0]);
        close(back[1]);
        memset(buf, 'x', LINE);
        if (write(there[1], buf, LINE) != LINE)
                return 1;
        for (size_t i = 0; i < ROUNDS / PER_SAMPLE; i++) {
                uint64_t begun = bench_nsec();
                for (size_t k = 0; k < PER_SAMPLE; k++)
                        if (transfer(back[0], there[1], buf) < 0)
                                return 1;
                nsec[i] = bench_nsec() - begun;
        }
        close(there[1]);
        close(back[0]);
        waitpid(pid, NULL, 0);
        bench_print("two pipes, 100 bytes there and back", nsec, ROUNDS / PER_SAMPLE, PER_SAMPLE);
        return 0;
}
