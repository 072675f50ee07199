// I-67: POSIX timers, each of which counts as a pending signal of the user: argv[1] of them.
#include "attack.h"

int main(int argc, char **argv) {
        int n = atoi(arg(argc, argv, 1));
        timer_t t;

        for (int i = 0; i < n; i++)
                if (timer_create(CLOCK_MONOTONIC, NULL, &t) < 0)
                        contained("%d timers", i);
        escaped("%d timers", n);
}
