// I-21: ptrace of the parent (the worker, PID 1), then of argv[1]. SEIZE stops nobody.
#include "attack.h"

#include <sys/ptrace.h>

int main(int argc, char **argv) {
        pid_t pids[] = {getppid(), argc > 1 ? atoi(argv[1]) : 1};
        for (int i = 0; i < 2; i++)
                if (ptrace(PTRACE_SEIZE, pids[i], 0, 0) == 0)
                        escaped("traces %d", pids[i]);
        contained("PTRACE_SEIZE");
}
