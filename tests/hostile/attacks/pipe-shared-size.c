// I-68: the size of a pipe of the host's, argv[1], which has a name in a folder that can only be read here: seen by the host and by every other region.
#include "attack.h"

int main(int argc, char **argv) {
        int fd = open(arg(argc, argv, 1), O_RDONLY | O_NONBLOCK), was;

        if (fd < 0)
                contained("%s", argv[1]);
        was = fcntl(fd, F_GETPIPE_SZ);
        if (fcntl(fd, F_SETPIPE_SZ, 4096) < 0)
                contained("F_SETPIPE_SZ");
        fcntl(fd, F_SETPIPE_SZ, was);
        escaped("made %s smaller", argv[1]);
}
