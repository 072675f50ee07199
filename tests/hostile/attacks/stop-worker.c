// I-34: a stopped worker can report nothing; the time budget must hold all the same. Runs until it is ended.
#include "attack.h"

int main(int argc, char **argv) {
        if (strcmp(arg(argc, argv, 1), "really") != 0)
                return 2;
        kill(getppid(), SIGSTOP);
        sleep_msec(3000);
        kill(getppid(), SIGCONT);
        escaped("ran 3 s with the parent stopped");
}
