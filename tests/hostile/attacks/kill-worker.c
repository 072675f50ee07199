// The parent is the worker, PID 1 of the region: a skill that ends it must not outlive it. argv[1] is "really", since without a region the
// parent is whoever started this.
#include "attack.h"

int main(int argc, char **argv) {
        if (strcmp(arg(argc, argv, 1), "really") != 0)
                return 2;
        static const int signals[] = {SIGTERM, SIGSEGV, SIGABRT, SIGSYS, SIGBUS, SIGXCPU, SIGKILL};
        pid_t parent = getppid();
        for (size_t i = 0; i < sizeof signals / sizeof *signals; i++)
                kill(parent, signals[i]);
        sleep_msec(400);
        if (getppid() != parent)
                escaped("the parent %d is dead and this program lives", parent);
        contained("kill the parent");
}
