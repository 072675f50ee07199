// I-24: many processes, each below the budget: argv[1] children of argv[2] MiB each, all at once, for argv[3] milliseconds.
#include "attack.h"

int main(int argc, char **argv) {
        int children = atoi(arg(argc, argv, 1)), done = 0, p[2];
        size_t n = (size_t)atoi(arg(argc, argv, 2)) << 20;
        if (pipe(p) < 0)
                contained("pipe");
        for (int i = 0; i < children; i++)
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        char *m = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
                        if (m == MAP_FAILED)
                                _exit(1);
                        for (size_t j = 0; j < n; j += 4096)
                                m[j] = 1;
                        if (write(p[1], "+", 1) != 1)
                                _exit(1);
                        for (;;)
                                pause();
                }
        close(p[1]);
        for (char c; done < children && read(p[0], &c, 1) == 1;)
                done++;
        if (argc > 3)
                sleep_msec(atol(argv[3]));
        if (done < children)
                contained("%d of %d children", done, children);
        escaped("%d children hold %zu MiB", done, (size_t)done * n >> 20);
}
