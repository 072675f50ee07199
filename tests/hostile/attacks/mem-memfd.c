// I-24: memory that is a file without a name: argv[1] MiB by memfd_create and write, never mapped.
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1));
        static char b[1 << 20];
        memset(b, 1, sizeof b);
        for (size_t i = 0; i < mib;) {
                int fd = memfd_create("hog", MFD_CLOEXEC);
                if (fd < 0)
                        contained("memfd_create after %zu MiB", i);
                for (int j = 0; j < 16 && i < mib; j++, i++)
                        if (write(fd, b, sizeof b) != sizeof b)
                                contained("write after %zu MiB", i);
        }
        sleep_msec(50);
        escaped("%zu MiB in memfds", mib);
}
