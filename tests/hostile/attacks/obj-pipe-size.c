// I-67: pages of pipes are counted per user: one pipe of argv[1] KiB.
#include "attack.h"

int main(int argc, char **argv) {
        int p[2];

        if (pipe2(p, 0) < 0 || fcntl(p[1], F_SETPIPE_SZ, atoi(arg(argc, argv, 1)) << 10) < 0)
                contained("a pipe of %d KiB", fcntl(p[1], F_GETPIPE_SZ) >> 10);
        escaped("a pipe of %d KiB", fcntl(p[1], F_GETPIPE_SZ) >> 10);
}
