// I-24: shared memory is not data to RLIMIT_DATA: argv[1] MiB of it.
#include "attack.h"

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1)), n = mib << 20;
        char *p = mmap(NULL, n, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
        if (p == MAP_FAILED)
                contained("mmap of %zu MiB", mib);
        for (size_t i = 0; i < n; i += 4096)
                p[i] = 1;
        sleep_msec(50);
        escaped("touched %zu MiB of shared memory", mib);
}
