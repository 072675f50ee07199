// I-34: kill(-1, SIGKILL). Only in a PID namespace (where pids are small): elsewhere it would really end the machine. run.py sees whether
// a process that must live was hit.
#include "attack.h"

int main(void) {
        if (getpid() > 60 || getppid() > 60) {
                fprintf(stderr, "not in a PID namespace\n");
                return 2;
        }
        if (kill(-1, SIGKILL) == 0)
                escaped("killed all but init");
        contained("kill -1");
}
