// I-68: a hint for writes, which is the inode's: set through a descriptor for reading on argv[1], seen by everybody who has it open.
#include "attack.h"

int main(int argc, char **argv) {
        int fd = open(arg(argc, argv, 1), O_RDONLY);
        uint64_t hint = RWH_WRITE_LIFE_LONG, seen = 0;

        if (fd < 0)
                contained("%s", argv[1]);
        if (fcntl(fd, F_SET_RW_HINT, &hint) < 0)
                contained("F_SET_RW_HINT");
        fcntl(fd, F_GET_RW_HINT, &seen);
        hint = RWH_WRITE_LIFE_NOT_SET;
        fcntl(fd, F_SET_RW_HINT, &hint);
        escaped("the hint of %s was %d", argv[1], (int)seen);
}
