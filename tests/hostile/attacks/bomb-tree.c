// I-24: a bomb that doubles: every process makes two, argv[1] generations deep, and all stay.
#include "attack.h"

int main(int argc, char **argv) {
        int depth = atoi(arg(argc, argv, 1)), failed = 0;
        int *made = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        for (int d = 0; d < depth; d++)
                for (int i = 0; i < 2; i++) {
                        pid_t pid = fork();
                        if (pid == 0) {
                                __atomic_add_fetch(made, 1, __ATOMIC_RELAXED);
                                i = -1;
                                if (++d == depth)
                                        break;
                        } else if (pid < 0)
                                failed++;
                }
        sleep_msec(1500);
        if (failed || *made < (1 << depth))
                contained("%d processes", *made);
        escaped("%d processes", *made);
}
