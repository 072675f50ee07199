// I-66: argv[1] processes, each the child of the one before, with argv[2] areas of which a page each was written: the kernel ties each area to those of all
// that came before. With argv[4] each one is handed to the first process of all, as what forked it has ended, and nobody stands above it.
#include "attack.h"

/* Until the first process ends. */
__attribute__((noreturn)) static void wait_at(int fd) {
        char b;

        if (read(fd, &b, 1) == 0)
                _exit(0);
        _exit(1);
}

/* The caller stays; its grandchild goes on. */
static void go_on(bool orphan, int until) {
        pid_t child = fork();

        if (child != 0)
                wait_at(child < 0 ? -1 : until);
        if (orphan && (child = fork()) != 0)
                _exit(child < 0);
}

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1)), said[2], until[2];
        long areas = atol(arg(argc, argv, 2));
        char b;

        if (pipe(said) < 0 || pipe(until) < 0)
                contained("pipe");
        for (long i = 0; i < areas; i++) {
                char *p = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

                if (p == MAP_FAILED)
                        contained("area %ld", i);
                *p = 1;
                mprotect(p + 4096, 4096, PROT_NONE);
        }
        if (fork() == 0) {
                close(until[1]);
                for (int i = 0; i < n; i++)
                        go_on(argc > 4, until[0]);
                if (write(said[1], "x", 1) == 1)
                        wait_at(until[0]);
                _exit(1);
        }
        close(said[1]);
        if (read(said[0], &b, 1) != 1)
                contained("no %d processes", n);
        sleep_msec(argc > 3 ? atoi(argv[3]) : 0);
        escaped("%d processes with %ld areas, one below the other", n, areas);
}
