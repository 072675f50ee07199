// I-66: argv[1] processes with argv[2] areas of address space each, none of which has a page.
#include "attack.h"

#include <sys/prctl.h>

static bool make(long n) {
        for (long i = 0; i < n; i++)
                if (mmap(NULL, 4096, i % 2 ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0) == MAP_FAILED)
                        return false;
        return true;
}

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), held = 0, said[2];
        long areas = atol(arg(argc, argv, 2));
        char b;

        if (pipe(said) < 0)
                contained("pipe");
        for (int i = 0; i < n; i++)
                if (fork() == 0) {
                        prctl(PR_SET_PDEATHSIG, SIGKILL);
                        if (make(areas) && write(said[1], "x", 1) == 1)
                                for (;;)
                                        pause();
                        _exit(1);
                }
        close(said[1]);
        while (held < n && read(said[0], &b, 1) == 1)
                held++;
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        if (held < n)
                contained("%d of %d processes", held, n);
        escaped("%d processes with %ld areas", n, areas);
}
