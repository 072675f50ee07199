// I-68: the host's page cache, which all regions have in common: pages of the file argv[1] are thrown out of it.
#include "attack.h"

int main(int argc, char **argv) {
        int fd = open(arg(argc, argv, 1), O_RDONLY);

        if (fd < 0)
                contained("%s", argv[1]);
        errno = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
        if (errno != 0)
                contained("posix_fadvise");
        escaped("%s is no longer in the page cache", argv[1]);
}
