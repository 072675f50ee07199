// Takes a mount away and so sees what it covers: argv[1].
#include "attack.h"

#include <sys/mount.h>

int main(int argc, char **argv) {
        if (umount2(arg(argc, argv, 1), MNT_DETACH) < 0)
                contained("umount %s", argv[1]);
        escaped("%s is gone", argv[1]);
}
