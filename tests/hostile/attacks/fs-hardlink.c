// I-41: pulls a host file (argv[1]) into the scratch folder (argv[2]) by a hard link.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1), *to = arg(argc, argv, 2);
        if (link(path, to) < 0)
                contained("link %s", path);
        unlink(to);
        escaped("linked %s", path);
}
