// Loads another kernel; flags that do not exist show whether the call is reached.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_kexec_load, 0UL, 0UL, NULL, 0x8000UL);
        if (r < 0 && errno != EINVAL)
                contained("kexec_load");
        escaped("kexec_load gave %ld", r);
}
