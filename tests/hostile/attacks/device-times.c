// I-68: the times of argv[1], a device that everybody may write to: set by one region, they would be seen by all.
#include "attack.h"

int main(int argc, char **argv) {
        int fd = open(arg(argc, argv, 1), O_RDWR);

        if (fd < 0)
                contained("%s", argv[1]);
        if (futimens(fd, NULL) < 0 && utimensat(AT_FDCWD, argv[1], NULL, 0) < 0)
                contained("utimensat");
        escaped("set the times of %s", argv[1]);
}
