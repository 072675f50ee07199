// I-24: space on the disk that one call takes for a file, beyond its end: argv[1] MiB.
#include "attack.h"

int main(int argc, char **argv) {
        long mib = atol(arg(argc, argv, 1));
        int fd = open("reserved", O_RDWR | O_CREAT, 0600), e = 0;

        if (fd < 0 || fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, mib << 20) < 0)
                e = errno;
        unlink("reserved");
        errno = e;
        if (e != 0)
                contained("fallocate");
        escaped("%ld MiB", mib);
}
