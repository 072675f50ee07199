// A writable core_pattern is root on the host. The value that stands there is written back, so the control changes nothing.
#include "attack.h"

int main(void) {
        static const char *const files[] = {"/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/vm/overcommit_memory"};
        char b[512];
        for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
                int fd = open(files[i], O_RDWR);
                if (fd < 0)
                        continue;
                ssize_t n = read(fd, b, sizeof b);
                if (n > 0 && pwrite(fd, b, (size_t)n, 0) == n)
                        escaped("%s can be written", files[i]);
        }
        if (open("/proc/sysrq-trigger", O_WRONLY) >= 0)
                escaped("/proc/sysrq-trigger is open");
        contained("open /proc/sys");
}
