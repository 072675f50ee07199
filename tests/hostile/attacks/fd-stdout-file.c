// The operator's log, when it is standard output, must be out of reach: truncated, read back, or opened again for writing.
#include "attack.h"

int main(void) {
        char b[16];
        for (int fd = 0; fd <= 2; fd++) {
                if (pread(fd, b, sizeof b, 0) >= 0 && fd > 0)
                        dprintf(fd, "ESCAPED: read back descriptor %d\n", fd), _exit(0);
                if (fd > 0 && ftruncate(fd, 0) == 0)
                        dprintf(fd, "ESCAPED: truncated descriptor %d\n", fd), _exit(0);
        }
        contained("ftruncate of standard output");
}
