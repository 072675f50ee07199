// I-66: objects of shared memory of which one page stays mapped: argv[1] MiB in pieces of argv[3] KiB (or 8 MiB), anonymous or (argv[2] "zero") of /dev/zero.
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), got = 0;
        bool zero = strcmp(arg(argc, argv, 2), "zero") == 0;
        size_t piece = argc > 3 ? (size_t)atoi(argv[3]) << 10 : (size_t)8 << 20;
        int fd = zero ? open("/dev/zero", O_RDWR) : -1;

        if (zero && fd < 0)
                contained("/dev/zero");
        while (got < mib << 20) {
                char *p = mmap(NULL, piece, PROT_READ | PROT_WRITE, MAP_SHARED | (zero ? 0 : MAP_ANONYMOUS), fd, 0);
                if (p == MAP_FAILED)
                        contained("mmap after %zu MiB", got >> 20);
                for (size_t i = 0; i < piece; i += 4096)
                        p[i] = 1;
                munmap(p + 4096, piece - 4096);
                got += piece;
        }
        escaped("%zu MiB in objects of which a page each is mapped", got >> 20);
}
