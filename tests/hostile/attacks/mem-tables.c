// I-66: page tables: one page of zeros in each 2 MiB, argv[1] MiB of tables. With argv[2] "stay" it has them until it is ended.
#include "attack.h"

#define REACH ((size_t)2 << 20)

int main(int argc, char **argv) {
        size_t n = (size_t)atoi(arg(argc, argv, 1)) * 256;
        char *p = mmap(NULL, n * REACH, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (p == MAP_FAILED)
                contained("mmap");
        for (size_t i = 0; i < n; i++)
                (void)*(volatile char *)(p + i * REACH); /* reading makes the table */
        while (argc > 2)
                pause();
        escaped("%zu MiB of page tables", n / 256);
}
