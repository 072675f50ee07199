// ptrace of a child of one's own is how a filter is stepped round on old kernels and how tracers' bugs are reached: no ptrace at all.
#include "attack.h"

#include <sys/ptrace.h>

int main(void) {
        if (ptrace(PTRACE_TRACEME, 0, 0, 0) < 0)
                contained("PTRACE_TRACEME");
        escaped("ptrace can be used");
}
