// CVE-2017-5226: TIOCSTI pushes a line into the operator's terminal, which the shell runs when Lethe has ended.
#include "attack.h"

#include <sys/ioctl.h>

int main(void) {
        for (int fd = 0; fd < 3; fd++)
                if (ioctl(fd, TIOCSTI, "#") == 0)
                        escaped("typed into the terminal");
        int fd = open("/dev/tty", O_RDWR);
        if (fd >= 0 && ioctl(fd, TIOCSTI, "#") == 0)
                escaped("typed into /dev/tty");
        contained("TIOCSTI");
}
