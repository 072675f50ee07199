// Hangs up a terminal that others use.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_vhangup);
        if (r < 0)
                contained("vhangup");
        escaped("vhangup gave %ld", r);
}
