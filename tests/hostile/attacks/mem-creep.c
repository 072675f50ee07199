// I-24: the same in small steps, so that no single call is large: argv[1] MiB in pieces of 64 KiB by brk.
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1));
        for (size_t i = 0; i < mib * 16; i++) {
                char *p = sbrk(65536);
                if (p == (void *)-1)
                        contained("brk after %zu MiB", i / 16);
                memset(p, 1, 65536);
        }
        escaped("grew to %zu MiB", mib);
}
