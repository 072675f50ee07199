// I-41: makes a device node of its own in argv[1] and opens it: /dev/mem (1,1) and the kernel's log (1,11).
#include "attack.h"

#include <sys/sysmacros.h>

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        for (int minor = 11; minor >= 1; minor -= 10) {
                if (mknod(path, S_IFCHR | 0666, makedev(1, (unsigned)minor)) < 0)
                        continue;
                int fd = open(path, O_RDONLY | O_NONBLOCK), e = errno;
                unlink(path);
                if (fd >= 0)
                        escaped("device 1,%d is open", minor);
                errno = e;
        }
        contained("mknod");
}
