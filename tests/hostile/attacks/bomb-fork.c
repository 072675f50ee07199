// I-24: makes more processes than the budget has: argv[1]. They sleep, so that it is the number that counts.
#include "attack.h"

int main(int argc, char **argv) {
        int want = atoi(arg(argc, argv, 1)), n = 0, refused = 0;
        while (n < want && refused < 2000) {
                pid_t pid = fork();
                if (pid == 0) {
                        sleep_msec(2000);
                        _exit(0);
                }
                if (pid > 0)
                        n++;
                else {
                        refused++;
                        sleep_msec(1);
                }
        }
        if (n < want)
                contained("%d processes", n);
        escaped("%d processes", n);
}
