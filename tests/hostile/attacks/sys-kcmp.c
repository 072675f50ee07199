// kcmp tells about kernel addresses of two processes.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_kcmp, getpid(), getppid(), 1, 0UL, 0UL);
        if (r < 0)
                contained("kcmp");
        escaped("kcmp gave %ld", r);
}
