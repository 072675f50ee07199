// I-41: climbs out of a folder (argv[2], else the working folder) with ".." and looks for argv[1] from there.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1);
        int d = open(argc > 2 ? argv[2] : ".", O_PATH | O_DIRECTORY);
        if (d < 0)
                contained("open the folder");
        for (int i = 0; i < 64; i++) {
                int up = openat(d, "..", O_PATH | O_DIRECTORY);
                if (up < 0)
                        break;
                close(d);
                d = up;
        }
        if (file_has_canary(d, path + 1))
                escaped("read %s by way of ..", path);
        contained("openat ..%s", path);
}
