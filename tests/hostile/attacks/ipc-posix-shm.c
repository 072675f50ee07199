// I-21: a POSIX shared memory object of the host: argv[1].
#include "attack.h"

int main(int argc, char **argv) {
        int fd = shm_open(arg(argc, argv, 1), O_RDONLY, 0);
        char b[64];
        if (fd < 0 || read(fd, b, sizeof b) <= 0)
                contained("shm_open %s", argv[1]);
        escaped("read %s", argv[1]);
}
