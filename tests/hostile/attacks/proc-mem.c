// I-21: another process's memory by /proc/PID/mem: argv[1] pid, argv[2] address of the canary.
#include "attack.h"

int main(int argc, char **argv) {
        char path[64], b[sizeof CANARY];
        snprintf(path, sizeof path, "/proc/%s/mem", arg(argc, argv, 1));
        int fd = open(path, O_RDONLY);
        if (fd < 0)
                contained("open %s", path);
        if (pread(fd, b, sizeof b, (off_t)strtoull(arg(argc, argv, 2), NULL, 16)) != sizeof b || memcmp(b, CANARY, sizeof b) != 0)
                contained("read %s", path);
        escaped("read the canary from %s", path);
}
