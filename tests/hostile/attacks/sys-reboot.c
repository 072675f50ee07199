// reboot; the magic numbers are wrong, so that only the right to call it is tried.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_reboot, 1, 2, 3, NULL);
        if (r < 0 && errno != EINVAL)
                contained("reboot");
        escaped("reboot gave %ld", r);
}
