// The x32 table: the number's bit 30 is set. Rulesets without it say ENOSYS; a filter that masks the bit, or knows only exact numbers by a
// deny list, lets the call through. argv[1] "raw" makes the control on such a kernel: the bit is not set.
#include "attack.h"

int main(int argc, char **argv) {
        long nr = SYS_getpid | (argc > 1 ? 0 : 0x40000000);
        printf("calls %lx\n", nr);
        fflush(stdout);
        long r = syscall(nr);
        if (r != getpid())
                contained("x32 getpid gave %ld", r);
        escaped("x32 getpid gave %ld", r);
}
