// I-66: argv[1] processes with argv[2] full pipes each. The pipes have names in the scratch, or had: no link of /proc says "pipe" of them.
#include "attack.h"

static bool make(long n) {
        static char bytes[65536];
        char name[64];

        for (long i = 0; i < n; i++) {
                int fd;

                snprintf(name, sizeof(name), "fifo-%d-%ld", getpid(), i);
                if (mkfifo(name, 0600) < 0 || (fd = open(name, O_RDWR | O_NONBLOCK | O_CLOEXEC)) < 0)
                        return false;
                if (i % 2 == 0)
                        unlink(name);
                if (write(fd, bytes, sizeof(bytes)) < 0)
                        return false;
        }
        return true;
}

int main(int argc, char **argv) {
        held_by_children(argc, argv, make, "full pipes with names");
}
