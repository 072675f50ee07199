// I-68: a watch on a folder that others use, too.
#include "attack.h"

#include <sys/inotify.h>

int main(int argc, char **argv) {
        int fd = inotify_init1(0);

        if (fd < 0)
                contained("inotify_init1");
        if (inotify_add_watch(fd, arg(argc, argv, 1), IN_OPEN | IN_ACCESS) < 0)
                contained("a watch on %s", argv[1]);
        escaped("a watch on %s", argv[1]);
}
