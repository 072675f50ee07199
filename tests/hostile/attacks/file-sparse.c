// I-24: a sparse file claims what it does not use: argv[1] MiB in argv[2] by ftruncate and fallocate.
#include "attack.h"

int main(int argc, char **argv) {
        off_t n = (off_t)atoi(arg(argc, argv, 1)) << 20;
        signal(SIGXFSZ, SIG_IGN);
        int fd = open(arg(argc, argv, 2), O_WRONLY | O_CREAT | O_TRUNC, 0600);
        if (fd < 0)
                contained("open %s", argv[2]);
        if (ftruncate(fd, n) < 0 && fallocate(fd, 0, 0, n) < 0)
                contained("ftruncate to %s MiB", argv[1]);
        escaped("a file of %s MiB", argv[1]);
}
