// I-41, I-68: the host's sockets in /proc/self/net: the one that listens on port argv[1].
#include "attack.h"

int main(int argc, char **argv) {
        char line[512], want[16];
        FILE *f = fopen("/proc/self/net/tcp", "r");

        if (!f)
                contained("/proc/self/net/tcp");
        snprintf(want, sizeof want, ":%04X ", atoi(arg(argc, argv, 1)));
        while (fgets(line, sizeof line, f))
                if (strstr(line, want) && strstr(line, " 0A "))
                        escaped("a socket of the host's listens on port %s", argv[1]);
        errno = ENOENT;
        contained("port %s", argv[1]);
}
