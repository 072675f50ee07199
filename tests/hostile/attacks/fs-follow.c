// I-41: reads the canary through a link that lies in a folder which the region was given: argv[1].
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        if (file_has_canary(AT_FDCWD, path))
                escaped("read the canary through %s", path);
        contained("open %s", path);
}
