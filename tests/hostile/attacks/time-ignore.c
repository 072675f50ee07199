// I-34: sleeps past the wall budget, every signal ignored or blocked: argv[1] seconds.
#include "attack.h"

int main(int argc, char **argv) {
        sigset_t all;
        sigfillset(&all);
        sigprocmask(SIG_BLOCK, &all, NULL);
        for (int s = 1; s < 64; s++)
                signal(s, SIG_IGN);
        sleep_msec(1000L * atoi(arg(argc, argv, 1)));
        escaped("slept %s s", argv[1]);
}
