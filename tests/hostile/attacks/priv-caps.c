// Any capability in any set, and any that can be had again; with argv[1] "bounding", the bounding set, too.
#include "attack.h"

#include <linux/capability.h>
#include <sys/prctl.h>

int main(int argc, char **argv) {
        struct __user_cap_header_struct h = {.version = _LINUX_CAPABILITY_VERSION_3};
        struct __user_cap_data_struct d[2] = {0}, all[2] = {{~0u, ~0u, ~0u}, {0x1ff, 0x1ff, 0x1ff}};
        if (syscall(SYS_capget, &h, d) == 0)
                for (int i = 0; i < 2; i++)
                        if (d[i].effective | d[i].permitted | d[i].inheritable)
                                escaped("capabilities %x %x %x", d[i].effective, d[i].permitted, d[i].inheritable);
        for (int c = 0; c <= 40; c++) {
                if (prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_IS_SET, c, 0, 0) > 0)
                        escaped("capability %d is ambient", c);
                if (argc > 1 && prctl(PR_CAPBSET_READ, c) > 0)
                        escaped("capability %d is in the bounding set", c);
        }
        if (syscall(SYS_capset, &h, all) == 0)
                escaped("took every capability");
        contained("capset");
}
