// I-41: makes a file in a system folder: argv[1].
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
        if (fd < 0)
                contained("create %s", path);
        unlink(path);
        escaped("created %s", path);
}
