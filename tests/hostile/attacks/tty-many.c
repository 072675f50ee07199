// more terminals than a region may have, up to argv[1]: each is memory of the kernel, and a place in kernel.pty.max for all.
#include "attack.h"

int main(int argc, char **argv) {
        int most = atoi(arg(argc, argv, 1)), n = 0;
        while (n < most && open("/dev/ptmx", O_RDWR | O_NOCTTY) >= 0)
                n++;
        if (n > 16)
                escaped("%d terminals", n);
        contained("%d terminals", n);
}
