// I-24: one large file: argv[1] MiB in argv[2], by write, and sparse by ftruncate.
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1));
        signal(SIGXFSZ, SIG_IGN);
        int fd = open(arg(argc, argv, 2), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0)
                contained("open %s", argv[2]);
        static char b[1 << 20];
        for (size_t i = 0; i < mib; i++)
                if (write(fd, b, sizeof b) != sizeof b)
                        contained("write of MiB %zu", i);
        escaped("a file of %zu MiB", mib);
}
