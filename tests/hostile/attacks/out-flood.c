// I-24: argv[1] MiB of output, to descriptor argv[2] (1 or 2).
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1));
        int fd = atoi(arg(argc, argv, 2));
        static char b[65536];
        memset(b, 'x', sizeof b);
        b[sizeof b - 1] = '\n';
        for (size_t i = 0; i < mib * 16; i++)
                if (write(fd, b, sizeof b) < 0)
                        contained("write");
        escaped("wrote %zu MiB", mib);
}
