// A file that is sealed against writing keeps what is in it from being overwritten.
#include "attack.h"

int main(void) {
        int fd = memfd_create("x", MFD_CLOEXEC | MFD_ALLOW_SEALING);
        if (fcntl(fd < 0 ? 1 : fd, F_ADD_SEALS, F_SEAL_WRITE) < 0)
                contained("F_ADD_SEALS");
        escaped("sealed a file");
}
