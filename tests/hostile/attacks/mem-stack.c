// I-24: a stack that grows: argv[1] MiB, past RLIMIT_STACK where that can be raised.
#include "attack.h"

#include <sys/resource.h>

__attribute__((noinline)) static size_t deep(size_t left) {
        volatile char b[65536];
        for (size_t i = 0; i < sizeof b; i += 4096)
                b[i] = (char)left;
        size_t r = left ? deep(left - 1) : 0;
        return r + (size_t)b[0] * 0;
}

int main(int argc, char **argv) {
        size_t mib = (size_t)atoi(arg(argc, argv, 1));
        struct rlimit r;
        getrlimit(RLIMIT_STACK, &r);
        r.rlim_cur = r.rlim_max;
        setrlimit(RLIMIT_STACK, &r);
        if (argc < 3) { /* the new limit counts from the next exec on */
                execl(argv[0], argv[0], argv[1], "again", (char *)NULL);
                contained("exec");
        }
        deep(mib * 16);
        escaped("%zu MiB of stack", mib);
}
