// I-24: scratch is memory: argv[1] MiB in files of 8 MiB in the folder argv[2].
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1));
        if (chdir(arg(argc, argv, 2)) < 0)
                contained("chdir");
        static char b[1 << 20];
        memset(b, 1, sizeof b);
        for (size_t i = 0; i < mib; i++) {
                char name[32];
                snprintf(name, sizeof name, "hog-%zu", i / 8);
                int fd = open(name, O_WRONLY | O_CREAT | O_APPEND, 0600);
                if (fd < 0 || write(fd, b, sizeof b) != sizeof b)
                        contained("write of MiB %zu", i);
                close(fd);
        }
        escaped("%zu MiB of files", mib);
}
