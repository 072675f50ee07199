// I-41: reads one file of the host: argv[1] (in the operator's home, of the same uid; the store; its key; the anchor; the receipt).
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        int fd = open(path, O_RDONLY);
        if (fd < 0)
                contained("open %s", path);
        char b[64];
        ssize_t n = read(fd, b, sizeof b);
        if (n <= 0)
                contained("read %s", path);
        escaped("%zd bytes of %s", n, path);
}
