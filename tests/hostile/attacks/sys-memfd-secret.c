// memfd_secret: memory that the supervisor could not overwrite at the end.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_memfd_secret, 0);
        if (r < 0)
                contained("memfd_secret");
        escaped("memfd_secret gave %ld", r);
}
