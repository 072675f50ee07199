// Loads a module; garbage is enough to see whether the call is reached.
#include "attack.h"

int main(void) {
        long r = syscall(SYS_init_module, "garbage", 7UL, "");
        if (r < 0 && errno != ENOEXEC && errno != EINVAL && errno != EFAULT)
                contained("init_module");
        escaped("init_module gave %ld", r);
}
