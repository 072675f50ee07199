// I-24: memory in the kernel's hands: pipes made 1 MiB large and filled, argv[1] MiB in all.
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        static char b[4096];
        for (size_t i = 0; i < 2000 && got < mib << 20; i++) {
                int p[2];
                if (pipe2(p, O_NONBLOCK) < 0)
                        contained("pipe after %zu KiB", got >> 10);
                fcntl(p[1], F_SETPIPE_SZ, 1 << 20);
                for (ssize_t n; (n = write(p[1], b, sizeof b)) > 0;)
                        got += (size_t)n;
        }
        while (argc > 2)
                pause();
        if (got < mib << 20)
                contained("%zu KiB in pipes", got >> 10);
        escaped("%zu MiB in pipes", got >> 20);
}
